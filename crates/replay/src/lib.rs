//! What lies between accepting a game and learning from it: the [`trajectory`] that a finished
//! game is, the [`journal`] that never loses or doubles one, the [`window`] that positions are
//! sampled from, and the [`ratio`] that keeps playing and learning in step.
//!
//! ```text
//! Trajectory ─► encode ─► Journal::append, commit ─► acknowledged
//!                                      │
//!                                      ▼ numbered, in order       restart: Journal::visit
//!                                Replay::insert  ◄─────────────── from Replay::next on
//!                                      │
//!                                      ▼ as far as the ratio allows
//!                                Replay::batch ─► training ─► checkpoint with ReplayState
//! ```
//!
//! Everything here is a plain state machine: time, randomness and the disk are passed in, and
//! there is no thread, no network, no tensor. So each part is tested alone, crash by crash and
//! byte by byte, and what checks a finished run reads the journal with the code that wrote it.

pub use disk::{Disk, FolderDisk, SegmentFile};
pub use journal::{
    Appended, Committed, Dedup, Due, Greeting, GroupCommit, Journal, JournalError, Opened, Options,
    Policy, Record, Verdict,
};
pub use ratio::{Counters, Pace, Ratio, RatioError, Settings};
pub use refusal::RefusalReason;
pub use replay::{Replay, ReplaySettings, ReplayState, SettingsError, StateError, Status};
pub use trajectory::{
    EncodedTrajectory, Move, Ply, PositionRef, RecordHeader, SearchTarget, Seat, Trajectory,
    TrajectoryError,
};
pub use window::{
    Batch, Cursor, Deal, Dealt, Draw, Fifo, FifoSettings, Growth, Item, Staleness, Window,
    WindowError, WindowSettings, surprise_weights,
};

mod bytes;
pub mod check;
pub mod disk;
pub mod journal;
pub mod ratio;
pub mod refusal;
pub mod replay;
pub mod testing;
pub mod trajectory;
pub mod window;
