//! Traces of single games, sent in the OpenTelemetry protocol (OTLP).
//!
//! One game in N is traced. Whether a game is, its trace and the identifiers of its spans follow from a
//! hash of run, actor, epoch and sequence number. All processes therefore agree without a byte on
//! the wire (ADR 0021).
//!
//! Without the feature `otlp`, [`Trace`] has no value and [`trace_of`] is always `None`, so the compiler
//! removes every use of them.

// Tested without the feature too, because CI runs the tests of this crate without it.
#[cfg(any(feature = "otlp", test))]
mod losses;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "otlp")]
pub use otlp::{Time, Trace, Traces, collector, trace_of};

#[cfg(not(feature = "otlp"))]
mod off;
#[cfg(not(feature = "otlp"))]
pub use off::{Time, Trace, Traces, trace_of};

/// Whether this program can send traces.
pub const IS_BUILT: bool = cfg!(feature = "otlp");

/// The spans of a game, with the span that contains each.
pub mod span {
    /// From the first move to the acknowledgement, in the actor.
    pub const GAME: &str = "game";
    /// The moves, in the actor.
    pub const PLAY: &str = "play";
    /// From the last move until the game is sent, in the actor.
    pub const OUTBOX: &str = "outbox";
    /// From sending until the acknowledgement arrives, in the actor.
    pub const PUSH: &str = "push";
    /// From receipt to acknowledgement, in the learner.
    pub const INGEST: &str = "ingest";
    /// Decoding and the check by the rules, in the learner.
    pub const EXAMINE: &str = "examine";
    /// From the check until the game is on disk, in the learner.
    pub const JOURNAL: &str = "journal";
    /// In the replay, until a position of the game is drawn for the first time.
    pub const REPLAY: &str = "replay";
    /// The first training step that uses the game.
    pub const TRAIN: &str = "train";

    /// The span that contains a span; `None` for the root.
    pub fn parent(name: &str) -> Option<&'static str> {
        match name {
            GAME => None,
            INGEST => Some(PUSH),
            EXAMINE | JOURNAL => Some(INGEST),
            _ => Some(GAME),
        }
    }
}
