//! Errors of the store.

use std::io;
use std::path::PathBuf;

use ouro_net::{ContentHash, Generation};
use ouro_replay::disk::Shortage;

use crate::player_id::PlayerId;

/// The version of the stored form that this code writes, and the only one it reads.
pub const SCHEMA_VERSION: u32 = 2;

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the store open.
    #[error("store {} is in use by another process; stop that one first", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged or is not a store.
    #[error("{} is not an arena store, or is damaged ({reason}); move it away to start a new one", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// The message of the database.
        reason: String,
    },
    /// Written by another version of the program.
    #[error(
        "store has schema version {found}, this program reads version {SCHEMA_VERSION}; {}",
        if *found > SCHEMA_VERSION { "use a newer program" } else { "use an older program or another data folder" }
    )]
    Schema {
        /// Version in the store.
        found: u32,
    },
    /// The store belongs to another run.
    #[error("store holds a run of {stored}, not of {asked}; choose another data folder")]
    OtherRun {
        /// The run of the store.
        stored: String,
        /// The run that was asked for.
        asked: String,
    },
    /// The generation already has other weights.
    #[error("{generation} already has weights {stored}; publish under a higher generation")]
    GenerationTaken {
        /// The generation.
        generation: Generation,
        /// Hash of the stored weights.
        stored: ContentHash,
    },
    /// The checkpoint does not exist.
    #[error("{0} is not in the store")]
    Unknown(Generation),
    /// The candidate was already decided, and only one of the two decisions promotes it.
    #[error("{0} is already decided and no longer a candidate")]
    Decided(Generation),
    /// The match does not exist.
    #[error("match {0} is not in the store")]
    UnknownMatch(u32),
    /// The champion changed since the match.
    #[error("champion is {actual}, not {expected}; play the new champion")]
    ChampionChanged {
        /// The champion.
        actual: PlayerId,
        /// The champion that the candidate beat.
        expected: PlayerId,
    },
    /// A row cannot be parsed: damage or a bug.
    #[error("store row {0} cannot be parsed: {1}")]
    Row(&'static str, String),
    /// The disk is full, or too many files are open. The call can be repeated once there is space
    /// or a free file descriptor. A commit that failed may have been applied; repeating the call is
    /// safe in any case.
    #[error(
        "{} in {}: {source}; {}, and the arena resumes by itself",
        Shortage::name(source), folder.display(), Shortage::remedy(source)
    )]
    Exhausted {
        /// The folder of the store.
        folder: PathBuf,
        /// The message of the system.
        source: io::Error,
    },
    /// The database failed, usually because of the disk.
    #[error("store failed: {0}")]
    Database(Box<redb::Error>),
}

/// Wraps an error of the database.
pub(super) fn failed(error: impl Into<redb::Error>) -> StoreError {
    StoreError::Database(Box::new(error.into()))
}
