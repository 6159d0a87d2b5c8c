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

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ouro_net::{ContentHash, Generation, Weights, WeightsError};
use ouro_replay::ReplayState;
use ouro_replay::disk::is_exhausted;
use serde::{Deserialize, Serialize};

use crate::config::AlgorithmName;
use crate::trainer::TrainerState;

mod trainer_file;
mod verify;

pub(crate) use verify::find_weights;
pub use verify::{FoundState, StoredState, training_states};

/// Version of the manifest. The error for another version names both versions.
const VERSION: u32 = 3;
const WEIGHTS: &str = "weights.safetensors";
const TRAINING: &str = "training.safetensors";
const STATE: &str = "state.json";
const MANIFEST: &str = "manifest.json";
const PREFIX: &str = "step-";
const TEMPORARY: &str = "tmp-";
/// Folder of the states in the directory of the learner.
const FOLDER: &str = "training-states";

/// The contents of `state.json`: the part of a training state besides weights and trainer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunState {
    /// The algorithm of the run. A run cannot change its algorithm, because each selects positions
    /// from the journal in its own way.
    pub algorithm: AlgorithmName,
    /// State of the replay after the last batch that the weights were trained on. The games and
    /// the decision about each are in the journal.
    pub replay: ReplayState,
}

/// Everything a run resumes from. The weights hold the step and the generation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrainingState {
    /// The weights as published.
    pub weights: Weights,
    /// The network in training and its optimiser.
    pub trainer: TrainerState,
    /// The algorithm and the replay.
    pub run: RunState,
}

/// Why a training state cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TrainingStateError {
    /// The file system failed.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file is missing, cut short or changed.
    #[error("{path}: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The defect.
        what: String,
    },
    /// Another version of the program wrote the state.
    #[error(
        "{path}: version is {version}; this program reads {VERSION}; resume with the version that wrote it, or choose another run folder"
    )]
    OtherVersion {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// Training states exist, but none is whole, and none is of another version.
    #[error(
        "{path}: none of {count} training states is whole (the newest: {newest}); restore one from a backup, or run `ouro repair` to continue from the newest weights"
    )]
    NoneWhole {
        /// The folder of training states.
        path: PathBuf,
        /// Number of states in the folder.
        count: usize,
        /// The defect of the newest state.
        newest: String,
    },
}

impl TrainingStateError {
    /// Whether the disk is full or too many files are open. No partly written state is visible then, and the same call may
    /// succeed later.
    pub fn is_exhausted(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_exhausted(source))
    }

    fn damaged(path: &Path, what: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.to_string() }
    }
}

/// Adds a path to an I/O error.
fn at(path: &Path) -> impl FnOnce(io::Error) -> TrainingStateError + '_ {
    move |source| TrainingStateError::Io { path: path.to_owned(), source }
}

/// The part of a manifest that every version has.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    version: u32,
    step: u64,
    generation: Generation,
    files: BTreeMap<String, FileEntry>,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    sha256: String,
    bytes: u64,
}

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
    /// The newest generation that a skipped manifest names. Its weights may have been published.
    pub lost_generation: Option<Generation>,
}

impl StateStore {
    /// Opens or creates the store of the run in `directory`, which keeps the newest `kept` states.
    /// Removes temporary folders that a killed writer left.
    pub(crate) fn open(directory: &Path, kept: usize) -> Result<Self, TrainingStateError> {
        let root = directory.join(FOLDER);
        fs::create_dir_all(&root).map_err(at(&root))?;
        let store = Self { root, kept, damaged: Vec::new() };
        let leftovers = store.names(&format!("{TEMPORARY}{PREFIX}"))?;
        leftovers.iter().try_for_each(|name| remove_if_there(&store.root.join(name)))?;
        Ok(store)
    }

