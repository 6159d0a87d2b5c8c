//! Plays many games at once and returns the finished ones.
//!
//! A [`Worker`] is pure. Each [`tick`](Worker::tick) fills the free slots with new games between
//! networks of a roster, evaluates one batch for each network, and plays a ply of every game whose
//! moves are decided. With a search, every set of weights has one tree per game for all its seats.
//! The tree is kept from move to move. All trees of the same weights share batches. Without a
//! search, moves are drawn from the policies, and each tick plays one ply of every game. Scripted
//! players, such as `minimax`, may have seats that do not learn.
//!
//! Contract: a game depends bit for bit on its seed, the weights in its seats and the settings
//! alone, not on the other games. The weights in its seats depend on the roster and the number of
//! the game. Games with neighbouring numbers have the same opponents, which then share batches.
//! Every game replays with [`Trajectory::replay`](ouro_replay::Trajectory::replay), no action is
//! illegal, and every policy target is a distribution over legal actions. Memory is bounded: at
//! most [`WorkerSettings::trees`] trees, which together fit into [`WorkerSettings::tree_bytes`] and
//! are reused from game to game.

mod active_game;
mod error;
mod finished;
mod index;
mod scripted;
mod seat_policies;
mod settings;
mod shared;

use std::ops::Range;
use std::sync::Arc;

use ouro_game::{Game, GameConfig};

use self::active_game::ActiveGame;
pub use self::error::WorkerError;
pub(crate) use self::finished::PlayTime;
pub use self::finished::{FinishedGame, WorkerStats};
use self::index::GameSlot;
pub use self::settings::{TreeLimits, WorkerSettings};
use self::shared::Shared;
use crate::roster::Roster;

/// Plays games between networks. See the [module](self).
pub struct Worker<G: Game> {
    shared: Shared<G>,
    /// The running games, by [`GameSlot`].
    games: Vec<Option<ActiveGame<G>>>,
    /// Number of the next game.
    next: u64,
    /// End of the range of numbers to start; exclusive.
    until: u64,
    /// How often the numbers were played before.
    attempt: u32,
}

impl<G: Game> Worker<G> {
    /// An idle worker. `config` is the configuration of `game`, which the records of games contain.
    ///
    /// # Errors
    ///
    /// The search does not fit the game or the memory.
    pub fn new(
        game: G,
        config: Arc<GameConfig>,
        settings: WorkerSettings,
    ) -> Result<Self, WorkerError> {
        let games = (0..settings.games).map(|_| None).collect();
        let shared = Shared::new(game, config, settings)?;
        Ok(Self { shared, games, next: 0, until: u64::MAX, attempt: 0 })
    }

    /// Counts so far.
    pub fn stats(&self) -> WorkerStats {
        self.shared.stats
    }

    /// Memory limits of the trees; `None` without a search.
    pub fn limits(&self) -> Option<TreeLimits> {
        self.shared.limits()
    }

    /// Number of running games.
    pub fn running(&self) -> usize {
        self.games.iter().flatten().count()
    }

    /// Starts no further game. Running games continue.
    pub fn close(&mut self) {
        self.until = self.next;
    }

    /// Starts the games with these numbers next, and no others. Number and attempt seed a game, so the
    /// same number, attempt and roster give the same game.
    pub fn play_only(&mut self, numbers: Range<u64>, attempt: u32) {
        (self.next, self.until, self.attempt) = (numbers.start, numbers.end, attempt);
    }

    /// Whether every game that may be started has ended.
    pub fn is_done(&self) -> bool {
        self.next >= self.until && self.running() == 0
    }

    /// Starts games in free slots, evaluates a batch for each network, and plays a ply of the games
    /// whose moves are decided. Returns the finished games.
    pub fn tick(&mut self, roster: &Roster) -> Result<Vec<FinishedGame>, WorkerError> {
        let finished = self.tick_unless(roster, &|| false)?;
        Ok(finished.unwrap_or_default())
    }

    /// Like [`tick`](Self::tick), but calls `is_over` before every game. Once it returns true, the tick
    /// ends, all games are dropped and the result is `None`. Scripted players may need seconds for a
    /// move, so a whole tick may take minutes.
    pub fn tick_unless(
        &mut self,
        roster: &Roster,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<FinishedGame>>, WorkerError> {
        let mut finished = Vec::new();
        for slot in (0..self.games.len()).map(GameSlot) {
            if is_over() {
                return Ok(self.end());
            }
            if self.games[slot.0].is_none() {
                self.advance(slot, roster, &mut finished)?;
            }
        }
        self.shared.evaluate(&mut self.games);
        for slot in (0..self.games.len()).map(GameSlot) {
            if is_over() {
                return Ok(self.end());
            }
            let played = match &mut self.games[slot.0] {
                Some(active) => self.shared.play(slot, active)?,
                None => false,
            };
            if played {
                self.advance(slot, roster, &mut finished)?;
            }
        }
        Ok(Some(finished))
    }

    /// Drops all games and starts no other. A tick that ended early has drawn random numbers for moves
    /// that were not played, so its games would no longer depend on their seeds alone.
    fn end<T>(&mut self) -> Option<T> {
        self.close();
        self.games.iter_mut().for_each(|game| *game = None);
        None
    }

    /// Removes a finished game from its slot, starts a new game in a free slot, and starts the
    /// search for the next move.
    fn advance(
        &mut self,
        slot: GameSlot,
        roster: &Roster,
        finished: &mut Vec<FinishedGame>,
    ) -> Result<(), WorkerError> {
        let Self { shared, games, next, until, attempt } = self;
        let entry = &mut games[slot.0];
        if let Some(active) = entry
            && !shared.has_ended(active)
        {
            return shared.start_search(slot, active, roster);
        }
        finished.extend(entry.take().and_then(|active| shared.finish(slot, active)));
        if *next >= *until {
            return Ok(());
        }
        let active = entry.insert(shared.start(*next, *attempt, roster)?);
        *next += 1;
        // A game that is over before its first move ends in the next tick. One call starts at most
        // one game per slot.
        if shared.has_ended(active) {
            return Ok(());
        }
        shared.start_search(slot, active, roster)
    }
}

#[cfg(test)]
mod tests;
