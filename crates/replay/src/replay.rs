//! Window or queue together with the ratio, as one thing that a checkpoint can bring back.
//!
//! A [`Replay`] takes accepted games in the order of the journal and gives batches. For
//! `AlphaZero` it is a [`Window`] held to a [`Ratio`]; for REINFORCE a [`Fifo`], where every
//! position is used once and the room in the queue is the only limit. [`ReplayState`] is what a
//! checkpoint keeps. After a restart:
//!
//! ```text
//! state.check(journal.oldest_record(), journal.records())?
//! let mut replay = Replay::resume(settings, &state)?;
//! journal.visit(replay.next(), |number, record| replay.insert(number, …))
//! ```
//!
//! Games up to the checkpoint come back without being counted again; those that were accepted
//! after it count as inserted now.

use serde::{Deserialize, Serialize};

use ouro_net::Generation;

use crate::ratio::{Counters, Pace, Ratio, RatioError, Settings};
use crate::window::{
    Batch, Cursor, Fifo, FifoSettings, GrowthError, Item, Staleness, Window, WindowError,
    WindowSettings,
};

/// The version of [`ReplayState`] that this code writes; it reads those before it, too. In
/// version 1 there is no [`pace`](ReplayState::pace), before version 3 nothing
/// [dealt](Cursor::dealt).
pub const STATE_VERSION: u32 = 3;

/// What a replay is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReplaySettings {
    /// Sampled again and again.
    Window {
        /// The window.
        window: WindowSettings,
        /// How often.
        ratio: Settings,
    },
    /// Used once, in order.
    Fifo(FifoSettings),
}

/// Settings under which inserting and sampling would wait for each other for ever, or which
/// mean nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// The ratio.
    #[error(transparent)]
    Ratio(#[from] RatioError),
    /// The window's size.
    #[error("window: {0}")]
    Growth(#[from] GrowthError),
    /// Sampling would wait for more positions than may come.
    #[error("min_positions is {got}; with {what} of {limit} it may be at most that")]
    MinPositions {
        /// The least positions to sample from.
        got: u64,
        /// What limits them.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A queue that a deal does not fit.
    #[error("max_positions is {got}; {round} positions are dealt together, and must fit")]
    MaxPositions {
        /// Most positions that wait.
        got: u64,
        /// Positions dealt together.
        round: u64,
    },
    /// Batches or segments of nothing.
    #[error("{what} is 0; it must be at least 1")]
    Zero {
        /// What is 0.
        what: &'static str,
    },
}

impl ReplaySettings {
    /// Says what is impossible.
    pub fn check(&self) -> Result<(), SettingsError> {
        match *self {
            Self::Window { window, ratio } => {
                ratio.check()?;
                window.growth.check()?;
                let limits = [("a warm-up", ratio.warmup), ("a window", window.growth.start)];
                let got = window.min_positions;
                match limits.into_iter().find(|(_, limit)| got > *limit) {
                    None => Ok(()),
                    Some((what, limit)) => Err(SettingsError::MinPositions { got, what, limit }),
                }
            }
            Self::Fifo(settings) => {
                let FifoSettings { max_positions: got, batch, deal, .. } = settings;
                let counts = [
                    ("batch", batch),
                    ("deal.batches", deal.batches),
                    ("deal.segment", deal.segment.into()),
                ];
                if let Some((what, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
                    return Err(SettingsError::Zero { what });
                }
                let round = settings.round();
                if got >= round { Ok(()) } else { Err(SettingsError::MaxPositions { got, round }) }
            }
        }
    }
}

/// Everything about replay that goes into a checkpoint, as one unit with the weights that were
/// trained on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayState {
    /// [`STATE_VERSION`].
    pub version: u32,
    /// Where window or queue stand.
    pub cursor: Cursor,
    /// What was counted.
    pub counters: Counters,
    /// What the ratio was held to; `None` for a queue.
    #[serde(default)]
    pub pace: Option<Pace>,
}

/// Why a state cannot be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// Written by another program.
    #[error("replay state has version {got}; this program reads up to {STATE_VERSION}")]
    Version {
        /// Version in the state.
        got: u32,
    },
    /// The numbers contradict each other.
    #[error("replay state holds games {first} to {next}: the end is before the start")]
    Order {
        /// See [`Cursor::first`].
        first: u64,
        /// See [`Cursor::next`].
        next: u64,
    },
    /// The journal is not the one the state was written for.
    #[error(
        "replay state needs games {first} to {next} (the last not included); the journal holds {oldest} to {newest}: restore the journal that belongs to this checkpoint"
    )]
    Journal {
        /// See [`Cursor::first`].
        first: u64,
        /// See [`Cursor::next`].
        next: u64,
        /// Oldest record of the journal.
        oldest: u64,
        /// One past its newest.
        newest: u64,
    },
}

impl Default for ReplayState {
    /// The state of a new run.
    fn default() -> Self {
        let (cursor, counters) = (Cursor::default(), Counters::default());
        Self { version: STATE_VERSION, cursor, counters, pace: None }
    }
}

impl ReplayState {
    /// Whether a journal with records `oldest..newest` can bring the state back.
    pub fn check(&self, oldest: u64, newest: u64) -> Result<(), StateError> {
        let Cursor { first, next, .. } = self.cursor;
        if !(1..=STATE_VERSION).contains(&self.version) {
            return Err(StateError::Version { got: self.version });
        }
        if first > next {
            return Err(StateError::Order { first, next });
        }
        if first < oldest || next > newest {
            return Err(StateError::Journal { first, next, oldest, newest });
        }
        Ok(())
    }
}

