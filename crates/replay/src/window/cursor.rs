//! What a checkpoint keeps of a window: a few numbers; the games are in the journal.

use serde::{Deserialize, Serialize};

use super::Dealt;

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
    /// Batches drawn since the start of the run: the place in the generator of draws.
    pub batches: u64,
    /// The deal that a queue is in the middle of; the other fields but `batches` say where it stood
    /// before. `None` between deals and in a window.
    #[serde(default)]
    pub dealt: Option<Dealt>,
}
