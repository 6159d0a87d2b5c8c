//! The replay window: the newest positions, which may be sampled repeatedly.
//!
//! A [`Window`] holds complete games, oldest first. Its size is counted in positions and
//! [grows](Growth) more slowly than the run. It thus drops early weak play, but always holds more
//! than a few games. Beyond this size, or beyond a number of bytes, the oldest games are dropped.
//!
//! Sampling is uniform over positions, or over *copies* if positions have weights. A position of
//! weight 2.3 has two copies, or three with probability 0.3 (KataGo's policy surprise weighting).
//!
//! Games have the numbers of their journal records. All randomness is keyed by these numbers and
//! by the count of batches, so a training state keeps only a [`Cursor`]. Filled again from a journal
//! that ends where the training state does, a window has the same content and draws the same batches.
//! After a kill, the journal usually holds later games. They are inserted before the first draw, so
//! later batches differ from those before the kill.

use std::collections::VecDeque;
use std::sync::Arc;

use ouro_game::Rng;
use ouro_net::Generation;

pub use batch::{Batch, Draw, Item, Staleness, WindowError};
pub use cursor::Cursor;
pub use deal::{Deal, Dealt};
pub use fifo::{Fifo, FifoSettings};
pub use growth::{Growth, GrowthError};
pub use weights::surprise_weights;

mod batch;
mod cursor;
mod deal;
mod fifo;
mod growth;
mod weights;

/// Settings of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSettings {
    /// Size in positions.
    pub growth: Growth,
    /// Size in bytes.
    pub max_bytes: usize,
    /// Positions needed before the first sample. Fewer suffice once the window is full and drops
    /// games.
    pub min_positions: u64,
    /// Seed of all draws.
    pub seed: u64,
}

#[derive(Debug)]
struct Held<T> {
    item: Arc<T>,
    /// Copies inserted before this game.
    start: u64,
    /// Positions inserted before this game since the start of the run.
    before: u64,
    /// Cumulative copies up to and including each position; `None` if each has one copy.
    copies: Option<Box<[u32]>>,
}

/// The replay window. See the [module](self).
#[derive(Debug)]
pub struct Window<T> {
    settings: WindowSettings,
    games: VecDeque<Held<T>>,
    /// Number of the oldest game held, or of the next game if none is held.
    first: u64,
    /// One past the last game of the training state. Nothing is sampled before the refill reaches
    /// it.
    refill_until: u64,
    positions: u64,
    /// Those of `positions` that are in void games.
    void: u64,
    bytes: usize,
    /// Positions inserted since the start of the run.
    total: u64,
    /// Copies inserted since the process started.
    copies: u64,
    batches: u64,
    staleness: Staleness,
}

impl<T: Item> Window<T> {
    /// Resumes a window at `cursor`. The next game to insert is [`Cursor::first`].
    pub fn resume(settings: WindowSettings, cursor: Cursor) -> Self {
        Self {
            settings,
            games: VecDeque::new(),
            first: cursor.first,
            refill_until: cursor.next,
            positions: 0,
            void: 0,
            bytes: 0,
            total: cursor.before,
            copies: 0,
            batches: cursor.batches,
            staleness: Staleness::default(),
        }
    }

    /// Creates the window of a new run.
    pub fn new(settings: WindowSettings) -> Self {
        Self::resume(settings, Cursor::default())
    }

    /// Number of the game that must be inserted next.
    pub fn next(&self) -> u64 {
        self.first + self.games.len() as u64
    }

    /// Inserts game `number`, which must be the [next](Self::next). May drop the oldest games.
    ///
    /// Counted in positions, a void game takes the room that it had before it was purged, so the
    /// window holds the same games. It has fewer bytes, so a window at its limit of bytes may hold
    /// more. It has no copies, so none of its positions is drawn.
    pub fn insert(&mut self, number: u64, item: T) -> Result<(), WindowError> {
        let expected = self.next();
        if number != expected {
            return Err(WindowError::Order { expected, got: number });
        }
        let positions = item.positions();
        let copies = match item.is_void() {
            true => Some(Box::default()),
            false => weights::copies(&item, self.settings.seed, number),
        };
        let count = copies.as_ref().map_or(positions, |copies| copies.last().copied().unwrap_or(0));
        self.bytes += item.bytes();
        self.void += if item.is_void() { u64::from(positions) } else { 0 };
        let (item, start) = (Arc::new(item), self.copies);
        self.games.push_back(Held { item, start, before: self.total, copies });
        self.positions += u64::from(positions);
        self.total += u64::from(positions);
        self.copies += u64::from(count);
        // A refill with unchanged settings drops nothing: the window held all of these games at
        // the training state. If the settings have become smaller, the new size applies at once.
        self.evict();
        Ok(())
    }

    /// Drops the oldest games until the rest fits. The newest game always stays.
    fn evict(&mut self) {
        let capacity = self.capacity();
        while self.positions > capacity || self.bytes > self.settings.max_bytes {
            if self.games.len() == 1 {
                return;
            }
            let Some(oldest) = self.games.pop_front() else { return };
            self.first += 1;
            let positions = u64::from(oldest.item.positions());
            self.positions -= positions;
            self.void -= if oldest.item.is_void() { positions } else { 0 };
            self.bytes -= oldest.item.bytes();
        }
    }

    /// Checks that [`sample`](Self::sample) can return a batch.
    pub fn ready(&self) -> Result<(), WindowError> {
        if self.next() < self.refill_until {
            return Err(WindowError::Refilling { next: self.next(), until: self.refill_until });
        }
        let (held, needed) = (self.positions(), self.needed());
        let is_empty = self.copies == self.games.front().map_or(self.copies, |held| held.start);
        if held < needed || is_empty {
            return Err(WindowError::TooFew { held, needed });
        }
        Ok(())
    }

    /// Positions needed before the next sample.
    fn needed(&self) -> u64 {
        // A window that has dropped a game has been full. One with void games may hold too few
        // others.
        let is_full = self.first > 0 && self.void == 0;
        if is_full { 1 } else { self.settings.min_positions.max(1) }
    }

    /// Whether a purge has left too few positions for sampling, with `on_their_way` more in the
    /// journal. Games must then be inserted regardless of the pace of sampling.
    pub fn lacks(&self, on_their_way: u64) -> bool {
        self.void > 0 && self.positions().saturating_add(on_their_way) < self.needed()
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
            // A game without copies has the same start as the next one. The last game with this
            // start is the one with copies.
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

    /// Returns the state that a training state must keep.
    pub fn cursor(&self) -> Cursor {
        let before = self.games.front().map_or(self.total, |held| held.before);
        let (first, batches) = (self.first, self.batches);
        Cursor { first, next: self.next(), before, batches, ..Cursor::default() }
    }

    /// Current limit of positions.
    pub fn capacity(&self) -> u64 {
        self.settings.growth.size(self.total)
    }

    /// Positions held that may be drawn.
    pub fn positions(&self) -> u64 {
        self.positions - self.void
    }

    /// Positions inserted since the start of the run.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Games held.
    pub fn games(&self) -> usize {
        self.games.len()
    }

    /// Memory of the games held, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Mean age of the last batch.
    pub fn staleness(&self) -> Staleness {
        self.staleness
    }
}

/// Draws a uniform number below `bound`, which must not be 0.
fn below(rng: &mut Rng, bound: u64) -> u64 {
    if let Ok(bound) = u32::try_from(bound) {
        return u64::from(rng.below(bound));
    }
    // Rejection sampling has no modulo bias; the mask keeps at least half of the draws.
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
