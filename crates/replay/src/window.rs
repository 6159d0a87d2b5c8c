//! The newest positions, to be sampled again and again.
//!
//! A [`Window`] holds whole games, oldest first, and is measured in positions. It
//! [grows](Growth) more slowly than the run, so that it forgets weak play early and yet never
//! learns from a handful of games; beyond its size, or beyond a number of bytes, the oldest
//! games go. Sampling is uniform over positions, or over *copies*: a position of weight 2.3 is
//! there twice, or three times with chance 0.3 (KataGo's policy surprise weighting).
//!
//! Games are numbered as the journal numbers its records. All randomness is keyed by these
//! numbers and by a count of batches, so a [`Cursor`] is all that a checkpoint keeps: filled
//! again from the journal, a window has the same content and draws the same batches.

use std::collections::VecDeque;
use std::sync::Arc;

use ouro_game::Rng;
use ouro_net::Generation;

pub use cursor::Cursor;
pub use deal::{Deal, Dealt};
pub use fifo::{Fifo, FifoSettings};
pub use growth::{Growth, GrowthError};
pub use weights::surprise_weights;

mod cursor;
mod deal;
mod fifo;
mod growth;
mod weights;

/// A game that a window can hold.
pub trait Item {
    /// Positions that may be drawn.
    fn positions(&self) -> u32;

    /// Memory it takes, bytes.
    fn bytes(&self) -> usize;

    /// Generation of the weights that played it.
    fn generation(&self) -> Generation;

    /// How often a position is there on average; finite, not negative.
    fn weight(&self, _position: u32) -> f32 {
        1.0
    }
}

/// One sampled position.
#[derive(Debug)]
pub struct Draw<T> {
    /// The game.
    pub item: Arc<T>,
    /// The game's number in the journal.
    pub number: u64,
    /// Which of the game's positions.
    pub position: u32,
}

/// What was sampled together.
#[derive(Debug)]
pub struct Batch<T> {
    /// The positions.
    pub draws: Vec<Draw<T>>,
    /// How old they are.
    pub staleness: Staleness,
}

/// How old a batch is, on average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Staleness {
    /// Generations between the weights that played and the newest.
    pub lag: f64,
    /// Positions inserted after the game, until the batch was drawn.
    pub age: f64,
}

/// Why nothing can be sampled or inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// There is too little to sample from.
    #[error("{held} positions are in, {needed} are needed before sampling")]
    TooFew {
        /// Positions held.
        held: u64,
        /// Positions needed.
        needed: u64,
    },
    /// Sampling is ahead of inserting as far as it may be.
    #[error("{count} more samples would be too many for what was inserted")]
    Ahead {
        /// Samples asked for.
        count: usize,
    },
    /// Games up to this number must come back from the journal first.
    #[error("the window is being filled again: game {next} of those before {until} is due")]
    Refilling {
        /// The game that is due.
        next: u64,
        /// One past the last game of the checkpoint.
        until: u64,
    },
    /// A game is not the next one.
    #[error("game {got} was inserted where game {expected} was due")]
    Order {
        /// The game that was due.
        expected: u64,
        /// The game that came.
        got: u64,
    },
}

/// What a window is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSettings {
    /// Its size in positions.
    pub growth: Growth,
    /// Its size in bytes.
    pub max_bytes: usize,
    /// Positions needed before anything is sampled, unless so few fit that games go already.
    pub min_positions: u64,
    /// Seed of all draws.
    pub seed: u64,
}

#[derive(Debug)]
struct Held<T> {
    item: Arc<T>,
    /// Copies of all games before it.
    start: u64,
    /// Positions inserted before it since the start of the run.
    before: u64,
    /// Copies of its positions up to each, that one included; `None` if each is there once.
    copies: Option<Box<[u32]>>,
}

/// The window. See the [module](self).
#[derive(Debug)]
pub struct Window<T> {
    settings: WindowSettings,
    games: VecDeque<Held<T>>,
    /// Number of the oldest game held, or of the next one.
    first: u64,
    /// Until this game is in, nothing is sampled.
    refill_until: u64,
    positions: u64,
    bytes: usize,
    /// Positions inserted since the start of the run.
    total: u64,
    /// Copies inserted.
    copies: u64,
    batches: u64,
    staleness: Staleness,
}

impl<T: Item> Window<T> {
    /// A window that goes on from `cursor`: the next games to insert are those from
    /// [`Cursor::first`] on.
    pub fn resume(settings: WindowSettings, cursor: Cursor) -> Self {
        Self {
            settings,
            games: VecDeque::new(),
            first: cursor.first,
            refill_until: cursor.next,
            positions: 0,
            bytes: 0,
            total: cursor.before,
            copies: 0,
            batches: cursor.batches,
            staleness: Staleness::default(),
        }
    }

