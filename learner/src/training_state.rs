//! Saved training states: everything a run needs to resume, written as one unit.
//!
//! ```text
//! <directory>/training-states/step-000000001200/
//!     weights.safetensors     the weights as published
//!     training.safetensors    the network in training, its optimiser, its weight average
//!     state.json              the algorithm and the position in the replay
//!     manifest.json           SHA-256 and size of each file above; written last
//! ```
//!
//! A state is written under a temporary name and every file is synced. One rename then makes the
//! state visible, and the directory is synced. A reader therefore finds either the whole state or
//! none, even if the writer is killed. [`StateStore::load`] verifies every byte and returns the
//! newest whole state.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ouro_net::Generation;

mod error;
mod files;
mod fit;
mod set_aside;
mod state;
mod trainer_file;
mod verify;

use error::VERSION;
use files::{
    FOLDER, FileEntry, MANIFEST, Manifest, PREFIX, STATE, TEMPORARY, TRAINING, WEIGHTS, at,
    manifest, names, read, remove_if_there, states, sync_directory, write_synced,
};

pub use error::TrainingStateError;
pub(crate) use files::{FOLDER as STATES_FOLDER, PREFIX as STATE_PREFIX, replace_file};
pub use fit::UnfitState;
pub use set_aside::{ResumeError, StoppedLearner};
pub(crate) use state::{RunState, TrainingState};
pub use verify::{FoundState, StoredState, training_states};
pub(crate) use verify::{find_weights, newest_generation};

/// The saved training states of one run. The learner is the only writer.
#[derive(Clone, Debug)]
pub(crate) struct StateStore {
    root: PathBuf,
    /// Number of states to keep.
    kept: usize,
    /// Names of damaged states. They are removed once a newer state is whole: until then their
    /// manifest is the only record of the generation that was lost with them.
    damaged: Vec<String>,
}

/// Result of [`StateStore::load`].
#[derive(Debug)]
pub(crate) struct LoadedState {
    /// The newest whole state; `None` in a new run.
    pub newest: Option<TrainingState>,
    /// One error for each newer state that was skipped.
    pub skipped: Vec<TrainingStateError>,
    /// The newest generation of the states that were skipped or set aside. Its weights may have been
    /// published.
    pub lost_generation: Option<Generation>,
}

impl StateStore {
    /// Opens or creates the store of the run in `directory`, which keeps the newest `kept` states.
    /// Removes temporary folders that a killed writer left.
    pub(crate) fn open(directory: &Path, kept: usize) -> Result<Self, TrainingStateError> {
        let root = directory.join(FOLDER);
        fs::create_dir_all(&root).map_err(at(&root))?;
        let store = Self { root, kept, damaged: Vec::new() };
        let leftovers = names(&store.root, &format!("{TEMPORARY}{PREFIX}"))?;
        leftovers.iter().try_for_each(|name| remove_if_there(&store.root.join(name)))?;
        Ok(store)
    }

    /// Writes a state durably, then removes the oldest beyond the number to keep. A call that failed
    /// may be repeated: a whole state with the same files is kept.
    pub(crate) fn save(
        &mut self,
        training_state: &TrainingState,
    ) -> Result<(), TrainingStateError> {
        let name = self.write(training_state)?;
        // Also for a state that is kept, because the call that wrote it may have failed here.
        sync_directory(&self.root)?;
        self.damaged.retain(|damaged| *damaged != name);
        self.prune();
        Ok(())
    }