/// Figures for people.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Status {
    /// Games held.
    pub games: usize,
    /// Positions held and not used up.
    pub positions: u64,
    /// Positions that fit.
    pub capacity: u64,
    /// Memory of the games held, bytes.
    pub bytes: usize,
    /// Positions inserted and sampled since the start of the run.
    pub counters: Counters,
    /// Positions that went unused because they were too old, since the process started.
    pub dropped: u64,
    /// How old the last batch was.
    pub staleness: Staleness,
}

/// Where accepted games go and batches come from. See the [module](self).
#[derive(Debug)]
pub struct Replay<T> {
    store: Store<T>,
    /// Games before this one are in the counters already.
    counted_until: u64,
}

#[derive(Debug)]
enum Store<T> {
    Window { window: Window<T>, ratio: Ratio },
    Fifo { fifo: Fifo<T>, settings: FifoSettings, counters: Counters },
}

impl<T: Item> Replay<T> {
    /// A replay that goes on from `state`, under the settings it was made with or others; which
    /// kind of store it was must be the same.
    pub fn resume(settings: ReplaySettings, state: &ReplayState) -> Result<Self, SettingsError> {
        settings.check()?;
        let ReplayState { cursor, counters, pace, .. } = *state;
        let store = match settings {
            ReplaySettings::Window { window, ratio } => {
                let held = counters.inserts.saturating_sub(cursor.before);
                Store::Window {
                    window: Window::resume(window, cursor),
                    ratio: Ratio::resume(ratio, counters, pace, held)?,
                }
            }
            ReplaySettings::Fifo(settings) => {
                Store::Fifo { fifo: Fifo::resume(settings, cursor), settings, counters }
            }
        };
        Ok(Self { store, counted_until: cursor.next })
    }

    /// Number of the game that must be inserted next.
    pub fn next(&self) -> u64 {
        match &self.store {
            Store::Window { window, .. } => window.next(),
            Store::Fifo { fifo, .. } => fifo.next(),
        }
    }

    /// Whether a game of so many positions is welcome, beside those that are on their way: in the
    /// journal, but not inserted yet. If not, whoever brings it waits. What brings no positions is
    /// always welcome.
    pub fn may_insert(&self, positions: u64, on_their_way: u64) -> bool {
        positions == 0
            || match &self.store {
                Store::Window { ratio, .. } => ratio.may_insert(positions, on_their_way),
                Store::Fifo { fifo, .. } => fifo.has_room(on_their_way),
            }
    }

    /// Inserts game `number`, which must be the [next](Self::next), welcome or not: it is in
    /// the journal already.
    pub fn insert(&mut self, number: u64, item: T) -> Result<(), WindowError> {
        let is_new = number >= self.counted_until;
        let positions = if is_new { u64::from(item.positions()) } else { 0 };
        match &mut self.store {
            Store::Window { window, ratio } => {
                window.insert(number, item)?;
                ratio.insert(positions);
            }
            Store::Fifo { fifo, counters, .. } => {
                fifo.insert(number, item)?;
                counters.inserts += positions;
            }
        }
        Ok(())
    }

    /// A batch of `count` positions, if there is enough to draw from and sampling is not too far
    /// ahead. `newest` is the newest generation.
    pub fn batch(&mut self, count: usize, newest: Generation) -> Result<Batch<T>, WindowError> {
        match &mut self.store {
            Store::Window { window, ratio } => {
                window.ready()?;
                if !ratio.may_sample(count as u64) {
                    return Err(WindowError::Ahead { count });
                }
                let batch = window.sample(count, newest)?;
                ratio.sample(count as u64);
                Ok(batch)
            }
            Store::Fifo { fifo, counters, .. } => {
                let batch = fifo.take(count, newest)?;
                counters.samples += batch.draws.len() as u64;
                Ok(batch)
            }
        }
    }

    /// Whether so many batches of `count` positions can be drawn in a row, with nothing inserted
    /// between them. `newest` is the newest generation.
    pub fn holds(&mut self, batches: u64, count: usize, newest: Generation) -> bool {
        match &mut self.store {
            Store::Window { window, ratio } => {
                window.ready().is_ok() && ratio.may_sample_repeatedly(batches, count as u64)
            }
            Store::Fifo { fifo, .. } => fifo.holds(batches, count, newest),
        }
    }

    /// What a checkpoint must keep.
    pub fn state(&self) -> ReplayState {
        let (cursor, counters, pace) = match &self.store {
            Store::Window { window, ratio } => {
                (window.cursor(), ratio.counters(), Some(ratio.pace()))
            }
            Store::Fifo { fifo, counters, .. } => (fifo.cursor(), *counters, None),
        };
        ReplayState { version: STATE_VERSION, cursor, counters, pace }
    }

    /// The ratio, where there is one.
    pub fn ratio(&self) -> Option<&Ratio> {
        match &self.store {
            Store::Window { ratio, .. } => Some(ratio),
            Store::Fifo { .. } => None,
        }
    }

    /// Figures for people.
    pub fn status(&self) -> Status {
        match &self.store {
            Store::Window { window, ratio } => Status {
                games: window.games(),
                positions: window.positions(),
                capacity: window.capacity(),
                bytes: window.bytes(),
                counters: ratio.counters(),
                dropped: 0,
                staleness: window.staleness(),
            },
            Store::Fifo { fifo, settings, counters } => Status {
                games: fifo.games(),
                positions: fifo.waiting(),
                capacity: settings.max_positions,
                bytes: fifo.bytes(),
                counters: *counters,
                dropped: fifo.dropped(),
                staleness: fifo.staleness(),
            },
        }
    }
}

#[cfg(test)]
mod tests;
