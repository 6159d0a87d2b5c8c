//! Weights by content hash, beside the store.
//!
//! [`WeightsStore`] lists the operations. [`WeightsFolder`] implements them on a folder, and with the
//! feature `object-store`, `WeightsObjects` on S3 and the like. Reading checks the hash, so damaged
//! weights are never used.

use std::fmt::Debug;
use std::io;
use std::path::PathBuf;

use ouro_net::{ContentHash, RunId};
use ouro_replay::disk::Shortage;

mod folder;
#[cfg(feature = "object-store")]
mod objects;

pub use folder::WeightsFolder;
#[cfg(feature = "object-store")]
pub use objects::WeightsObjects;

/// Name of the folder of weights in the data folder of an arena.
pub const WEIGHTS_FOLDER: &str = "weights";

const SUFFIX: &str = "safetensors";

/// Why weights cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The disk failed.
    #[error("weights file {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The message of the system.
        source: io::Error,
    },
    /// The disk is full, or too many files are open. A later write may succeed.
    #[error(
        "{} in {}: {source}; {}, and the arena resumes by itself",
        Shortage::name(source), folder.display(), Shortage::remedy(source)
    )]
    Exhausted {
        /// The folder of weights.
        folder: PathBuf,
        /// The message of the system.
        source: io::Error,
    },
    /// The object store does not answer, or refuses for the moment. The call can be repeated.
    #[error(
        "weights in {store} cannot be read or written: {problem}; the arena resumes by itself once \
         they can"
    )]
    Unreachable {
        /// The object store.
        store: String,
        /// Its error.
        problem: String,
    },
    /// The object store cannot be used as it is.
    #[error("{store} cannot be used: {problem}")]
    Unusable {
        /// The object store.
        store: String,
        /// The problem with its remedy.
        problem: String,
    },
    /// The object store holds weights of another run, which would be removed as unknown.
    #[error("{store} holds the weights of run {found}; give deploy.weights a prefix of its own")]
    OtherRun {
        /// The object store.
        store: String,
        /// The run to which it belongs.
        found: String,
    },
    /// The program knows no object stores.
    #[error(
        "this program cannot keep weights in {url}: build it with `--features object-store`, or \
         remove deploy.weights and --weights"
    )]
    NotBuilt {
        /// The configured object store.
        url: String,
    },
    /// The weights were removed or never arrived.
    #[error("weights {0} are not held here; only pool members, candidates and the newest are kept")]
    Missing(ContentHash),
    /// The stored bytes have changed.
    #[error(
        "weights file {} is damaged: its content hashes to {found}; put a copy of the file back",
        path.display()
    )]
    Damaged {
        /// The file or object.
        path: PathBuf,
        /// Hash of the bytes.
        found: ContentHash,
    },
}

impl WeightsError {
    /// Whether the same call can succeed later, without a change of the arena.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Exhausted { .. } | Self::Unreachable { .. })
    }
}

/// Where weights are kept by content hash. Calls block.
pub trait WeightsStore: Debug + Send + Sync {
    /// The place, for messages.
    fn name(&self) -> String;

    /// Stores weights durably. Existing weights are kept unless they are damaged.
    fn write(&self, hash: ContentHash, bytes: &[u8]) -> Result<(), WeightsError>;

    /// Reads weights and checks their hash.
    fn read(&self, hash: ContentHash) -> Result<Vec<u8>, WeightsError>;

    /// The hashes that name stored weights.
    fn hashes(&self) -> Result<Vec<ContentHash>, WeightsError>;

    /// Removes weights, if they are there.
    fn remove(&self, hash: ContentHash) -> Result<(), WeightsError>;

    /// Reserves the place for a run, and removes what interrupted writes left. A place that another
    /// run can reach refuses that other run. Called once, after the store has accepted the run.
    fn bind_run(&self, run: RunId) -> Result<(), WeightsError> {
        let _ = run;
        Ok(())
    }

    /// Fails with a [passing](WeightsError::is_passing) error while weights cannot be read or written.
    fn recover(&self) -> Result<(), WeightsError> {
        Ok(())
    }
}

/// The name of a file or object.
fn name_of(hash: ContentHash) -> String {
    format!("{hash}.{SUFFIX}")
}

/// The hash in the name of a file or object; `None` for any other name.
fn hash_in(name: &str) -> Option<ContentHash> {
    name.strip_suffix(&format!(".{SUFFIX}"))?.parse().ok()
}
