//! What the arena remembers: checkpoints, matches, games, decisions.
//!
//! Everything that happens is a line of an append-only log, written in the same step as the
//! tables that answer questions about it; [`replay()`] makes those tables anew from the log.
//!
//! A [`Store`] is the single writer's memory. Each method is one atomic, durable step: when it
//! returns, a `kill -9` loses nothing of it. Each is idempotent, so that a step whose answer
//! was lost can be repeated. Methods block; they are not called on the async runtime.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ouro_net::{ContentHash, Generation};
use ouro_proto::Checkpoint;

use crate::player_id::PlayerId;

mod embedded;
pub mod replay;
mod rows;
mod weights;

pub use embedded::EmbeddedStore;
#[cfg(test)]
pub(crate) use embedded::small_disk::SmallDisk;
pub use replay::{ReplayError, Replayed, replay};
pub use rows::{
    Decision, Entry, GameKey, MatchInfo, MatchSums, Outcome, Played, Promotion, Run, StoredGame,
};
pub use weights::{WeightsError, WeightsFolder};

/// The version of the stored form that this code writes, and the only one it reads.
pub const SCHEMA_VERSION: u32 = 2;

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
    /// Written by another version of the program.
    #[error(
        "store has schema version {found}, this program reads version {SCHEMA_VERSION}; {}",
        if *found > SCHEMA_VERSION { "use a newer program" } else { "use an older program, or another data folder to start anew" }
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
    /// No such match.
    #[error("match {0} is not in the store")]
    UnknownMatch(u32),
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
    /// There is no room on the disk. Nothing has changed; once there is room, the same call does.
    #[error("no space in {}: {reason}; make room there, and it goes on by itself", folder.display())]
    NoSpace {
        /// The folder of the store.
        folder: PathBuf,
        /// What the system says.
        reason: String,
    },
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

    /// Decides about a candidate, in one step with its promotion if it is promoted. A decision
    /// about a generation that was decided about in the same sense changes nothing; one in the
    /// other sense is refused, and so is a promotion over somebody who is not the champion.
    fn decide(&self, decision: &Decision) -> Result<(), StoreError>;

    /// Every decision, by generation.
    fn decisions(&self) -> Result<Vec<Decision>, StoreError>;

    /// Every promotion, oldest first.
    fn promotions(&self) -> Result<Vec<Promotion>, StoreError>;

    /// The last promoted player; random before the first promotion.
    fn champion(&self) -> Result<PlayerId, StoreError>;

    /// Begins a match, or finds it if it has begun. `info.number` is ignored: the store counts.
    fn open_match(&self, info: &MatchInfo) -> Result<MatchInfo, StoreError>;

    /// Every match with what its games add up to, by number.
    fn matches(&self) -> Result<Vec<(MatchInfo, MatchSums)>, StoreError>;

    /// Adds results of a match, and games to be kept; clusters that are there already do not
    /// count again. Returns how many were new.
    fn record(
        &self,
        number: u32,
        results: &[Played],
        games: &[(GameKey, StoredGame)],
    ) -> Result<u32, StoreError>;

    /// The results of a match, by cluster.
    fn results(&self, number: u32) -> Result<Vec<Played>, StoreError>;

    /// A game, if it is kept.
    fn game(&self, key: GameKey) -> Result<Option<StoredGame>, StoreError>;

    /// The games of a match that are kept.
    fn game_keys(&self, number: u32) -> Result<Vec<GameKey>, StoreError>;

    /// Removes every game that `keep` does not want; how many those were. Results stay.
    fn prune_games(&self, keep: &dyn Fn(GameKey) -> bool) -> Result<u32, StoreError>;

    /// Makes the store usable again after [`StoreError::NoSpace`], or says that there still is no
    /// room.
    fn mend(&self) -> Result<(), StoreError>;

    /// Lines of the log from number `first` on, at most `limit`.
    fn log(&self, first: u64, limit: usize) -> Result<Vec<Entry>, StoreError>;
}

/// Whether an error only says that there is no room.
fn is_no_space(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Makes the names in a folder durable. Windows cannot open folders; there the rename itself
/// has to do.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod conformance;
