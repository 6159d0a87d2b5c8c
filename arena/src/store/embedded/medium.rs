//! Where a database is kept, and how it is opened.
//!
//! After one failed write redb refuses all further work on an open database, so the database must
//! be reopened. The first attempt follows the failure at once. Later attempts check for free space
//! first, because opening after a failed write reads the whole file.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use redb::backends::InMemoryBackend;
use redb::{Database, DatabaseError, StorageError};

use crate::store::error::{StoreError, failed};

/// Free bytes required before matches resume: some clusters with their games, and the pages that
/// redb writes beside them.
const ROOM: usize = 1 << 20;

/// A place for one database.
pub(super) trait Medium: Debug + Send + Sync {
    /// Opens the database, or creates it. Fails while it is open.
    fn open(&self) -> Result<Database, StoreError>;

    /// Fails while the disk is full.
    fn has_room(&self) -> io::Result<()>;

    /// The folder in which an operator must free space.
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
            // The folder is missing, permission is denied or the disk is full. The file itself is
            // intact.
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
        // The probe file is removed even if writing it failed.
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

/// Memory. It never becomes full, so the database is opened once.
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