    /// Writes a state, unless it is there already. Returns its name.
    fn write(&self, training_state: &TrainingState) -> Result<String, TrainingStateError> {
        let TrainingState { weights, trainer, run } = training_state;
        let meta = weights.meta();
        let name = format!("{PREFIX}{:012}", meta.step);
        let (temporary, path) =
            (self.root.join(format!("{TEMPORARY}{name}")), self.root.join(&name));
        let run = serde_json::to_vec_pretty(run)
            .map_err(|error| TrainingStateError::damaged(&path.join(STATE), error))?;
        let contents = [
            (WEIGHTS, weights.to_safetensors()),
            (TRAINING, trainer_file::to_bytes(trainer, weights.spec())),
            (STATE, run),
        ];
        let entry = |(name, bytes): &(&str, Vec<u8>)| ((*name).to_owned(), FileEntry::of(bytes));
        let files = contents.iter().map(entry).collect();
        let manifest =
            Manifest { version: VERSION, step: meta.step, generation: meta.generation, files };
        if manifest.is_at(&path)? {
            return Ok(name);
        }
        // The load skipped this state after an I/O error or for its version, so it may be whole.
        if path.exists() && !self.damaged.contains(&name) {
            set_aside::set_aside(&self.root, std::iter::once(path.as_path()))?;
        }
        remove_if_there(&temporary)?;
        fs::create_dir(&temporary).map_err(at(&temporary))?;
        for (name, bytes) in &contents {
            write_synced(&temporary.join(name), bytes)?;
        }
        let manifest = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| TrainingStateError::damaged(&path.join(MANIFEST), error))?;
        write_synced(&temporary.join(MANIFEST), &manifest)?;
        sync_directory(&temporary)?;
        // A state of this step that is still there is damaged.
        remove_if_there(&path)?;
        fs::rename(&temporary, &path).map_err(at(&path))?;
        Ok(name)
    }

    /// Loads the newest whole state. Fails if states exist but none can be read.
    pub(crate) fn load(&mut self) -> Result<LoadedState, TrainingStateError> {
        let names = self.states()?;
        let mut skipped = Vec::new();
        let mut lost_generation = set_aside::newest_set_aside(&self.root)?;
        for name in names.iter().rev() {
            let path = self.root.join(name);
            match read(&path) {
                Ok(state) => {
                    return Ok(LoadedState { newest: Some(state), skipped, lost_generation });
                }
                Err(error) => {
                    // After an I/O error, or with another version, the state may be whole.
                    if matches!(error, TrainingStateError::Damaged { .. }) {
                        self.damaged.push(name.clone());
                    }
                    skipped.push(error);
                }
            }
            let generation = manifest(&path).ok().map(|manifest| manifest.generation);
            lost_generation = lost_generation.max(generation);
        }
        let Some(newest) = skipped.first() else {
            return Ok(LoadedState { newest: None, skipped, lost_generation });
        };
        let (path, count, newest) = (self.root.clone(), names.len(), newest.to_string());
        // A state of another version needs no backup: the version that wrote it can resume.
        let others =
            |error: &TrainingStateError| matches!(error, TrainingStateError::OtherVersion { .. });
        let other = skipped.into_iter().find(others);
        Err(other.unwrap_or(TrainingStateError::NoneWhole { path, count, newest }))
    }

    /// Names of the states, oldest generation first.
    fn states(&self) -> Result<Vec<String>, TrainingStateError> {
        states(&self.root)
    }

    /// Removes damaged states and the oldest beyond the number to keep. What cannot be removed is
    /// logged and stays until the next call, because the newest state is safe without it.
    fn prune(&mut self) {
        let damaged = std::mem::take(&mut self.damaged);
        self.damaged = damaged.into_iter().filter(|name| !self.discard_or_log(name)).collect();
        match self.states() {
            Ok(names) => {
                let old = names.len().saturating_sub(self.kept);
                for name in &names[..old] {
                    self.discard_or_log(name);
                }
            }
            Err(error) => tracing::warn!(%error, "old training states are not removed"),
        }
    }

    /// Removes a state. Returns whether it is gone.
    fn discard_or_log(&self, name: &str) -> bool {
        let discarded = self.discard(name);
        if let Err(error) = &discarded {
            tracing::warn!(%error, name, "the training state is not removed");
        }
        discarded.is_ok()
    }

    /// Removes a state in one step: a rename hides it before its files are deleted.
    fn discard(&self, name: &str) -> Result<(), TrainingStateError> {
        let leftover = self.root.join(format!("{TEMPORARY}{name}"));
        remove_if_there(&leftover)?;
        let path = self.root.join(name);
        match fs::rename(&path, &leftover) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            moved => {
                moved.map_err(at(&path))?;
                remove_if_there(&leftover)
            }
        }
    }
}

#[cfg(test)]
mod tests;
