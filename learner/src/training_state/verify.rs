//! Verification of all training states of a run, without resuming it.

use std::path::{Path, PathBuf};

use ouro_net::Generation;
use ouro_replay::ReplayState;

use super::{FOLDER, PREFIX, TrainingStateError, read};

/// A training state on disk, usable or not.
#[derive(Debug)]
pub struct FoundState {
    /// Its folder.
    pub path: PathBuf,
    /// The generation and the replay state, or why the training state cannot be used.
    pub content: Result<(Generation, ReplayState), TrainingStateError>,
}

/// Reads every training state of the learner in `directory`, oldest first. Does not write.
pub fn training_states(directory: &Path) -> Result<Vec<FoundState>, TrainingStateError> {
    let root = directory.join(FOLDER);
    if !root.exists() {
        return Ok(Vec::new());
    }
    let names = super::names(&root, PREFIX)?;
    let found = names.into_iter().map(|name| {
        let path = root.join(name);
        let content = read(&path).map(|state| (state.weights.meta().generation, state.run.replay));
        FoundState { path, content }
    });
    Ok(found.collect())
}
