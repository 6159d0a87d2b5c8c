//! An open database that is opened again when a full disk has spoilt it.

use std::io;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use redb::Database;

use super::failed;
use super::medium::Medium;
use crate::store::{StoreError, is_no_space};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Connection {
    medium: Box<dyn Medium>,
    opened: RwLock<Opened>,
}

/// What the system said when a database failed first: afterwards the database says only that
/// something failed before. Each opening has its own.
type First = Arc<OnceLock<(io::ErrorKind, String)>>;

/// The database as it was opened last.
#[derive(Debug)]
struct Opened {
    /// `None` if it could not be opened again.
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
        let database = prepared.map_err(|error| of_room(error, &*medium))?;
        let opened = RwLock::new(Opened::new(Some(database)));
        Ok(Self { medium, opened })
    }

    /// Works on the database. If that fails for want of room, the database is opened again, so
    /// that it can be read meanwhile, if there is room enough for that.
    pub(super) fn run<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (error, first) = {
            // Only whole databases are put there, so that no panic leaves half of one.
            let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
            let database = opened.database.as_ref().ok_or_else(|| {
                no_space("the store could not be opened again".to_owned(), &*self.medium)
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
            Some(redb::Error::Io(_) | redb::Error::PreviousIo) => self.broken(&first),
            _ => error,
        })
    }

    /// Says why what failed with `first` is broken, and opens it again if that may help.
    fn broken(&self, first: &First) -> StoreError {
        // Nobody works on it any more, so that whoever failed first has said so.
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        let error = match first.get() {
            Some((kind, words)) => failed(io::Error::new(*kind, words.clone())),
            // It failed where nobody asked, such as at the end of a transaction that was given
            // up: what is not for want of room fails again once it was opened again.
            None => no_space("an earlier write failed".to_owned(), &*self.medium),
        };
        let error = of_room(error, &*self.medium);
        let is_open = Arc::ptr_eq(&opened.first, first);
        // Somebody else may have seen the same failure.
        if is_open && matches!(error, StoreError::NoSpace { .. }) {
            // Closed first: a file is open once.
            opened.database = None;
            *opened = Opened::new(self.medium.open().ok());
        }
        error
    }

    /// Whether there is room again; the database is open if there is.
    pub(super) fn mend(&self) -> Result<(), StoreError> {
        // Nobody else tries at the same time, for what is tried with is one file.
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        self.medium.has_room().map_err(|error| match error {
            error if is_no_space(&error) => no_space(error.to_string(), &*self.medium),
            error => failed(error),
        })?;
        if opened.database.is_none() {
            let database = self.medium.open().map_err(|error| of_room(error, &*self.medium))?;
            *opened = Opened::new(Some(database));
        }
        Ok(())
    }
}

/// What the database says, if it is the database that failed.
fn failure(error: &StoreError) -> Option<&redb::Error> {
    match error {
        StoreError::Database(failure) => Some(failure),
        _ => None,
    }
}

/// Tells a want of room from other failures of a database.
pub(super) fn of_room(error: StoreError, medium: &dyn Medium) -> StoreError {
    match failure(&error) {
        Some(redb::Error::Io(source)) if is_no_space(source) => {
            no_space(source.to_string(), medium)
        }
        _ => error,
    }
}

fn no_space(reason: String, medium: &dyn Medium) -> StoreError {
    StoreError::NoSpace { folder: medium.folder().to_owned(), reason }
}
