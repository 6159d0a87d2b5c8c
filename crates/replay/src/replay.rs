//! The replay: a window or queue together with the sample-to-insert ratio.
//!
//! A [`Replay`] takes accepted games in journal order and returns batches. For `AlphaZero` it is a
//! [`Window`] limited by a [`Ratio`]. For REINFORCE it is a [`Fifo`], which uses each position
//! once and is limited only by its capacity. A training state keeps the [`ReplayState`]. After a
//! restart:
//!
//! ```text
//! state.check(journal.oldest_record(), journal.records())?
//! let mut replay = Replay::resume(settings, &state)?;
//! journal.visit(replay.next(), |number, record| replay.insert(number, …))
//! ```
//!
//! Games before the training state are inserted without being counted again. Games accepted after
//! it are counted as they are inserted.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use ouro_net::Generation;

use crate::ratio::{Counters, Pace, Ratio, RatioError, Settings};
use crate::window::{
    Batch, Cursor, Fifo, FifoSettings, GrowthError, Item, Staleness, Window, WindowError,
    WindowSettings,
};

/// The version of [`ReplayState`] that this code writes. Earlier versions can be read too:
/// version 1 has no [`pace`](ReplayState::pace), and versions below 3 have no
/// [`dealt`](Cursor::dealt).
pub const STATE_VERSION: u32 = 3;

/// Settings of a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReplaySettings {
    /// A window, whose positions may be sampled repeatedly.
    Window {
        /// The window.
        window: WindowSettings,
        /// The number of samples per inserted position.
        ratio: Settings,
    },
    /// A queue, whose positions are used once.
    Fifo(FifoSettings),
}

/// Error in [`ReplaySettings`]: a value out of range, or a deadlock of inserting and sampling.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// The ratio's settings are invalid.
    #[error(transparent)]
    Ratio(#[from] RatioError),
    /// The window's size is invalid.
    #[error("window: {0}")]
    Growth(#[from] GrowthError),
    /// Sampling needs more positions than may be inserted before it.
    #[error("min_positions is {got}; with {what} of {limit} it may be at most that")]
    MinPositions {
        /// Positions needed before the first sample.
        got: u64,
        /// The setting that limits them.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A deal does not fit into the queue.
    #[error("max_positions is {got}; {round} positions are dealt together, and must fit")]
    MaxPositions {
        /// Capacity of the queue, in positions.
        got: u64,
        /// Positions dealt together.
        round: u64,
    },
    /// A count is 0.
    #[error("{what} is 0; it must be at least 1")]
    Zero {
        /// The setting that is 0.
        what: &'static str,
    },
}

impl ReplaySettings {
    /// Validates the settings.
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

/// State of the replay in a training state, saved as one unit with the weights trained on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayState {
    /// [`STATE_VERSION`].
    pub version: u32,
    /// Position of the window or queue in the journal.
    pub cursor: Cursor,
    /// Positions inserted and sampled.
    pub counters: Counters,
    /// The ratio's pace; `None` for a queue.
    #[serde(default)]
    pub pace: Option<Pace>,
}

/// Reason why a state cannot be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The state has an unknown version.
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
    /// The journal does not hold the games of the state.
    #[error(
        "replay state needs games {first} to {next} (the last not included); the journal holds {oldest} to {newest}: restore the journal that belongs to this training state"
    )]
    Journal {
        /// See [`Cursor::first`].
        first: u64,
        /// See [`Cursor::next`].
        next: u64,
        /// Oldest record of the journal.
        oldest: u64,
        /// One past the newest record of the journal.
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
    /// The state of a window whose own state is lost, to fill it with these `games` of the journal.
    ///
    /// `before` positions were inserted before the games, and `held` with them. If `held` reaches
    /// the warm-up of `ratio`, sampling may continue at once. Otherwise it waits for the rest.
    pub fn refilled(ratio: &Settings, games: Range<u64>, before: u64, held: u64) -> Self {
        let cursor = Cursor { first: games.start, next: games.end, before, ..Cursor::default() };
        let counters = Counters { inserts: before.saturating_add(held), samples: 0 };
        let pace = Some(Pace::restarted(ratio, counters, held));
        Self { cursor, counters, pace, ..Self::default() }
    }

    /// Checks that a journal with records `oldest..newest` can restore the state.
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

/// Figures of a replay, for display.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Status {
    /// Games held.
    pub games: usize,
    /// Positions held that can still be drawn.
    pub positions: u64,
    /// Limit of positions.
    pub capacity: u64,
    /// Memory of the games held, in bytes.
    pub bytes: usize,
    /// Positions inserted and sampled since the start of the run.
    pub counters: Counters,
    /// Positions dropped unused because they were too old, since the process started.
    pub dropped: u64,
    /// Mean age of the last batch.
    pub staleness: Staleness,
}

/// The replay, which turns accepted games into batches. See the [module](self).
#[derive(Debug)]
pub struct Replay<T> {
    store: Store<T>,
    /// Games before this number are already in the counters.
    counted_until: u64,
}

#[derive(Debug)]
enum Store<T> {
    Window { window: Window<T>, ratio: Ratio },
    Fifo { fifo: Fifo<T>, settings: FifoSettings, counters: Counters },
}

impl<T: Item> Replay<T> {
    /// Resumes a replay at `state`. The settings may have changed, but not the kind of replay
    /// (window or queue).
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

    /// Whether a game of `positions` positions may be accepted now.
    ///
    /// `on_their_way` counts positions that are in the journal but not yet inserted. On `false`
    /// the caller must hold the game back. A game without positions may always be accepted.
    pub fn may_insert(&self, positions: u64, on_their_way: u64) -> bool {
        positions == 0
            || match &self.store {
                Store::Window { window, ratio } => {
                    window.lacks(on_their_way) || ratio.may_insert(positions, on_their_way)
                }
                Store::Fifo { fifo, .. } => fifo.has_room(on_their_way),
            }
    }

    /// Inserts game `number`, which must be the [next](Self::next). The game is already in the
    /// journal, so [`may_insert`](Self::may_insert) is not checked.
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

    /// Draws a batch of `count` positions. Too few positions, or sampling too far ahead of
    /// inserting, are errors. `newest` is the newest generation.
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

    /// Whether `batches` batches of `count` positions can be drawn without another insertion.
    /// `newest` is the newest generation. A queue first drops games that are too old.
    pub fn holds(&mut self, batches: u64, count: usize, newest: Generation) -> bool {
        match &mut self.store {
            Store::Window { window, ratio } => {
                window.ready().is_ok() && ratio.may_sample_repeatedly(batches, count as u64)
            }
            Store::Fifo { fifo, .. } => fifo.holds(batches, count, newest),
        }
    }

    /// Returns the state that a training state must keep.
    pub fn state(&self) -> ReplayState {
        let (cursor, counters, pace) = match &self.store {
            Store::Window { window, ratio } => {
                (window.cursor(), ratio.counters(), Some(ratio.pace()))
            }
            Store::Fifo { fifo, counters, .. } => (fifo.cursor(), *counters, None),
        };
        ReplayState { version: STATE_VERSION, cursor, counters, pace }
    }

    /// Figures of a replay, for display.
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
