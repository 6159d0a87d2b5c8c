//! An open database that is opened again when a full disk has spoilt it.

use std::sync::{PoisonError, RwLock};

use redb::Database;

use super::medium::Medium;
use crate::store::{StoreError, is_no_space};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Connection {
    medium: Box<dyn Medium>,
    opened: RwLock<Opened>,
}

/// The database as it was opened last.
#[derive(Debug)]
struct Opened {
    /// `None` if it could not be opened again.
    database: Option<Database>,
    /// How often it was opened.
    times: u64,
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
        let opened = RwLock::new(Opened { database: Some(database), times: 1 });
        Ok(Self { medium, opened })
    }

    /// Works on the database. If that fails for want of room, the database is opened again, so
    /// that it can be read meanwhile, if there is room enough for that.
    pub(super) fn run<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (result, times) = {
            // Only whole databases are put there, so that no panic leaves half of one.
            let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
            let database = opened.database.as_ref().ok_or_else(|| {
                no_space("the store could not be opened again".to_owned(), &*self.medium)
            })?;
            (work(database), opened.times)
        };
        result.map_err(|error| {
            let error = of_room(error, &*self.medium);
            if matches!(error, StoreError::NoSpace { .. }) {
                self.open_again(times);
            }
            error
        })
    }

    /// Opens again what was opened as the `times`th and has failed, if that can be done now.
    fn open_again(&self, times: u64) {
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have seen the same failure.
        if opened.times == times {
            // Closed first: a file is open once.
            opened.database = None;
            opened.database = self.medium.open().ok();
            opened.times += 1;
        }
    }

    /// Whether there is room again; the database is open if there is.
    pub(super) fn mend(&self) -> Result<(), StoreError> {
        // Nobody else tries at the same time, for what is tried with is one file.
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        self.medium.has_room().map_err(|error| match error {
            error if is_no_space(&error) => no_space(error.to_string(), &*self.medium),
            error => super::failed(error),
        })?;
        if opened.database.is_none() {
            let database = self.medium.open().map_err(|error| of_room(error, &*self.medium))?;
            *opened = Opened { database: Some(database), times: opened.times + 1 };
        }
        Ok(())
    }
}

/// Tells a want of room from other failures of a database.
pub(super) fn of_room(error: StoreError, medium: &dyn Medium) -> StoreError {
    let StoreError::Database(failure) = &error else { return error };
    match &**failure {
        redb::Error::Io(source) if is_no_space(source) => no_space(source.to_string(), medium),
        // Why, was told to whoever was first. What is not for want of room fails again once the
        // database was opened again.
        redb::Error::PreviousIo => no_space("a write before this one failed".to_owned(), medium),
        _ => error,
    }
}

fn no_space(reason: String, medium: &dyn Medium) -> StoreError {
    StoreError::NoSpace { folder: medium.folder().to_owned(), reason }
}
