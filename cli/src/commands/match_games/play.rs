//! Plays a schedule on several threads.
//!
//! Each thread keeps a batch of games from one shared list in progress. A game depends only on its
//! seed and players. Results therefore do not depend on the thread or on the other games of a
//! batch.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ouro_game::{Game, GameRecord};
use ouro_players::{Clock, FinishedGame, GameBatch, Player, fingerprint};
use serde::{Deserialize, Serialize};

use super::http_snake;
use super::schedule::Planned;
use super::timed::{MoveClock, Timed, Times, times};
use crate::failure::Failure;

/// Concurrent games per thread if some player gains from batches.
const WIDE: usize = 64;
/// Concurrent games per thread otherwise. One at a time, so that an interruption loses at most one game
/// per thread.
const NARROW: usize = 1;

/// The result of one game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::commands) struct PlayedGame {
    pub(in crate::commands) outcomes: Vec<f32>,
    pub(in crate::commands) scores: Vec<f32>,
    pub(in crate::commands) plies: usize,
    pub(in crate::commands) truncated: bool,
    pub(in crate::commands) fingerprint: u64,
}

/// The results of a whole match.
pub(in crate::commands) struct Match<C> {
    /// One result per game, in the order of the schedule.
    pub(in crate::commands) played: Vec<PlayedGame>,
    /// Time per move of each entrant.
    pub(in crate::commands) times: Vec<Times>,
    /// The longest game; the first in the schedule of equally long ones.
    pub(in crate::commands) longest: Option<GameRecord<C>>,
}

/// What a match does with a game that has ended, on the thread that played it. After an error the match
/// ends.
pub(in crate::commands) type OnEnd<'a> =
    &'a (dyn Fn(&Planned, &PlayedGame) -> Result<(), Failure> + Sync);

/// Builds the players of one thread, whose moves this clock times.
pub(in crate::commands) type Players<'a, G> =
    &'a (dyn Fn(&Arc<MoveClock>) -> Result<Vec<Box<dyn Player<G>>>, Failure> + Sync);

/// Plays every game of `schedule`, up to `max_plies` each, on `threads` threads, by default one per core.
pub(in crate::commands) fn play<G: Game>(
    game: &G,
    schedule: &[Planned],
    (threads, max_plies): (Option<usize>, usize),
    players: Players<'_, G>,
    on_end: OnEnd<'_>,
) -> Result<Match<G::Config>, Failure> {
    let next = AtomicUsize::new(0);
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or_else(cores);
    let share = || {
        let clock = Arc::new(MoveClock::default());
        let share = Share::play(game, schedule, max_plies, players(&clock)?, clock, &next, on_end);
        if share.is_err() {
            // After an error no thread starts another game.
            next.store(schedule.len(), Ordering::Relaxed);
        }
        share
    };
    let shares = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..threads.min(schedule.len())).map(|_| scope.spawn(share)).collect();
        threads.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    let mut whole = Share::default();
    for share in shares {
        whole.merge(share.map_err(|_| Failure::bug("a playing thread panicked"))??);
    }
    whole.played.sort_by_key(|&(index, _)| index);
    Ok(Match {
        played: whole.played.into_iter().map(|(_, played)| played).collect(),
        times: whole.times,
        longest: whole.longest.map(|(_, record)| record),
    })
}

/// The results of one thread.
struct Share<C> {
    played: Vec<(usize, PlayedGame)>,
    times: Vec<Times>,
    longest: Option<(usize, GameRecord<C>)>,
}

impl<C> Default for Share<C> {
    fn default() -> Self {
        Self { played: Vec::new(), times: Vec::new(), longest: None }
    }
}

impl<C> Share<C> {
    /// Plays games until none of the schedule is left. `clock` times the moves.
    fn play<G: Game<Config = C>>(
        game: &G,
        schedule: &[Planned],
        max_plies: usize,
        players: Vec<Box<dyn Player<G>>>,
        clock: Arc<MoveClock>,
        next: &AtomicUsize,
        on_end: OnEnd<'_>,
    ) -> Result<Self, Failure> {
        let mut share = Self::default();
        let batches = players.iter().any(|player| player.batches());
        // A snake elsewhere may keep something for each of its games.
        let is_elsewhere = players.iter().any(|player| http_snake::is_http(player.name()));
        let width = if batches && !is_elsewhere { WIDE } else { NARROW };
        let clock: Arc<dyn Clock> = clock;
        let kept: Vec<_> = players.iter().map(|_| Arc::new(Mutex::new(times()))).collect();
        let timed = |(player, times)| Timed::new(player, Arc::clone(&clock), Arc::clone(times));
        let mut players: Vec<Box<dyn Player<G>>> =
            players.into_iter().zip(&kept).map(|pair| Box::new(timed(pair)) as _).collect();
        let mut batch = GameBatch::new(game.clone(), max_plies);
        let mut running = BTreeMap::new();
        loop {
            while batch.len() < width {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(planned) = schedule.get(index) else { break };
                batch.start_game(planned.seed, &planned.seats).map_err(Failure::bug)?;
                running.insert((planned.seed, planned.seats.clone()), index);
            }
            if batch.is_empty() {
                break;
            }
            for finished in batch.advance(&mut players).map_err(Failure::bug)? {
                let key = (finished.record.seed, finished.players.clone());
                let unknown = || Failure::bug("a game ended that was not started");
                let index = running.remove(&key).ok_or_else(unknown)?;
                on_end(&schedule[index], share.add(index, finished))?;
            }
        }
        let lock = |times: &Arc<Mutex<Times>>| {
            times.lock().unwrap_or_else(PoisonError::into_inner).clone()
        };
        share.times = kept.iter().map(lock).collect();
        Ok(share)
    }

    fn add(&mut self, index: usize, finished: FinishedGame<C>) -> &PlayedGame {
        let fingerprint = fingerprint(&finished.record, &finished.players);
        let FinishedGame { record, outcomes, scores, truncated, .. } = finished;
        let plies = record.plies.len();
        self.keep_longest(index, record);
        self.played.push((index, PlayedGame { outcomes, scores, plies, truncated, fingerprint }));
        &self.played[self.played.len() - 1].1
    }

    /// Keeps the longer game; of equally long games, the first in the schedule. The result is thus
    /// independent of the order in which threads finish.
    fn keep_longest(&mut self, index: usize, record: GameRecord<C>) {
        let rank = |index: usize, record: &GameRecord<C>| (record.plies.len(), Reverse(index));
        if self.longest.as_ref().is_none_or(|(i, r)| rank(index, &record) > rank(*i, r)) {
            self.longest = Some((index, record));
        }
    }

    fn merge(&mut self, other: Self) {
        self.played.extend(other.played);
        if self.times.is_empty() {
            self.times = other.times;
        } else {
            for (mine, theirs) in self.times.iter_mut().zip(&other.times) {
                // Adding cannot fail, since all histograms have the same bounds.
                let _ = mine.add(theirs);
            }
        }
        if let Some((index, record)) = other.longest {
            self.keep_longest(index, record);
        }
    }
}
