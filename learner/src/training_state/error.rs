//! Errors of reading and writing training states.

use std::io;
use std::path::{Path, PathBuf};

use ouro_replay::disk::is_exhausted;

/// Version of the manifest. The error for another version names both versions.
pub(super) const VERSION: u32 = 3;

/// Why a training state cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TrainingStateError {
    /// The file system failed.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file is missing, cut short or changed.
    #[error("{path}: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The defect.
        what: String,
    },
    /// Another version of the program wrote the state.
    #[error(
        "{path}: version is {version}; this program reads {VERSION}; resume with the version that wrote it, or choose another run folder"
    )]
    OtherVersion {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// Training states exist, but none is whole, and none is of another version.
    #[error(
        "{path}: none of {count} training states is whole (the newest: {newest}); restore one from a backup, or run `ouro repair` to continue from the newest weights"
    )]
    NoneWhole {
        /// The folder of training states.
        path: PathBuf,
        /// Number of states in the folder.
        count: usize,
        /// The defect of the newest state.
        newest: String,
    },
}

impl TrainingStateError {
    /// Whether the disk is full or too many files are open. No partly written state is visible then, and the same call may
    /// succeed later.
    pub fn is_exhausted(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_exhausted(source))
    }

    pub(super) fn damaged(path: &Path, what: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.to_string() }
    }
}
