//! A first-in, first-out queue that uses each position once, for on-policy learning.

use std::collections::VecDeque;
use std::sync::Arc;

use ouro_net::Generation;

use super::batch::{Batch, Draw, Item, Staleness, WindowError};
use super::cursor::Cursor;
use super::deal::{Deal, Dealt, QueuedPosition};

/// Settings of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoSettings {
    /// Number of positions at which the queue has no more room.
    pub max_positions: u64,
    /// Number of bytes at which the queue has no more room, unless it needs more positions for a
    /// deal.
    pub max_bytes: usize,
    /// Number of positions of a batch.
    pub batch: u64,
    /// Distribution of the positions over batches.
    pub deal: Deal,
    /// Maximum number of generations between a game's weights and the newest weights when the game
    /// is dealt. Older games are dropped unused.
    pub max_lag: u32,
}

impl FifoSettings {
    /// Number of positions that are dealt together. Between deals the queue always has room for
    /// this number.
    pub fn round(&self) -> u64 {
        self.batch.saturating_mul(self.deal.batches)
    }
}

#[derive(Debug)]
struct QueuedGame<T> {
    /// `None` if the game is void, and once it was dropped.
    item: Option<Arc<T>>,
    positions: u32,
}

/// The batches of a deal that are not yet drawn.
#[derive(Debug)]
struct Round<T> {
    batches: VecDeque<Vec<QueuedPosition<T>>>,
    dealt: Dealt,
    /// The start of the queue before the deal. A resumed queue repeats the deal from there.
    start: QueueStart,
}

/// The start of a queue: its oldest game and the number of its used positions.
#[derive(Clone, Copy, Debug)]
struct QueueStart {
    /// Number of the oldest game held, or of the next game if none is held.
    first: u64,
    /// Used positions of the oldest game.
    used: u32,
    /// Positions inserted before the oldest game since the start of the run.
    before: u64,
}

/// A queue of games in journal order that uses each position once. The oldest positions are
/// [dealt](Deal) to several batches at a time.
#[derive(Debug)]
pub struct Fifo<T> {
    settings: FifoSettings,
    games: VecDeque<QueuedGame<T>>,
    start: QueueStart,
    round: Option<Round<T>>,
    /// The unfinished deal of the training state, until it is repeated.
    resumed: Option<Dealt>,
    /// One past the last game of the training state.
    refill_until: u64,
    /// Number of positions that are held but not dealt.
    waiting: u64,
    bytes: usize,
    /// Positions inserted since the start of the run.
    total: u64,
    batches: u64,
    dropped: u64,
    staleness: Staleness,
}

impl<T: Item> Fifo<T> {
    /// Resumes a queue at `cursor`. The next game to insert is [`Cursor::first`].
    ///
    /// If the settings have changed during a deal, or games of it were purged, some of its positions are used twice or not at
    /// all.
    pub fn resume(settings: FifoSettings, cursor: Cursor) -> Self {
        let Cursor { first, next, before, used, batches, dealt } = cursor;
        Self {
            settings,
            games: VecDeque::new(),
            start: QueueStart { first, used, before },
            round: None,
            resumed: dealt,
            refill_until: next,
            waiting: 0,
            bytes: 0,
            total: before,
            batches,
            dropped: 0,
            staleness: Staleness::default(),
        }
    }

    /// Creates the queue of a new run.
    pub fn new(settings: FifoSettings) -> Self {
        Self::resume(settings, Cursor::default())
    }

    /// Number of the game that must be inserted next.
    pub fn next(&self) -> u64 {
        self.start.first + self.games.len() as u64
    }

    /// Whether another game may be inserted, given `on_their_way` positions that are in the journal
    /// but not yet inserted. The last game inserted may exceed the bounds, so no game is too large.
    pub fn has_room(&self, on_their_way: u64) -> bool {
        let FifoSettings { max_positions, max_bytes, .. } = self.settings;
        let undealt = self.waiting.saturating_add(on_their_way);
        let positions = self.waiting().saturating_add(on_their_way);
        let is_needed = self.round.is_none() && undealt < self.settings.round();
        is_needed || (positions < max_positions && self.bytes < max_bytes)
    }

    /// Inserts game `number`, which must be [`next`](Self::next). The game is already in the
    /// journal, so it is inserted even without room. A void game keeps its number, and is never
    /// dealt.
    pub fn insert(&mut self, number: u64, item: T) -> Result<(), WindowError> {
        let expected = self.next();
        if number != expected {
            return Err(WindowError::Order { expected, got: number });
        }
        let used = if self.games.is_empty() { self.start.used } else { 0 };
        let positions = item.positions();
        self.total += u64::from(positions);
        let item = (!item.is_void()).then(|| Arc::new(item));
        if let Some(item) = &item {
            self.waiting += u64::from(positions.saturating_sub(used));
            self.bytes += item.bytes();
        }
        self.games.push_back(QueuedGame { item, positions });
        Ok(())
    }

