//! Verification of all training states of a run, without resuming it.

use std::path::{Path, PathBuf};

use ouro_net::{ContentHash, Generation};
use ouro_replay::ReplayState;

use super::error::TrainingStateError;
use super::files::{FOLDER, PREFIX, WEIGHTS, manifest, names, read, states};
use super::set_aside::newest_set_aside;

/// A training state on disk, usable or not.
#[derive(Debug)]
pub struct FoundState {
    /// Its folder.
    pub path: PathBuf,
    /// What it holds, or why it cannot be used.
    pub content: Result<StoredState, TrainingStateError>,
}

/// What a training state holds besides its network.
#[derive(Clone, Copy, Debug)]
pub struct StoredState {
    /// The generation of its weights.
    pub generation: Generation,
    /// Its position in the journal.
    pub replay: ReplayState,
}

/// Reads every training state of the learner in `directory`, oldest first. Does not write.
pub fn training_states(directory: &Path) -> Result<Vec<FoundState>, TrainingStateError> {
    let root = directory.join(FOLDER);
    if !root.exists() {
        return Ok(Vec::new());
    }
    let found = states(&root)?.into_iter().map(|name| {
        let path = root.join(name);
        let content = read(&path).map(|state| StoredState {
            generation: state.weights.meta().generation,
            replay: state.run.replay,
        });
        FoundState { path, content }
    });
    Ok(found.collect())
}

/// The newest generation of any training state in `directory`; 0 without a state. States that are
/// damaged or were set aside count, as far as their manifests can be read.
pub(crate) fn newest_generation(directory: &Path) -> Result<Generation, TrainingStateError> {
    let root = directory.join(FOLDER);
    if !root.exists() {
        return Ok(Generation::default());
    }
    let manifests = names(&root, PREFIX)?.into_iter().map(|name| manifest(&root.join(name)));
    let newest = manifests.flatten().map(|manifest| manifest.generation).max();
    Ok(newest.max(newest_set_aside(&root)?).unwrap_or_default())
}

/// The weights file with this hash, if a training state in `directory` holds it.
pub(crate) fn find_weights(directory: &Path, hash: ContentHash) -> Option<Vec<u8>> {
    let root = directory.join(FOLDER);
    let names = names(&root, PREFIX).ok()?;
    let files = names.into_iter().rev().filter_map(|name| {
        // A state may be removed meanwhile.
        std::fs::read(root.join(name).join(WEIGHTS)).ok()
    });
    files.into_iter().find(|bytes| ContentHash::of(bytes) == hash)
}
