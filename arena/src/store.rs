//! What the arena remembers: checkpoints, results, promotions.
//!
//! A [`Store`] is the single writer's memory. Each method is one atomic, durable step: when it
//! returns, a `kill -9` loses nothing of it. Each is idempotent, so that a step whose answer
//! was lost can be repeated. Methods block; they are not called on the async runtime.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ouro_game::GameConfig;
use ouro_proto::{Checkpoint, ContentHash, Generation};
use serde::{Deserialize, Serialize};

use crate::gate::{PairResult, Score};
use crate::player_id::{MatchId, PlayerId};

mod embedded;
mod weights;

pub use embedded::EmbeddedStore;
pub use weights::{WeightsError, WeightsFolder};

/// The version of the stored form that this code writes, and the newest it reads.
pub const SCHEMA_VERSION: u32 = 1;

/// What must not change during the life of a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The game that everybody plays.
    pub game: GameConfig,
    /// Seed of all games.
    pub seed: u64,
}

/// A candidate that passed the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promotion {
    /// The new champion.
    pub generation: Generation,
    /// The champion it beat.
    pub beat: PlayerId,
    /// Its score over the games that counted.
    pub score: Score,
    /// Unix time, in seconds.
    pub promoted_at: f64,
}

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has it open.
    #[error("store {} is in use by another process; stop that one first", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged, or is something else.
    #[error("{} is not an arena store, or is damaged ({reason}); move it away to start anew", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What the database says.
        reason: String,
    },
    /// Written by a newer program.
    #[error(
        "store has schema version {found}; this program reads up to {SCHEMA_VERSION}, so use a newer one"
    )]
    Schema {
        /// Version in the store.
        found: u32,
    },
    /// The store belongs to another run.
    #[error("store holds a run of {stored}, not of {asked}; choose another data folder")]
    OtherRun {
        /// What the store holds.
        stored: String,
        /// What was asked for.
        asked: String,
    },
    /// A generation has one set of weights for ever.
    #[error("{generation} is taken by weights {stored}; publish under a higher generation")]
    GenerationTaken {
        /// The generation.
        generation: Generation,
        /// Hash of the weights that have it.
        stored: ContentHash,
    },
    /// No such checkpoint.
    #[error("{0} is not in the store")]
    Unknown(Generation),
    /// The checkpoint was decided before, in another way.
    #[error("{0} is no candidate any more")]
    Decided(Generation),
    /// The champion is not the one that was beaten.
    #[error("champion is {actual}, not {expected}; play the new one")]
    ChampionChanged {
        /// The champion.
        actual: PlayerId,
        /// The one that was beaten.
        expected: PlayerId,
    },
    /// A row does not read: damage, or a bug.
    #[error("store row {0} does not read: {1}")]
    Row(&'static str, String),
    /// The database failed: most often the disk.
    #[error("store failed: {0}")]
    Database(Box<redb::Error>),
}

/// The arena's memory. See the [module](self).
pub trait Store: Debug + Send + Sync {
    /// Binds an empty store to a run; refuses a store of another run.
    fn bind_run(&self, run: &Run) -> Result<(), StoreError>;

    /// Adds a checkpoint and returns it as stored. If its weights are there already under the
    /// same generation, nothing changes.
    fn add_checkpoint(&self, checkpoint: &Checkpoint) -> Result<Checkpoint, StoreError>;

    /// Every checkpoint, by generation.
    fn checkpoints(&self) -> Result<Vec<Checkpoint>, StoreError>;

    /// Turns a candidate down; one turned down before stays so.
    fn reject(&self, generation: Generation) -> Result<(), StoreError>;

    /// Makes a candidate champion, in one step with the log of promotions. Refused unless the
    /// champion is the one it beat.
    fn promote(&self, promotion: &Promotion) -> Result<(), StoreError>;

    /// Every promotion, oldest first.
    fn promotions(&self) -> Result<Vec<Promotion>, StoreError>;

    /// The last promoted player; random before the first promotion.
    fn champion(&self) -> Result<PlayerId, StoreError>;

    /// Adds results of a match; pairs that are there already do not count again. Returns how
    /// many were new.
    fn record(&self, id: MatchId, results: &[PairResult]) -> Result<u32, StoreError>;

    /// The results of a match, by pair.
    fn results(&self, id: MatchId) -> Result<Vec<PairResult>, StoreError>;

    /// The score of every match so far.
    fn scores(&self) -> Result<Vec<(MatchId, Score)>, StoreError>;
}

/// Makes the names in a folder durable. Windows cannot open folders; there the rename itself
/// has to do.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod conformance;
