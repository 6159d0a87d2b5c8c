//! The counters of an actor.
//!
//! Threads and tasks add to one [`ActorCounters`]. Readers take an [`ActorSnapshot`]; two snapshots
//! and the time between them give rates. Counts start at 0 with the process.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use ouro_net::Generation;

use ouro_replay::Trajectory;

use crate::worker::WorkerStats;

/// Counters that the threads of an actor share.
#[derive(Debug, Default)]
pub struct ActorCounters {
    games: AtomicU64,
    moves: AtomicU64,
    simulations: AtomicU64,
    evaluations: AtomicU64,
    batches: AtomicU64,
    room: AtomicU64,
    learning: AtomicU64,
    staleness: AtomicU64,
    newest: AtomicU64,
    accepted: AtomicU64,
    refused: AtomicU64,
    unanswered: AtomicU64,
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
            newest_generation: Generation(get(&self.newest) as u32),
            accepted: get(&self.accepted),
            refused: get(&self.refused),
            unanswered: get(&self.unanswered),
        }
    }

    /// Adds the difference of two statistics of a worker.
    pub(crate) fn add(&self, before: &WorkerStats, now: &WorkerStats) {
        let add = |count: &AtomicU64, before: u64, now: u64| {
            count.fetch_add(now.saturating_sub(before), Ordering::Relaxed);
        };
        add(&self.games, before.games, now.games);
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
        self.newest.store(generation.0.into(), Ordering::Relaxed);
    }

    /// Adds decided games and sets the number of unanswered games, after an answer of the learner.
    pub(crate) fn answered(&self, accepted: u64, refused: u64, unanswered: usize) {
        self.accepted.fetch_add(accepted, Ordering::Relaxed);
        self.refused.fetch_add(refused, Ordering::Relaxed);
        self.unanswered.store(unanswered as u64, Ordering::Relaxed);
        self.answers.notify_waiters();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::played;

    #[test]
    fn what_workers_do_adds_up_and_averages_are_over_all_of_it() {
        let counters = ActorCounters::default();
        let first = WorkerStats {
            games: 1,
            moves: 9,
            simulations: 90,
            evaluations: 60,
            batches: 10,
            room: 120,
        };
        counters.add(&WorkerStats::default(), &first);
        let second = WorkerStats { games: 3, evaluations: 90, room: 240, ..first };
        counters.add(&first, &second);
        counters.finished(&played(4), Generation(4));
        counters.finished(&played(4), Generation(7));
        counters.set_newest(Generation(7));
        counters.answered(2, 1, 5);
        counters.answered(1, 0, 4);
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
    }
}