    /// Takes the next `count` positions. Fails if there are too few positions for a deal. Before a
    /// deal, games that are too old for `newest`, the newest generation, are dropped unused.
    pub fn take(&mut self, count: usize, newest: Generation) -> Result<Batch<T>, WindowError> {
        if self.next() < self.refill_until {
            return Err(WindowError::Refilling { next: self.next(), until: self.refill_until });
        }
        if self.round.is_none() {
            self.deal(count, newest)?;
        }
        let mut positions = Vec::new();
        if let Some(round) = &mut self.round {
            positions = round.batches.pop_front().unwrap_or_default();
            round.dealt.batches += 1;
        }
        if self.round.as_ref().is_some_and(|round| round.batches.is_empty()) {
            self.round = None;
        }
        self.batches += 1;
        let mean = |value: &dyn Fn(&QueuedPosition<T>) -> u64| {
            positions.iter().map(value).sum::<u64>() as f64 / positions.len().max(1) as f64
        };
        self.staleness = Staleness {
            lag: mean(&|position| u64::from(position.generation.lag(newest))),
            age: mean(&|position| self.total - position.end),
        };
        let draws = positions.into_iter().map(|position| position.draw).collect();
        Ok(Batch { draws, staleness: self.staleness })
    }

    /// Deals the oldest positions to batches of `count`.
    fn deal(&mut self, count: usize, newest: Generation) -> Result<(), WindowError> {
        let Dealt { batches: drawn, newest } = self.resumed.unwrap_or(Dealt { batches: 0, newest });
        self.drop_stale(newest);
        let needed = (count as u64).saturating_mul(self.settings.deal.batches);
        if self.waiting < needed {
            return Err(WindowError::TooFew { held: self.waiting, needed });
        }
        self.resumed = None;
        let start = self.start;
        let positions = self.oldest(needed as usize);
        let mut batches =
            self.settings.deal.out(positions, count, self.batches.saturating_sub(drawn));
        // At least one batch remains, even if the settings now deal fewer batches together.
        let drawn = drawn.min(batches.len().saturating_sub(1) as u64);
        batches.drain(..drawn as usize);
        let dealt = Dealt { batches: drawn, newest };
        self.round = Some(Round { batches, dealt, start });
        Ok(())
    }

    /// Removes the oldest `count` positions from the queue.
    fn oldest(&mut self, count: usize) -> Vec<QueuedPosition<T>> {
        let mut positions = Vec::with_capacity(count);
        while positions.len() < count {
            let Some(game) = self.games.front() else { break };
            let Some(item) = game.item.as_ref().map(Arc::clone) else {
                self.pop();
                continue;
            };
            let left = game.positions.saturating_sub(self.start.used);
            let taken = (left as usize).min(count - positions.len()) as u32;
            let number = self.start.first;
            let end = self.start.before + u64::from(game.positions);
            let unused = self.start.used..self.start.used + taken;
            positions.extend(unused.map(|position| QueuedPosition {
                draw: Draw { item: Arc::clone(&item), number, position },
                generation: item.generation(),
                end,
            }));
            self.start.used += taken;
            self.waiting -= u64::from(taken);
            if taken == left {
                self.pop();
            }
        }
        positions
    }

    /// Whether `batches` batches of `count` positions can be drawn without another insertion.
    /// Games that are too old for `newest`, the newest generation, are dropped first.
    pub fn holds(&mut self, batches: u64, count: usize, newest: Generation) -> bool {
        if self.next() < self.refill_until {
            return false;
        }
        self.drop_stale(self.resumed.map_or(newest, |resumed| resumed.newest));
        let dealt = self.round.as_ref().map_or(0, |round| round.batches.len() as u64);
        let drawn = self.resumed.map_or(0, |resumed| resumed.batches);
        let round = (count as u64).saturating_mul(self.settings.deal.batches).max(1);
        let rounds = self.waiting / round;
        dealt + (rounds * self.settings.deal.batches).saturating_sub(drawn) >= batches
    }

    /// Drops the undealt positions of games that are too old.
    fn drop_stale(&mut self, newest: Generation) {
        let mut used = self.start.used;
        for game in &mut self.games {
            let left = game.positions.saturating_sub(std::mem::take(&mut used));
            let is_stale =
                |item: &mut Arc<T>| item.generation().lag(newest) > self.settings.max_lag;
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
            let QueueStart { first, before, .. } = self.start;
            let before = before + u64::from(game.positions);
            self.start = QueueStart { first: first + 1, used: 0, before };
        }
    }

    /// Returns the state that a training state must keep.
    pub fn cursor(&self) -> Cursor {
        let place = self.round.as_ref().map_or(self.start, |round| round.start);
        let dealt = self.round.as_ref().map(|round| round.dealt).or(self.resumed);
        let QueueStart { first, used, before } = place;
        Cursor { first, next: self.next(), before, used, batches: self.batches, dealt }
    }

    /// Number of positions that are not yet drawn, dealt or not.
    pub fn waiting(&self) -> u64 {
        let dealt = self.round.iter().flat_map(|round| &round.batches).map(Vec::len);
        self.waiting + dealt.sum::<usize>() as u64
    }

    /// Number of games that are not completely dealt.
    pub fn games(&self) -> usize {
        self.games.len()
    }

    /// Memory of the games that are not completely dealt, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Positions that were dropped unused since the process started.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Mean age of the last batch.
    pub fn staleness(&self) -> Staleness {
        self.staleness
    }
}
