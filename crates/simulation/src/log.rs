//! The events of a simulation, with their hash.

use std::sync::{Arc, Mutex, PoisonError};

use crate::determinism::now;

/// Adds bytes to a hash (FNV-1a).
pub(crate) fn fold(hash: u64, bytes: &[u8]) -> u64 {
    let basis = if hash == 0 { 0xcbf2_9ce4_8422_2325 } else { hash };
    bytes.iter().fold(basis, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// The events so far. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// Notes an event that happens now.
    pub(crate) fn note(&self, event: &str) {
        let line = format!("{:8.2} s  {event}", now().as_secs_f64());
        tracing::info!("{line}");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// All events with their times.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
