//! What a checkpoint keeps of the replay: a few numbers; the games are in the journal.

use serde::{Deserialize, Serialize};

use crate::ratio::Counters;

/// The version of [`ReplayState`] that this code writes, and the newest it reads.
pub const STATE_VERSION: u32 = 1;

/// Where a window or queue stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// The oldest game held. The journal must keep records from here on:
    /// [`Journal::release_before`](crate::Journal::release_before) the least of all retained
    /// checkpoints.
    pub first: u64,
    /// One past the newest game held.
    pub next: u64,
    /// Positions inserted before the oldest game.
    pub before: u64,
    /// Positions of the oldest game that were used up; 0 in a window.
    pub used: u32,
    /// Batches drawn since the start of the run: the place in the stream of draws.
    pub batches: u64,
}

/// Everything about replay that goes into a checkpoint, as one unit with the weights that were
/// trained on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayState {
    /// [`STATE_VERSION`].
    pub version: u32,
    /// Where the window or queue stands.
    pub cursor: Cursor,
    /// What the ratio has counted. Games that the journal holds beyond [`Cursor::next`] count
    /// as inserts when they are inserted again.
    pub counters: Counters,
}

/// Why a state cannot be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// Written by a newer program.
    #[error("replay state has version {got}; this program reads version {STATE_VERSION}")]
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
        Self { version: STATE_VERSION, cursor, counters }
    }
}

impl ReplayState {
    /// Whether a journal with records `oldest..newest` can bring the state back.
    pub fn check(&self, oldest: u64, newest: u64) -> Result<(), StateError> {
        let Cursor { first, next, .. } = self.cursor;
        if self.version != STATE_VERSION {
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
