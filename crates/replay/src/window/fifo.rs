//! Every position once, first in, first out: for learning on policy.

use std::collections::VecDeque;
use std::sync::Arc;

use ouro_net::Generation;

use super::deal::{Card, Deal, Dealt};
use super::{Batch, Cursor, Draw, Item, Staleness, WindowError};

/// What a queue is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoSettings {
    /// Positions beyond which it has no room.
    pub max_positions: u64,
    /// Bytes beyond which it has no room, as soon as a deal waits.
    pub max_bytes: usize,
    /// Positions of a batch.
    pub batch: u64,
    /// How batches are made of them.
    pub deal: Deal,
    /// A game whose weights are more generations behind the newest when it is dealt is dropped
    /// unused.
    pub max_lag: u32,
}

impl FifoSettings {
    /// Positions that are dealt together: so many always find room.
    pub fn round(&self) -> u64 {
        self.batch.saturating_mul(self.deal.batches)
    }
}

#[derive(Debug)]
struct Waiting<T> {
    /// `None` once it was dropped.
    item: Option<Arc<T>>,
    positions: u32,
}

/// Batches that were dealt and wait to be drawn.
#[derive(Debug)]
struct Round<T> {
    batches: VecDeque<Vec<Card<T>>>,
    dealt: Dealt,
    /// Where the queue stood before: a queue that goes on deals the same again.
    start: Place,
}

/// Where a queue begins.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Number of the oldest game held, or of the next one.
    first: u64,
    /// Positions of the oldest game that were used up.
    used: u32,
    /// Positions inserted before the oldest game since the start of the run.
    before: u64,
}

/// Games in the order of the journal; each position is used once. The oldest are
/// [dealt](Deal) out to some batches at a time.
#[derive(Debug)]
pub struct Fifo<T> {
    settings: FifoSettings,
    games: VecDeque<Waiting<T>>,
    place: Place,
    round: Option<Round<T>>,
    /// The deal that the checkpoint was in the middle of.
    resumed: Option<Dealt>,
    /// Games before this one were in the checkpoint.
    refill_until: u64,
    /// Positions held and not dealt.
    waiting: u64,
    bytes: usize,
    /// Positions inserted since the start of the run.
    total: u64,
    batches: u64,
    dropped: u64,
    staleness: Staleness,
}

