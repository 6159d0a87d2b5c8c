//! A database connection that is reopened after a full disk made it unusable.

use std::io;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use ouro_replay::disk::is_exhausted;
use redb::Database;

use super::medium::Medium;
use crate::store::error::{StoreError, failed};

/// A connection to one database. Threads share it.
#[derive(Debug)]
pub(super) struct Connection {
    medium: Box<dyn Medium>,
    opened: RwLock<Opened>,
}

/// The first I/O error of a database since it was opened. Later errors only report that an earlier
/// write failed.
type First = Arc<OnceLock<(io::ErrorKind, String)>>;

/// The database since it was last opened.
#[derive(Debug)]
struct Opened {
    /// `None` if the database could not be reopened.
    database: Option<Database>,
    first: First,
}

impl Opened {
    fn new(database: Option<Database>) -> Self {
        Self { database, first: First::default() }
    }
}

impl Connection {
    pub(super) fn open(
        medium: Box<dyn Medium>,
        prepare: impl FnOnce(&Database) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        let prepared = medium.open().and_then(|database| {
            prepare(&database)?;
            Ok(database)
        });
        let database = prepared.map_err(|error| or_exhausted(error, &*medium))?;
        let opened = RwLock::new(Opened::new(Some(database)));
        Ok(Self { medium, opened })
    }

    /// Runs `work` on the database. If `work` fails because the disk is full, the connection tries
    /// to reopen the database, so that it can be read while the disk is full.
    pub(super) fn run<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (error, first) = {
            // The value is only replaced as a whole, so a panic cannot leave it half changed.
            let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
            let database = opened.database.as_ref().ok_or_else(|| {
                exhausted(full("the store could not be opened again"), &*self.medium)
            })?;
            let error = match work(database) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            if let Some(redb::Error::Io(source)) = failure(&error) {
                opened.first.get_or_init(|| (source.kind(), source.to_string()));
            }
            (error, opened.first.clone())
        };
        Err(match failure(&error) {
            Some(redb::Error::Io(_) | redb::Error::PreviousIo) => self.reopen(&first),
            _ => error,
        })
    }

    /// Returns the error of a database that failed with `first`, and reopens it if the disk is
    /// full.
    fn reopen(&self, first: &First) -> StoreError {
        // The write lock is granted after all readers have finished, so the first failure is
        // recorded.
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        let error = match first.get() {
            Some((kind, words)) => failed(io::Error::new(*kind, words.clone())),
            // The database failed where no error is returned, such as in the drop of a transaction.
            // If the cause is not a full disk, the next operation after reopening fails again.
            None => exhausted(full("an earlier write failed"), &*self.medium),
        };
        let error = or_exhausted(error, &*self.medium);
        let is_open = Arc::ptr_eq(&opened.first, first);
        // Another thread may have handled the same failure.
        if is_open && matches!(error, StoreError::Exhausted { .. }) {
            // The database is closed first, because a file can be open only once.
            opened.database = None;
            *opened = Opened::new(self.medium.open().ok());
        }
        error
    }

    /// Checks that the disk has space again, and reopens the database if it is not open.
    pub(super) fn recover(&self) -> Result<(), StoreError> {
        // The lock also keeps two threads from probing with the same file.
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        self.medium.has_room().map_err(|error| match error {
            error if is_exhausted(&error) => exhausted(error, &*self.medium),
            error => failed(error),
        })?;
        if opened.database.is_none() {
            let database =
                self.medium.open().map_err(|error| or_exhausted(error, &*self.medium))?;
            *opened = Opened::new(Some(database));
        }
        Ok(())
    }
}

/// The error of the database, if the database failed.
fn failure(error: &StoreError) -> Option<&redb::Error> {
    match error {
        StoreError::Database(failure) => Some(failure),
        _ => None,
    }
}

/// Turns a failure of the database because of a full disk into [`StoreError::Exhausted`].
pub(super) fn or_exhausted(error: StoreError, medium: &dyn Medium) -> StoreError {
    match failure(&error) {
        Some(redb::Error::Io(source)) if is_exhausted(source) => exhausted(copy(source), medium),
        _ => error,
    }
}

fn exhausted(source: io::Error, medium: &dyn Medium) -> StoreError {
    StoreError::Exhausted { folder: medium.folder().to_owned(), source }
}

/// Copies an I/O error, which cannot be cloned.
fn copy(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// The error of a full disk whose original error is not available.
fn full(words: &str) -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, words)
}
