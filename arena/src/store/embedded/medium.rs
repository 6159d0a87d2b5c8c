//! Where a database lives: what it takes to open it, and to open it again.
//!
//! redb gives an open database up for good after one failed write, so a full disk calls for
//! opening it anew. Whether there is room again is asked before that is worth the trouble: an
//! open that follows a failed write reads the whole file.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use redb::backends::InMemoryBackend;
use redb::{Database, DatabaseError, StorageError};

use super::failed;
use crate::store::StoreError;

/// Room that there must be again before matches go on, in bytes: some clusters with their games
/// and what redb writes beside them.
const ROOM: usize = 1 << 20;

/// See the [module](self).
pub(super) trait Medium: Debug + Send + Sync {
    /// Opens the database, or creates it. Not while it is open.
    fn open(&self) -> Result<Database, StoreError>;

    /// Fails while there is no room for some more.
    fn has_room(&self) -> io::Result<()>;

    /// The folder that a person must make room in.
    fn folder(&self) -> &Path;
}

/// A file.
#[derive(Debug)]
pub(super) struct InFile(pub(super) PathBuf);

impl Medium for InFile {
    fn open(&self) -> Result<Database, StoreError> {
        let Self(path) = self;
        Database::create(path).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => StoreError::Locked { path: path.clone() },
            // Not there, not allowed, no room: no word against the file.
            DatabaseError::Storage(StorageError::Io(error))
                if error.kind() != io::ErrorKind::InvalidData =>
            {
                failed(error)
            }
            error => StoreError::NotAStore { path: path.clone(), reason: error.to_string() },
        })
    }

    fn has_room(&self) -> io::Result<()> {
        let path = self.0.with_extension("room");
        let filled = File::create(&path).and_then(|mut file| {
            file.write_all(&vec![0; ROOM])?;
            file.sync_all()
        });
        // Nothing is left of it, however it went.
        let removed = fs::remove_file(&path);
        filled.and(removed)
    }

    fn folder(&self) -> &Path {
        match self.0.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }
}

/// Memory, which has room: it is opened once.
#[derive(Debug)]
pub(super) struct InMemory;

impl Medium for InMemory {
    fn open(&self) -> Result<Database, StoreError> {
        Database::builder().create_with_backend(InMemoryBackend::new()).map_err(failed)
    }

    fn has_room(&self) -> io::Result<()> {
        Ok(())
    }

    fn folder(&self) -> &Path {
        Path::new("memory")
    }
}
