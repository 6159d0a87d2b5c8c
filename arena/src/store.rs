//! The durable state of the arena: checkpoints, matches, games, decisions.
//!
//! Every change except of the kept games is an entry of an append-only log, and the tables that
//! answer queries follow from the log. [`replay()`] checks that its decisions follow from its games.
//! [`Store`] lists the operations, [`LoggedStore`] implements them on a [`Backend`] that keeps the
//! entries, and [`EmbeddedStore`] is the one in files. [`WeightsStore`] keeps the weights.

mod backup;
mod copy;
mod embedded;
mod error;
mod interface;
mod kept_games;
mod line_file;
mod logged;
mod match_index;
mod redis;
mod repair;
pub mod replay;
mod rows;
mod tables;
pub mod verify;
mod weights;

pub use backup::{BackupError, copy_arena};
pub use copy::{Copied, CopyError, copy, copy_weights};
pub use embedded::{EmbeddedStore, Files, LOG_FILE};
pub use error::{SCHEMA_VERSION, StoreError};
pub use interface::Store;
pub use logged::{Backend, LoggedStore};
pub(crate) use match_index::{MatchIndex, listed_players};
pub(crate) use redis::{Connection, WRITER, key};
pub use redis::{RedisAddress, RedisLog, RedisStore, RedisTls, ServerReport};
pub use repair::{Repair, repair};
pub use replay::{ReplayError, Replayed, replay};
pub use rows::{
    Decision, GameKey, LogEntry, MatchInfo, MatchSums, Outcome, Promotion, Run, RunStarted,
    StoredCluster, StoredGame,
};
pub use verify::{Verified, VerifyError, verify};
#[cfg(feature = "object-store")]
pub use weights::WeightsObjects;
pub use weights::{WEIGHTS_FOLDER, WeightsError, WeightsFolder, WeightsStore};

#[cfg(test)]
mod conformance;
