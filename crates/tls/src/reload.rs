//! Configurations from files that may be renewed at any time.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::error::TlsError;

/// Least time between two looks at the files.
const INTERVAL: Duration = Duration::from_secs(1);
/// Least time between two warnings about files that did not change in between.
const WARNING_INTERVAL: Duration = Duration::from_secs(30);

type Load<T> = dyn Fn() -> Result<T, TlsError> + Send + Sync;
/// Times and lengths of all files; `None` for one that is missing.
type Stamps = Vec<Option<(SystemTime, u64)>>;

/// A value that is made from files, and made again once they change. If that fails, each look tries
/// again.
pub(crate) struct Reloading<T> {
    files: Vec<PathBuf>,
    load: Box<Load<T>>,
    state: Mutex<State<T>>,
}

struct State<T> {
    value: Arc<T>,
    stamps: Stamps,
    looked: Instant,
    /// Time of the last warning; `None` if the newest files are in use.
    warned: Option<Instant>,
}

impl<T> fmt::Debug for Reloading<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloading").field("files", &self.files).finish_non_exhaustive()
    }
}

impl<T> Reloading<T> {
    /// Makes the first value, which `load` reads from `files`.
    pub(crate) fn new(
        files: Vec<PathBuf>,
        load: impl Fn() -> Result<T, TlsError> + Send + Sync + 'static,
    ) -> Result<Self, TlsError> {
        // Before the files are read: a change in between is seen at the next look.
        let stamps = stamps(&files);
        let value = Arc::new(load()?);
        let state = Mutex::new(State { value, stamps, looked: Instant::now(), warned: None });
        Ok(Self { files, load: Box::new(load), state })
    }

    /// The files.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The newest value. Looks at the files at most once per second; reads a few kilobytes then if
    /// they changed or the last try failed.
    pub(crate) fn get(&self) -> Arc<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() >= INTERVAL {
            state.looked = Instant::now();
            self.look(&mut state);
        }
        Arc::clone(&state.value)
    }

    fn look(&self, state: &mut State<T>) {
        let stamps = stamps(&self.files);
        let is_changed = stamps != state.stamps;
        // Neither permissions nor the start of a certificate's validity change the stamps, so a
        // failure is tried again without a change.
        if !is_changed && state.warned.is_none() {
            return;
        }
        state.stamps = stamps;
        match (self.load)() {
            Ok(value) => {
                state.value = Arc::new(value);
                state.warned = None;
                tracing::info!(files = ?self.files, "certificates were renewed");
            }
            Err(error) => {
                let is_recent = state.warned.is_some_and(|at| at.elapsed() < WARNING_INTERVAL);
                if is_changed || !is_recent {
                    tracing::warn!("{error}; the certificates before stay in use");
                    state.warned = Some(Instant::now());
                }
            }
        }
    }

    /// Looks at the files with the next call, however short the last look was ago.
    #[cfg(test)]
    pub(crate) fn expire(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.looked -= INTERVAL;
    }

    /// Time of the last warning; `None` if the newest files are in use.
    #[cfg(test)]
    pub(crate) fn warned(&self) -> Option<Instant> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).warned
    }
}

fn stamps(files: &[PathBuf]) -> Stamps {
    let stamp = |path: &PathBuf| {
        let file = fs::metadata(path).ok()?;
        Some((file.modified().ok()?, file.len()))
    };
    files.iter().map(stamp).collect()
}
