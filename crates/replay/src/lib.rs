//! Storage and sampling of finished games.
//!
//! A finished game is a [`trajectory`]. The [`intake`] checks received ones. The [`journal`] stores each one durably and only once.
//! The [`window`] samples their positions, and the [`ratio`] limits playing and learning to the
//! same pace.
//!
//! ```text
//! Trajectory ─► encode ─► Journal::append, commit ─► acknowledged
//!                                      │
//!                                      ▼ numbered, in order       restart: Journal::visit
//!                                Replay::insert  ◄─────────────── from Replay::next on
//!                                      │
//!                                      ▼ as far as the ratio allows
//!                                Replay::batch ─► training ─► training state with ReplayState
//! ```
//!
//! Every part is a plain state machine without threads, network or tensors; time, randomness and
//! the disk are passed in. Each part can therefore be tested alone, for every crash and every
//! damaged byte. The [`check`] of a finished run reads the journal with the same code.

pub use disk::{Disk, FolderDisk, FolderLock, SegmentFile};
pub use intake::{AcceptedGame, Intake, TrainedMoves};
pub use journal::{
    Appended, Committed, Dedup, Due, Greeting, GroupCommit, Journal, JournalError, Opened, Options,
    Policy, Purge, Record, RecordCount, Verdict,
};
pub use ratio::{Counters, Pace, Ratio, RatioError, Settings};
pub use refusal::{Refusal, RefusalReason};
pub use replay::{Replay, ReplaySettings, ReplayState, SettingsError, StateError, Status};
pub use trajectory::{
    EncodedTrajectory, GameSummary, Move, Ply, PositionRef, RecordHeader, SearchTarget, Seat,
    Trajectory, TrajectoryError,
};
pub use window::{
    Batch, Cursor, Deal, Dealt, Draw, Fifo, FifoSettings, Growth, Item, Staleness, Window,
    WindowError, WindowSettings, surprise_weights,
};

mod bytes;
pub mod check;
pub mod disk;
pub mod intake;
pub mod journal;
pub mod ratio;
pub mod refusal;
pub mod replay;
pub mod testing;
pub mod trajectory;
pub mod window;
