//! The counters of an actor.
//!
//! Threads and tasks add to one [`ActorCounters`]. Readers take an [`ActorSnapshot`]; two snapshots
//! and the time between them give rates. Counts start at 0 with the process.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

use ouro_net::Generation;

use ouro_replay::{RefusalReason, Trajectory};
use tracing::warn;

use crate::worker::WorkerStats;

/// The reasons of a learner of any version.
const REASONS: [RefusalReason; RefusalReason::ALL.len() + 1] = {
    let mut reasons = [RefusalReason::Unknown; RefusalReason::ALL.len() + 1];
    let mut index = 0;
    while index < RefusalReason::ALL.len() {
        reasons[index] = RefusalReason::ALL[index];
        index += 1;
    }
    reasons
};

/// Counters that the threads of an actor share.
#[derive(Debug, Default)]
pub struct ActorCounters {
    games: AtomicU64,
    dropped: AtomicU64,
    moves: AtomicU64,
    simulations: AtomicU64,
    evaluations: AtomicU64,
    batches: AtomicU64,
    room: AtomicU64,
    learning: AtomicU64,
    staleness: AtomicU64,
    /// The newest generation plus 1; 0 before the first roster.
    newest: AtomicU64,
    accepted: AtomicU64,
    refused: AtomicU64,
    /// The refused games by reason, in the order of [`REASONS`].
    refused_by: [AtomicU64; REASONS.len()],
    unanswered: AtomicU64,
    has_arena: AtomicBool,
    has_learner: AtomicBool,
    /// Notified of every answer of the learner.
    answers: Notify,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ActorSnapshot {
    /// Games finished.
    pub games: u64,
    /// Moves decided, one for each mover of a ply; includes unfinished games.
    pub moves: u64,
    /// Simulations of all searches.
    pub simulations: u64,
    /// Positions evaluated by networks; includes hits of the evaluation cache.
    pub evaluations: u64,
    /// Batches of evaluations.
    pub batches: u64,
    /// Mean share of a batch that was filled, 0 to 1.
    pub batch_fill: f64,
    /// Mean number of generations by which finished games lag behind the newest weights. Each game
    /// is compared with the newest weights at its end.
    pub staleness: f64,
    /// Newest generation in the roster.
    pub newest_generation: Generation,
    /// Games that the learner has accepted.
    pub accepted: u64,
    /// Games that the learner has refused.
    pub refused: u64,
    /// Finished games that the learner has not answered yet.
    pub unanswered: u64,
}

impl ActorCounters {
    /// Games finished by this process.
    pub fn games(&self) -> u64 {
        self.games.load(Ordering::Relaxed)
    }

    /// Player moves decided by this process.
    pub fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }

    /// Reads every counter. The reads are not atomic together: a snapshot can include a game in
    /// some counts only.
    pub fn snapshot(&self) -> ActorSnapshot {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let evaluations = get(&self.evaluations);
        ActorSnapshot {
            games: get(&self.games),
            moves: get(&self.moves),
            simulations: get(&self.simulations),
            evaluations,
            batches: get(&self.batches),
            batch_fill: share(evaluations, get(&self.room)),
            staleness: share(get(&self.staleness), get(&self.learning)),
            newest_generation: self.newest().unwrap_or_default(),
            accepted: get(&self.accepted),
            refused: get(&self.refused),
            unanswered: get(&self.unanswered),
        }
    }

    /// Adds the difference of two statistics of a worker. Warns of dropped games.
    pub(crate) fn add(&self, before: &WorkerStats, now: &WorkerStats) {
        let add = |count: &AtomicU64, before: u64, now: u64| {
            count.fetch_add(now.saturating_sub(before), Ordering::Relaxed);
        };
        add(&self.games, before.games, now.games);
        let dropped = now.dropped.saturating_sub(before.dropped);
        let earlier = self.dropped.fetch_add(dropped, Ordering::Relaxed);
        let dropped = earlier + dropped;
        let games = self.games();
        if warns_of_dropped(earlier, dropped, games) {
            warn!(
                dropped,
                games,
                "nothing can be learned from some games: no full search, no estimate at the limit of \
                 plies, or over at the start; raise actor.search.fast.full_share or actor.max_plies"
            );
        }
        add(&self.moves, before.moves, now.moves);
        add(&self.simulations, before.simulations, now.simulations);
        add(&self.evaluations, before.evaluations, now.evaluations);
        add(&self.batches, before.batches, now.batches);
        add(&self.room, before.room, now.room);
    }

    /// Adds a game that ended while `newest` was the newest generation.
    pub(crate) fn finished(&self, game: &Trajectory, newest: Generation) {
        let learning = game.seats.iter().filter(|seat| seat.learns);
        if let Some(oldest) = learning.filter_map(|seat| seat.generation).min() {
            self.learning.fetch_add(1, Ordering::Relaxed);
            self.staleness.fetch_add(oldest.lag(newest).into(), Ordering::Relaxed);
        }
    }

    pub(crate) fn set_newest(&self, generation: Generation) {
        self.newest.store(u64::from(generation.0) + 1, Ordering::Relaxed);
    }

