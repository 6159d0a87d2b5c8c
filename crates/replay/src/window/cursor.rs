//! The position of a window or queue in the journal, as a training state keeps it.
//!
//! The cursor is a few numbers; the games themselves are in the journal.

use serde::{Deserialize, Serialize};

use super::deal::Dealt;

/// Position of a window or queue in the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// The oldest game held. The journal must keep all records from here on. Call
    /// [`Journal::release_before`](crate::Journal::release_before) with the smallest `first` of
    /// all kept training states.
    pub first: u64,
    /// One past the newest game held.
    pub next: u64,
    /// Positions inserted before the oldest game.
    pub before: u64,
    /// Used positions of the oldest game; 0 in a window.
    pub used: u32,
    /// Batches drawn since the start of the run. The count keys the random draws of a batch.
    pub batches: u64,
    /// The unfinished deal of a queue; `None` between deals and in a window. During a deal the
    /// other fields except `next` and `batches` describe the queue before it.
    #[serde(default)]
    pub dealt: Option<Dealt>,
}
