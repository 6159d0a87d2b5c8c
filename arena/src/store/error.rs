//! Errors of the store.

use std::io;

use ouro_net::{ContentHash, Generation};
use ouro_replay::disk::{Shortage, is_exhausted};

use crate::player_id::PlayerId;

/// The version of the stored form that this code writes, and the only one it reads.
pub const SCHEMA_VERSION: u32 = 3;

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the store open.
    #[error("{path} is in use by another process; stop that one first")]
    Locked {
        /// The folder.
        path: String,
    },
    /// A file operation failed.
    #[error("cannot {action} {path}: {source}; check the path, its permissions and the disk")]
    Io {
        /// The failed action.
        action: &'static str,
        /// The file or folder.
        path: String,
        /// The message of the system.
        source: io::Error,
    },
    /// The bytes of an entry have changed.
    #[error(
        "{path} is damaged at entry {entry}, byte {offset}; put a copy of the file back, or run \
         `ouro repair` to keep all other entries"
    )]
    Damaged {
        /// The file.
        path: String,
        /// Number of the first damaged entry.
        entry: u64,
        /// Offset of the entry, in bytes.
        offset: u64,
    },
    /// Entry 0 is damaged, and nothing else names the run.
    #[error(
        "{path} is damaged at entry 0, which names the run, and nothing else names it; put a copy of \
         the file back"
    )]
    Nameless {
        /// The file.
        path: String,
    },
    /// An intact entry is not of this program's form, or contradicts the entries before it.
    #[error(
        "entry {entry} of {path} is not valid: {problem}; put a copy of the file back, or use the \
         program that wrote it"
    )]
    Contradiction {
        /// The file.
        path: String,
        /// Number of the entry.
        entry: u64,
        /// The problem.
        problem: String,
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
    /// A checkpoint is not a member of the pool, so it can be neither set aside nor restored.
    #[error("{0} is not a member of the pool")]
    NotInPool(Generation),
    /// The server of the store cannot be reached, or takes no writes for the moment. The call can be
    /// repeated.
    #[error(
        "{store} cannot be read or written: {problem}; the arena resumes by itself once it can"
    )]
    Unreachable {
        /// The server.
        store: String,
        /// Its error.
        problem: String,
    },
    /// The server of the store cannot be used as it is.
    #[error("{store} cannot be used: {problem}")]
    Server {
        /// The server.
        store: String,
        /// The problem with its remedy, or the error of the server.
        problem: String,
    },
    /// Another arena has opened the store since.
    #[error("another arena has taken over {store}; run one arena for a run")]
    Fenced {
        /// The log.
        store: String,
    },
    /// An entry on a server has changed.
    #[error("entry {entry} of {store} is damaged; restore the server from a backup")]
    DamagedEntry {
        /// The log.
        store: String,
        /// Number of the entry.
        entry: u64,
    },
    /// A server has lost an entry that it had acknowledged.
    #[error(
        "{store} lacks entry {entry}, which this arena has stored: the server has lost results; \
         restore it from a backup{}",
        or_remove(path)
    )]
    LostEntry {
        /// The log.
        store: String,
        /// Number of the last entry that this arena has stored.
        entry: u64,
        /// Path of `store.known`; empty if the store was opened without the folder of an arena.
        path: String,
    },
    /// The disk is full, or too many files are open. The call can be repeated once there is space
    /// or a free file descriptor.
    #[error(
        "{} for {path}: {source}; {}, and the arena resumes by itself",
        Shortage::name(source),
        Shortage::remedy(source)
    )]
    Exhausted {
        /// The file.
        path: String,
        /// The message of the system.
        source: io::Error,
    },
}

impl StoreError {
    /// Whether the same call can succeed later, without a change of the arena.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Exhausted { .. } | Self::Unreachable { .. })
    }

    /// Whether this arena must end: it is no longer the writer, or its tables hold entries that the log
    /// lacks.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Fenced { .. } | Self::LostEntry { .. })
    }
}

/// The second remedy for a lost entry: to remove `store.known`, if the store has that file.
fn or_remove(path: &str) -> String {
    match path {
        "" => String::new(),
        path => format!(", or remove {path} to continue without them"),
    }
}

/// Wraps the error of a file operation.
pub(super) fn io_error(action: &'static str, path: &str) -> impl Fn(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| match is_exhausted(&source) {
        true => StoreError::Exhausted { path: path.clone(), source },
        false => StoreError::Io { action, path: path.clone(), source },
    }
}
