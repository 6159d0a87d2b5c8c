//! Every position once, first in, first out: for learning on policy.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Batch, Cursor, Draw, Item, Staleness, WindowError};

/// What a queue is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoSettings {
    /// Positions beyond which it has no room.
    pub max_positions: u64,
    /// Bytes beyond which it has no room, as soon as a batch waits.
    pub max_bytes: usize,
    /// Positions of a batch: so many always find room.
    pub batch: u64,
    /// A game whose weights are more generations behind the newest is dropped unused.
    pub max_lag: u32,
}

#[derive(Debug)]
struct Waiting<T> {
    /// `None` once it was dropped.
    item: Option<Arc<T>>,
    positions: u32,
}

/// Games in the order of the journal; each is used once. Batches take positions in order, so a
/// game's positions stay together but for the seams between batches.
#[derive(Debug)]
pub struct Fifo<T> {
    settings: FifoSettings,
    games: VecDeque<Waiting<T>>,
    /// Number of the oldest game held, or of the next one.
    first: u64,
    /// Positions of the oldest game that were used up.
    used: u32,
    /// Games before this one were in the checkpoint.
    refill_until: u64,
    /// Positions held and not used.
    waiting: u64,
    bytes: usize,
    /// Positions inserted before the oldest game since the start of the run.
    before: u64,
    batches: u64,
    dropped: u64,
    staleness: Staleness,
}

impl<T: Item> Fifo<T> {
    /// A queue that goes on from `cursor`: the next games to insert are those from
    /// [`Cursor::first`] on.
    pub fn resume(settings: FifoSettings, cursor: Cursor) -> Self {
        Self {
            settings,
            games: VecDeque::new(),
            first: cursor.first,
            used: cursor.used,
            refill_until: cursor.next,
            waiting: 0,
            bytes: 0,
            before: cursor.before,
            batches: cursor.batches,
            dropped: 0,
            staleness: Staleness::default(),
        }
    }

    /// A queue of a new run.
    pub fn new(settings: FifoSettings) -> Self {
        Self::resume(settings, Cursor::default())
    }

    /// Number of the game that must be inserted next.
    pub fn next(&self) -> u64 {
        self.first + self.games.len() as u64
    }

    /// Whether another game may be inserted beside so many positions that are on their way. The last one may go over the bounds, so that no
    /// game is too large for ever.
    pub fn has_room(&self, on_their_way: u64) -> bool {
        let FifoSettings { max_positions, max_bytes, batch, .. } = self.settings;
        let positions = self.waiting.saturating_add(on_their_way);
        positions < batch || (positions < max_positions && self.bytes < max_bytes)
    }

    /// Inserts game `number`, which must be the [next](Self::next), whether there is room or
    /// not: it is in the journal already.
    pub fn insert(&mut self, number: u64, item: T) -> Result<(), WindowError> {
        let expected = self.next();
        if number != expected {
            return Err(WindowError::Order { expected, got: number });
        }
        let used = if self.games.is_empty() { self.used } else { 0 };
        let positions = item.positions();
        self.waiting += u64::from(positions.saturating_sub(used));
        self.bytes += item.bytes();
        self.games.push_back(Waiting { item: Some(Arc::new(item)), positions });
        Ok(())
    }

    /// Takes the oldest `count` positions, or none if fewer wait. Games that are too old for
    /// `newest`, the newest generation, go unused.
    pub fn take(&mut self, count: usize, newest: u32) -> Result<Batch<T>, WindowError> {
        if self.next() < self.refill_until {
            return Err(WindowError::Refilling { next: self.next(), until: self.refill_until });
        }
        self.drop_stale(newest);
        if self.waiting < count as u64 {
            return Err(WindowError::TooFew { held: self.waiting, needed: count as u64 });
        }
        self.batches += 1;
        let mut draws = Vec::with_capacity(count);
        let (mut lag, mut age) = (0.0, 0.0);
        let mut after = self.waiting;
        while draws.len() < count {
            let Some(game) = self.games.front() else { break };
            let Some(item) = game.item.as_ref().map(Arc::clone) else {
                self.pop();
                continue;
            };
            let left = game.positions.saturating_sub(self.used);
            let taken = (left as usize).min(count - draws.len()) as u32;
            after -= u64::from(left);
            lag += f64::from(newest.saturating_sub(item.generation())) * f64::from(taken);
            age += after as f64 * f64::from(taken);
            let positions = self.used..self.used + taken;
            draws.extend(positions.map(|position| Draw {
                item: Arc::clone(&item),
                number: self.first,
                position,
            }));
            self.used += taken;
            self.waiting -= u64::from(taken);
            if taken == left {
                self.pop();
            }
        }
        let mean = |sum: f64| if count == 0 { 0.0 } else { sum / count as f64 };
        self.staleness = Staleness { lag: mean(lag), age: mean(age) };
        Ok(Batch { draws, staleness: self.staleness })
    }

    /// Whether so many positions wait that are not too old for `newest`, the newest generation.
    /// Those that are too old go unused.
    pub fn holds(&mut self, positions: u64, newest: u32) -> bool {
        if self.next() < self.refill_until {
            return false;
        }
        self.drop_stale(newest);
        self.waiting >= positions
    }

    /// Drops what is not used yet of games that lag too far.
    fn drop_stale(&mut self, newest: u32) {
        let mut used = self.used;
        for game in &mut self.games {
            let left = game.positions.saturating_sub(std::mem::take(&mut used));
            let is_stale = |item: &mut Arc<T>| {
                newest.saturating_sub(item.generation()) > self.settings.max_lag
            };
            if let Some(item) = game.item.take_if(is_stale) {
                self.waiting -= u64::from(left);
                self.dropped += u64::from(left);
                self.bytes -= item.bytes();
            }
        }
    }

    fn pop(&mut self) {
        if let Some(game) = self.games.pop_front() {
            self.bytes -= game.item.map_or(0, |item| item.bytes());
            self.before += u64::from(game.positions);
            (self.first, self.used) = (self.first + 1, 0);
        }
    }

    /// What a checkpoint must keep.
    pub fn cursor(&self) -> Cursor {
        let Self { first, before, used, batches, .. } = *self;
        Cursor { first, next: self.next(), before, used, batches }
    }

    /// Positions that wait.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Games that wait.
    pub fn games(&self) -> usize {
        self.games.len()
    }

    /// Memory of the games held, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Positions that were dropped unused since the process started.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How old the last batch was.
    pub fn staleness(&self) -> Staleness {
        self.staleness
    }
}