    /// Newest generation in the roster; `None` before the first roster.
    pub(crate) fn newest(&self) -> Option<Generation> {
        let next = self.newest.load(Ordering::Relaxed);
        next.checked_sub(1).map(|newest| Generation(newest as u32))
    }

    /// Adds decided games and sets the number of unanswered games, after an answer of the learner.
    pub(crate) fn answered(&self, accepted: u64, refused: &[RefusalReason], unanswered: usize) {
        self.accepted.fetch_add(accepted, Ordering::Relaxed);
        self.refused.fetch_add(refused.len() as u64, Ordering::Relaxed);
        for reason in refused {
            if let Some(index) = REASONS.iter().position(|one| one == reason) {
                self.refused_by[index].fetch_add(1, Ordering::Relaxed);
            }
        }
        self.set_unanswered(unanswered);
        self.answers.notify_waiters();
    }

    /// Sets the number of unanswered games.
    pub(crate) fn set_unanswered(&self, games: usize) {
        self.unanswered.store(games as u64, Ordering::Relaxed);
    }

    /// Whether the arena's stream of the pool is open.
    pub(crate) fn set_arena(&self, is_connected: bool) {
        self.has_arena.store(is_connected, Ordering::Relaxed);
    }

    /// Whether the push to the learner is open.
    pub(crate) fn set_learner(&self, is_connected: bool) {
        self.has_learner.store(is_connected, Ordering::Relaxed);
    }

    /// The peers with their names in metrics, and whether each is connected.
    pub(crate) fn connected(&self) -> [(&'static str, bool); 2] {
        [("arena", &self.has_arena), ("learner", &self.has_learner)]
            .map(|(name, is_connected)| (name, is_connected.load(Ordering::Relaxed)))
    }

    /// Games refused, by reason.
    pub(crate) fn refused_by_reason(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.refused_by.iter().map(|count| count.load(Ordering::Relaxed));
        REASONS.iter().map(|reason| reason.as_str()).zip(counts)
    }

    /// Positions for which the batches had room.
    pub(crate) fn slots(&self) -> u64 {
        self.room.load(Ordering::Relaxed)
    }

    /// Waits until the learner has accepted or refused `games` games of this process.
    pub(crate) async fn until_answered(&self, games: u64) {
        loop {
            let answer = self.answers.notified();
            tokio::pin!(answer);
            // Registered before the counters are read, so an answer in between is not missed.
            answer.as_mut().enable();
            let answered =
                [&self.accepted, &self.refused].map(|count| count.load(Ordering::Relaxed));
            if answered.iter().sum::<u64>() >= games {
                return;
            }
            answer.await;
        }
    }
}

/// Whether the number of dropped games has doubled and is at least a tenth of all games. A smaller share
/// is normal: with fast searches, a few games have no target.
fn warns_of_dropped(earlier: u64, now: u64, games: u64) -> bool {
    earlier.checked_ilog2() < now.checked_ilog2() && now.saturating_mul(10) >= games
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::played;

    #[test]
    fn a_tenth_of_dropped_games_is_warned_of_each_time_their_number_doubles() {
        let cases =
            [(0, 0, 9), (0, 1, 10), (0, 1, 11), (1, 1, 1), (2, 3, 3), (2, 5, 50), (2, 5, 51)];
        let warns = cases.map(|(earlier, now, games)| warns_of_dropped(earlier, now, games));
        assert_eq!(warns, [false, true, false, false, false, true, false]);
    }

    #[test]
    fn what_workers_do_adds_up_and_averages_are_over_all_of_it() {
        let counters = ActorCounters::default();
        let first = WorkerStats {
            games: 1,
            dropped: 1,
            moves: 9,
            simulations: 90,
            evaluations: 60,
            batches: 10,
            room: 120,
        };
        counters.add(&WorkerStats::default(), &first);
        let second = WorkerStats { games: 3, dropped: 2, evaluations: 90, room: 240, ..first };
        counters.add(&first, &second);
        counters.finished(&played(4), Generation(4));
        counters.finished(&played(4), Generation(7));
        counters.set_newest(Generation(7));
        counters.answered(2, &[RefusalReason::Stale], 5);
        counters.answered(1, &[], 4);
        let expected = ActorSnapshot {
            games: 3,
            moves: 9,
            simulations: 90,
            evaluations: 90,
            batches: 10,
            batch_fill: 90.0 / 240.0,
            staleness: 1.5,
            newest_generation: Generation(7),
            accepted: 3,
            refused: 1,
            unanswered: 4,
        };
        assert_eq!(counters.snapshot(), expected);
        assert_eq!((counters.games(), counters.moves()), (3, 9));
        assert_eq!(counters.dropped.load(Ordering::Relaxed), 2);
        let refused: Vec<_> =
            counters.refused_by_reason().filter(|(_, count)| *count > 0).collect();
        assert_eq!(refused, [("stale", 1)]);
        assert_eq!(counters.refused_by_reason().count(), RefusalReason::ALL.len() + 1);
    }
}