    /// Writes a state durably, then removes the oldest beyond the number to keep.
    pub(crate) fn save(
        &mut self,
        training_state: &TrainingState,
    ) -> Result<(), TrainingStateError> {
        let TrainingState { weights, trainer, run } = training_state;
        let meta = weights.meta();
        let name = format!("{PREFIX}{:012}", meta.step);
        let (temporary, path) =
            (self.root.join(format!("{TEMPORARY}{name}")), self.root.join(&name));
        remove_if_there(&temporary)?;
        fs::create_dir(&temporary).map_err(at(&temporary))?;
        let run = serde_json::to_vec_pretty(run)
            .map_err(|error| TrainingStateError::damaged(&path.join(STATE), error))?;
        let contents = [
            (WEIGHTS, weights.to_safetensors()),
            (TRAINING, trainer_file::to_bytes(trainer, weights.spec())),
            (STATE, run),
        ];
        let mut files = BTreeMap::new();
        for (name, bytes) in &contents {
            write_synced(&temporary.join(name), bytes)?;
            let entry =
                FileEntry { sha256: ContentHash::of(bytes).to_string(), bytes: bytes.len() as u64 };
            files.insert((*name).to_owned(), entry);
        }
        let manifest =
            Manifest { version: VERSION, step: meta.step, generation: meta.generation, files };
        let manifest = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| TrainingStateError::damaged(&path.join(MANIFEST), error))?;
        write_synced(&temporary.join(MANIFEST), &manifest)?;
        sync_directory(&temporary)?;
        // An existing state of this step is damaged: otherwise the run would be past the step.
        remove_if_there(&path)?;
        fs::rename(&temporary, &path).map_err(at(&path))?;
        sync_directory(&self.root)?;
        self.damaged.retain(|damaged| *damaged != name);
        self.prune()
    }

    /// Loads the newest whole state. Fails if states exist but none can be read.
    pub(crate) fn load(&mut self) -> Result<LoadedState, TrainingStateError> {
        let names = self.names(PREFIX)?;
        let (mut skipped, mut lost_generation) = (Vec::new(), None);
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

    /// Names in the folder that start with `prefix`, oldest first.
    fn names(&self, prefix: &str) -> Result<Vec<String>, TrainingStateError> {
        names(&self.root, prefix)
    }

    fn prune(&mut self) -> Result<(), TrainingStateError> {
        for name in std::mem::take(&mut self.damaged) {
            self.discard(&name)?;
        }
        let names = self.names(PREFIX)?;
        let old = names.len().saturating_sub(self.kept);
        names[..old].iter().try_for_each(|name| self.discard(name))
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

/// Replaces a file durably, or creates it. The file is whole at any moment.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), TrainingStateError> {
    let unfinished = path.with_extension("new");
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(path)(error)),
        _ => {}
    }
    write_synced(&unfinished, bytes)?;
    fs::rename(&unfinished, path).map_err(at(path))?;
    path.parent().map_or(Ok(()), sync_directory)
}

/// Names in a folder that start with `prefix`, oldest first.
fn names(root: &Path, prefix: &str) -> Result<Vec<String>, TrainingStateError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root).map_err(at(root))? {
        let name = entry.map_err(at(root))?.file_name();
        if let Some(name) = name.to_str().filter(|name| name.starts_with(prefix)) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn manifest(path: &Path) -> Result<Manifest, TrainingStateError> {
    let path = path.join(MANIFEST);
    let bytes = fs::read(&path).map_err(at(&path))?;
    let damaged = |error| TrainingStateError::damaged(&path, error);
    // The version comes first, because another version may have other fields.
    let Versioned { version } = serde_json::from_slice(&bytes).map_err(damaged)?;
    if version != VERSION {
        return Err(TrainingStateError::OtherVersion { path, version });
    }
    serde_json::from_slice(&bytes).map_err(damaged)
}

fn read(path: &Path) -> Result<TrainingState, TrainingStateError> {
    let file = |name: &str| fs::read(path.join(name)).map_err(at(&path.join(name)));
    let damaged = |name: &str, what: String| TrainingStateError::damaged(&path.join(name), what);
    let manifest = manifest(path)?;
    let verified = |name: &str| {
        let bytes = file(name)?;
        let entry =
            FileEntry { sha256: ContentHash::of(&bytes).to_string(), bytes: bytes.len() as u64 };
        if manifest.files.get(name) != Some(&entry) {
            return Err(damaged(name, "size or SHA-256 is not the manifest's".into()));
        }
        Ok(bytes)
    };
    let weights = Weights::from_safetensors(&verified(WEIGHTS)?)
        .map_err(|error: WeightsError| damaged(WEIGHTS, error.to_string()))?;
    let meta = weights.meta();
    if (meta.step, meta.generation) != (manifest.step, manifest.generation) {
        return Err(damaged(WEIGHTS, "step or generation is not the manifest's".into()));
    }
    let trainer = trainer_file::from_bytes(&verified(TRAINING)?, weights.spec())
        .map_err(|what| damaged(TRAINING, what))?;
    let run = serde_json::from_slice(&verified(STATE)?)
        .map_err(|error| damaged(STATE, error.to_string()))?;
    Ok(TrainingState { weights, trainer, run })
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), TrainingStateError> {
    let mut file = File::create_new(path).map_err(at(path))?;
    file.write_all(bytes).map_err(at(path))?;
    file.sync_all().map_err(at(path))
}

/// Makes a directory's entries durable. Windows cannot open directories, so the rename alone must
/// suffice there.
fn sync_directory(path: &Path) -> Result<(), TrainingStateError> {
    if cfg!(unix) {
        File::open(path).and_then(|directory| directory.sync_all()).map_err(at(path))?;
    }
    Ok(())
}

fn remove_if_there(path: &Path) -> Result<(), TrainingStateError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
