//! The durable state of the arena: checkpoints, matches, games, decisions.
//!
//! Every change except of the kept games is a line of an append-only log. The line is written in
//! the same transaction as the tables that answer queries. [`replay()`] rebuilds those tables from
//! the log. [`Store`] lists the operations, [`EmbeddedStore`] keeps the rows in one file, and
//! [`WeightsFolder`] keeps the weights beside it.

mod disk;
mod embedded;
mod error;
mod interface;
mod match_index;
pub mod replay;
mod rows;
pub mod verify;
mod weights;

pub use embedded::EmbeddedStore;
#[cfg(test)]
pub(crate) use embedded::small_disk::SmallDisk;
pub use error::{SCHEMA_VERSION, StoreError};
pub use interface::Store;
pub(crate) use match_index::{MatchIndex, listed_players};
pub use replay::{ReplayError, Replayed, replay};
pub use rows::{
    Decision, GameKey, LogEntry, MatchInfo, MatchSums, Outcome, Promotion, Run, StoredCluster,
    StoredGame,
};
pub use verify::{Verified, VerifyError, verify};
pub use weights::{WeightsError, WeightsFolder};

#[cfg(test)]
mod conformance;