impl<T: Item> Fifo<T> {
    /// A queue that goes on from `cursor`: the next games to insert are those from
    /// [`Cursor::first`] on. In the middle of a deal under other settings than before, some of
    /// its positions are used twice or not at all.
    pub fn resume(settings: FifoSettings, cursor: Cursor) -> Self {
        let Cursor { first, next, before, used, batches, dealt } = cursor;
        Self {
            settings,
            games: VecDeque::new(),
            place: Place { first, used, before },
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

    /// A queue of a new run.
    pub fn new(settings: FifoSettings) -> Self {
        Self::resume(settings, Cursor::default())
    }

    /// Number of the game that must be inserted next.
    pub fn next(&self) -> u64 {
        self.place.first + self.games.len() as u64
    }

    /// Whether another game may be inserted beside so many positions that are on their way. The
    /// last one may go over the bounds, so that no game is too large for ever.
    pub fn has_room(&self, on_their_way: u64) -> bool {
        let FifoSettings { max_positions, max_bytes, .. } = self.settings;
        let undealt = self.waiting.saturating_add(on_their_way);
        let positions = self.waiting().saturating_add(on_their_way);
        let is_needed = self.round.is_none() && undealt < self.settings.round();
        is_needed || (positions < max_positions && self.bytes < max_bytes)
    }

    /// Inserts game `number`, which must be the [next](Self::next), whether there is room or
    /// not: it is in the journal already.
    pub fn insert(&mut self, number: u64, item: T) -> Result<(), WindowError> {
        let expected = self.next();
        if number != expected {
            return Err(WindowError::Order { expected, got: number });
        }
        let used = if self.games.is_empty() { self.place.used } else { 0 };
        let positions = item.positions();
        self.waiting += u64::from(positions.saturating_sub(used));
        self.bytes += item.bytes();
        self.total += u64::from(positions);
        self.games.push_back(Waiting { item: Some(Arc::new(item)), positions });
        Ok(())
    }

    /// Takes the next `count` positions, or none if too few wait to be dealt. Games that are too
    /// old for `newest`, the newest generation, go unused.
    pub fn take(&mut self, count: usize, newest: Generation) -> Result<Batch<T>, WindowError> {
        if self.next() < self.refill_until {
            return Err(WindowError::Refilling { next: self.next(), until: self.refill_until });
        }
        if self.round.is_none() {
            self.deal(count, newest)?;
        }
        let mut cards = Vec::new();
        if let Some(round) = &mut self.round {
            cards = round.batches.pop_front().unwrap_or_default();
            round.dealt.batches += 1;
        }
        if self.round.as_ref().is_some_and(|round| round.batches.is_empty()) {
            self.round = None;
        }
        self.batches += 1;
        let mean = |value: &dyn Fn(&Card<T>) -> u64| {
            cards.iter().map(value).sum::<u64>() as f64 / cards.len().max(1) as f64
        };
        self.staleness = Staleness {
            lag: mean(&|card| u64::from(card.generation.lag(newest))),
            age: mean(&|card| self.total - card.end),
        };
        let draws = cards.into_iter().map(|card| card.draw).collect();
        Ok(Batch { draws, staleness: self.staleness })
    }

    /// Deals the oldest positions out to batches of `count`.
    fn deal(&mut self, count: usize, newest: Generation) -> Result<(), WindowError> {
        let Dealt { batches: drawn, newest } = self.resumed.unwrap_or(Dealt { batches: 0, newest });
        self.drop_stale(newest);
        let needed = (count as u64).saturating_mul(self.settings.deal.batches);
        if self.waiting < needed {
            return Err(WindowError::TooFew { held: self.waiting, needed });
        }
        self.resumed = None;
        let start = self.place;
        let cards = self.oldest(needed as usize);
        let mut batches = self.settings.deal.out(cards, count, self.batches.saturating_sub(drawn));
        // One batch at least is left, also if fewer are dealt together now.
        let drawn = drawn.min(batches.len().saturating_sub(1) as u64);
        batches.drain(..drawn as usize);
        let dealt = Dealt { batches: drawn, newest };
        self.round = Some(Round { batches, dealt, start });
        Ok(())
    }

    /// Takes the oldest `count` positions out of the queue.
    fn oldest(&mut self, count: usize) -> Vec<Card<T>> {
        let mut cards = Vec::with_capacity(count);
        while cards.len() < count {
            let Some(game) = self.games.front() else { break };
            let Some(item) = game.item.as_ref().map(Arc::clone) else {
                self.pop();
                continue;
            };
            let left = game.positions.saturating_sub(self.place.used);
            let taken = (left as usize).min(count - cards.len()) as u32;
            let number = self.place.first;
            let end = self.place.before + u64::from(game.positions);
            let positions = self.place.used..self.place.used + taken;
            cards.extend(positions.map(|position| Card {
                draw: Draw { item: Arc::clone(&item), number, position },
                generation: item.generation(),
                end,
            }));
            self.place.used += taken;
            self.waiting -= u64::from(taken);
            if taken == left {
                self.pop();
            }
        }
        cards
    }

    /// Whether so many batches of `count` positions can be drawn with nothing inserted between
    /// them, none of it too old for `newest`, the newest generation. What is too old goes unused.
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

    /// Drops what is not dealt yet of games that lag too far.
    fn drop_stale(&mut self, newest: Generation) {
        let mut used = self.place.used;
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
            let Place { first, before, .. } = self.place;
            let before = before + u64::from(game.positions);
            self.place = Place { first: first + 1, used: 0, before };
        }
    }

    /// What a checkpoint must keep.
    pub fn cursor(&self) -> Cursor {
        let place = self.round.as_ref().map_or(self.place, |round| round.start);
        let dealt = self.round.as_ref().map(|round| round.dealt).or(self.resumed);
        let Place { first, used, before } = place;
        Cursor { first, next: self.next(), before, used, batches: self.batches, dealt }
    }

    /// Positions that wait.
    pub fn waiting(&self) -> u64 {
        let dealt = self.round.iter().flat_map(|round| &round.batches).map(Vec::len);
        self.waiting + dealt.sum::<usize>() as u64
    }

    /// Games that wait, but for those that were dealt.
    pub fn games(&self) -> usize {
        self.games.len()
    }

    /// Memory of these games, bytes.
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