    /// A window of a new run.
    pub fn new(settings: WindowSettings) -> Self {
        Self::resume(settings, Cursor::default())
    }

    /// Number of the game that must be inserted next.
    pub fn next(&self) -> u64 {
        self.first + self.games.len() as u64
    }

    /// Inserts game `number`, which must be the [next](Self::next); the oldest games may go.
    pub fn insert(&mut self, number: u64, item: T) -> Result<(), WindowError> {
        let expected = self.next();
        if number != expected {
            return Err(WindowError::Order { expected, got: number });
        }
        let positions = item.positions();
        let copies = weights::copies(&item, self.settings.seed, number);
        let count = copies.as_ref().map_or(positions, |copies| copies.last().copied().unwrap_or(0));
        self.bytes += item.bytes();
        let (item, start) = (Arc::new(item), self.copies);
        self.games.push_back(Held { item, start, before: self.total, copies });
        self.positions += u64::from(positions);
        self.total += u64::from(positions);
        self.copies += u64::from(count);
        // While the window is filled again nothing goes: at every step of the run that filled it
        // first, more games than these were in. A window made smaller since keeps to its size.
        self.evict();
        Ok(())
    }

    /// Lets the oldest games go until the rest fits; one always stays.
    fn evict(&mut self) {
        let capacity = self.capacity();
        while self.positions > capacity || self.bytes > self.settings.max_bytes {
            if self.games.len() == 1 {
                return;
            }
            let Some(oldest) = self.games.pop_front() else { return };
            self.first += 1;
            self.positions -= u64::from(oldest.item.positions());
            self.bytes -= oldest.item.bytes();
        }
    }

    /// Whether [`sample`](Self::sample) would give a batch.
    pub fn ready(&self) -> Result<(), WindowError> {
        if self.next() < self.refill_until {
            return Err(WindowError::Refilling { next: self.next(), until: self.refill_until });
        }
        let is_full = self.first > 0;
        let needed = if is_full { 1 } else { self.settings.min_positions.max(1) };
        let held = self.positions;
        let is_empty = self.copies == self.games.front().map_or(self.copies, |held| held.start);
        if held < needed || is_empty {
            return Err(WindowError::TooFew { held, needed });
        }
        Ok(())
    }

    /// Draws `count` positions with replacement. `newest` is the newest generation.
    pub fn sample(&mut self, count: usize, newest: Generation) -> Result<Batch<T>, WindowError> {
        self.ready()?;
        let mut rng = Rng::indexed(self.settings.seed, "replay", self.batches);
        self.batches += 1;
        let start = self.games.front().map_or(0, |held| held.start);
        let mut draws = Vec::with_capacity(count);
        let (mut lag, mut age) = (0.0, 0.0);
        for _ in 0..count {
            let copy = start + below(&mut rng, self.copies - start);
            // Games without copies begin where the next one does, so the last is meant.
            let index = self.games.partition_point(|held| held.start <= copy) - 1;
            let held = &self.games[index];
            let inside = (copy - held.start) as u32;
            let position = match &held.copies {
                None => inside,
                Some(copies) => copies.partition_point(|&up_to| up_to <= inside) as u32,
            };
            lag += f64::from(held.item.generation().lag(newest));
            age += (self.total - held.before - u64::from(held.item.positions())) as f64;
            let number = self.first + index as u64;
            draws.push(Draw { item: Arc::clone(&held.item), number, position });
        }
        let mean = |sum: f64| if count == 0 { 0.0 } else { sum / count as f64 };
        self.staleness = Staleness { lag: mean(lag), age: mean(age) };
        Ok(Batch { draws, staleness: self.staleness })
    }

    /// What a checkpoint must keep.
    pub fn cursor(&self) -> Cursor {
        let before = self.games.front().map_or(self.total, |held| held.before);
        let (first, batches) = (self.first, self.batches);
        Cursor { first, next: self.next(), before, batches, ..Cursor::default() }
    }

    /// Positions it may hold now.
    pub fn capacity(&self) -> u64 {
        self.settings.growth.size(self.total)
    }

    /// Positions held.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// Positions inserted since the start of the run.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Games held.
    pub fn games(&self) -> usize {
        self.games.len()
    }

    /// Memory of the games held, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How old the last batch was.
    pub fn staleness(&self) -> Staleness {
        self.staleness
    }
}

/// A uniform number below `bound`, which is not 0.
fn below(rng: &mut Rng, bound: u64) -> u64 {
    if let Ok(bound) = u32::try_from(bound) {
        return u64::from(rng.below(bound));
    }
    let mask = u64::MAX >> bound.leading_zeros();
    loop {
        let drawn = rng.bits() & mask;
        if drawn < bound {
            return drawn;
        }
    }
}

#[cfg(test)]
mod tests;
