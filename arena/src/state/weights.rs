//! Reading weights, and the checkpoints whose weights cannot be read.
//!
//! A member of the pool whose file is missing or damaged is set aside, and the champion is then the
//! promotion before it. Snapshots of the pool list it as missing, and clients that have its weights
//! publish them again. Such a copy, or one that an operator puts back before a start, restores the
//! member.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ouro_net::{ContentHash, Generation};
use ouro_proto::{Checkpoint, CheckpointStatus};

use super::shared::{Shared, lock};
use crate::error::CallError;
use crate::store::{StoreError, WeightsStore};

/// The weights, and which of them cannot be read.
#[derive(Debug)]
pub(crate) struct WeightsState {
    shared: Arc<Shared>,
    store: Box<dyn WeightsStore>,
    /// The problem of each generation whose weights cannot be read.
    unreadable: Mutex<BTreeMap<Generation, String>>,
}

impl WeightsState {
    pub(super) fn new(shared: Arc<Shared>, store: Box<dyn WeightsStore>) -> Self {
        Self { shared, store, unreadable: Mutex::default() }
    }

    pub(super) fn store(&self) -> &dyn WeightsStore {
        self.store.as_ref()
    }

    /// Fails with a passing error while weights cannot be read or written.
    pub(super) fn recover(&self) -> Result<(), StoreError> {
        self.store.recover().map_err(CallError::from).or_else(|error| match error.passing() {
            Ok(passing) => Err(passing),
            // Weights that are lost are noticed when they are used.
            Err(_) => Ok(()),
        })
    }

    /// The problem of each generation whose weights cannot be read.
    pub(crate) fn unreadable(&self) -> BTreeMap<Generation, String> {
        lock(&self.unreadable).clone()
    }

    /// Compares the files with the state that an earlier process left. Members that were set aside
    /// are restored if their files are whole. The champion and the newest weights are set aside if
    /// theirs are not; the others are checked when they are used.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let checkpoints = self.shared.store.checkpoints()?;
        let newest = checkpoints.last().map(|row| row.generation);
        for row in &checkpoints {
            let is_used =
                row.status == CheckpointStatus::Champion || Some(row.generation) == newest;
            if row.status == CheckpointStatus::SetAside || is_used {
                match self.store.read(row.hash) {
                    Ok(_) => drop(self.restore(row.generation)?),
                    Err(error) if error.is_passing() => {}
                    Err(error) => drop(self.set_aside(row, &error.to_string())?),
                }
            }
        }
        Ok(())
    }

    /// Records that the weights of a checkpoint cannot be read. Returns whether this is new.
    pub(super) fn set_aside(&self, row: &Checkpoint, reason: &str) -> Result<bool, StoreError> {
        let generation = row.generation;
        // A candidate may have become a member since its weights were found unreadable, so the store
        // is called each time.
        let is_set_aside = match self.shared.store.set_aside(generation, reason, self.shared.now())
        {
            Ok(is_set_aside) => is_set_aside,
            Err(StoreError::NotInPool(_)) => false,
            Err(error) => return Err(error),
        };
        let is_new = lock(&self.unreadable).insert(generation, reason.to_owned()).is_none();
        if !is_set_aside && !is_new {
            return Ok(false);
        }
        tracing::error!(
            generation = generation.0,
            reason,
            "set aside: it does not play until its weights are back; a copy is requested"
        );
        Ok(true)
    }

    /// Puts a checkpoint back whose weights can be read. Returns whether it was set aside.
    pub(super) fn restore(&self, generation: Generation) -> Result<bool, StoreError> {
        let is_restored = match self.shared.store.restore(generation, self.shared.now()) {
            Ok(is_restored) => is_restored,
            Err(StoreError::NotInPool(_)) => false,
            Err(error) => return Err(error),
        };
        let is_known = lock(&self.unreadable).remove(&generation).is_some();
        if is_restored || is_known {
            tracing::warn!(generation = generation.0, "its weights are back: it plays again");
        }
        Ok(is_restored || is_known)
    }

    /// The checkpoint with this hash, if its file must exist.
    pub(super) fn needed(&self, hash: ContentHash) -> Result<Option<Checkpoint>, StoreError> {
        let checkpoints = self.shared.store.checkpoints()?;
        let newest = checkpoints.last().map(|row| row.hash);
        let is_needed = |row: &Checkpoint| {
            row.hash == hash && (row.status != CheckpointStatus::Rejected || Some(hash) == newest)
        };
        Ok(checkpoints.into_iter().find(is_needed))
    }
}
