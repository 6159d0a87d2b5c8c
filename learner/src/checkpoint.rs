//! Checkpoints: everything a run needs to go on, as one unit.
//!
//! ```text
//! <directory>/checkpoints/step-000000001200/
//!     weights.safetensors     the network, as published
//!     training.safetensors    the network in training, its optimiser, its average
//!     state.json              where the replay stood
//!     manifest.json           SHA-256 and size of each file above; written last
//! ```
//!
//! A checkpoint is written under a temporary name, every file synced, then renamed in one
//! step and the directory synced. Whatever is killed at whatever instant, a reader finds it
//! whole or not at all. [`Store::load`] verifies every byte and takes the newest whole one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ouro_net::{ContentHash, Generation, Weights, WeightsError};
use ouro_replay::ReplayState;
use serde::{Deserialize, Serialize};

use crate::algorithm::AlgorithmName;
use crate::trainer::TrainerState;

mod training;

const VERSION: u32 = 3;
const WEIGHTS: &str = "weights.safetensors";
const TRAINING: &str = "training.safetensors";
const STATE: &str = "state.json";
const MANIFEST: &str = "manifest.json";
const PREFIX: &str = "step-";
const TEMPORARY: &str = "tmp-";

/// What a run has counted, beyond what is in the weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunState {
    /// What the network was trained towards. Another algorithm counts and keeps games otherwise.
    pub algorithm: AlgorithmName,
    /// Where the replay stood after the last batch that the weights were trained on. The games
    /// and what was decided for each actor are in the journal.
    pub replay: ReplayState,
}

/// A whole resume unit. Step and generation are in the weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The network.
    pub weights: Weights,
    /// What training goes on from.
    pub training: TrainerState,
    /// What else a run goes on from.
    pub state: RunState,
}

/// Why a checkpoint cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file system failed.
    #[error("{path}: {source}")]
    Io {
        /// What was being read or written.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is missing, cut short or changed.
    #[error("{path}: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Another program wrote it.
    #[error(
        "{path}: version is {version}; this program reads {VERSION}; go on with the program that wrote it, or use another run folder"
    )]
    OtherVersion {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// There are checkpoints, but none is whole, and none is another program's.
    #[error(
        "{path}: none of {count} checkpoints is whole (the newest: {newest}); restore one, or move them away to start anew"
    )]
    NoneWhole {
        /// The directory of checkpoints.
        path: PathBuf,
        /// How many there are.
        count: usize,
        /// What is wrong with the newest.
        newest: String,
    },
}

impl CheckpointError {
    /// Whether there was no room on the disk. Nothing half-written is visible, and the same call
    /// may succeed later.
    pub fn is_no_space(&self) -> bool {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        matches!(self, Self::Io { source, .. } if full.contains(&source.kind()))
    }

    fn damaged(path: &Path, what: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.to_string() }
    }
}

/// Adds a path to an I/O error.
fn at(path: &Path) -> impl FnOnce(io::Error) -> CheckpointError + '_ {
    move |source| CheckpointError::Io { path: path.to_owned(), source }
}

/// A manifest of any version.
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

/// The checkpoints of one run. The learner is their only writer.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    keep: usize,
    /// Names of checkpoints that were found damaged. They go once a newer one is whole, which
    /// then tells of the generation that was lost with them.
    damaged: Vec<String>,
}

/// What [`Store::load`] found.
#[derive(Debug)]
pub struct Loaded {
    /// The newest whole checkpoint; `None` in a new run.
    pub checkpoint: Option<Checkpoint>,
    /// Newer ones that were passed over, with what is wrong with them.
    pub skipped: Vec<CheckpointError>,
    /// The newest generation named by those passed over, as far as that can still be read.
    /// Somebody may hold its weights.
    pub lost: Option<Generation>,
}

impl Store {
    /// Opens or makes the store of a run; keeps the newest `keep` checkpoints. Removes what a
    /// writer that was killed left behind.
    pub fn open(directory: &Path, keep: usize) -> Result<Self, CheckpointError> {
        let root = directory.join("checkpoints");
        fs::create_dir_all(&root).map_err(at(&root))?;
        let store = Self { root, keep, damaged: Vec::new() };
        let leftovers = store.names(&format!("{TEMPORARY}{PREFIX}"))?;
        leftovers.iter().try_for_each(|name| remove_if_there(&store.root.join(name)))?;
        Ok(store)
    }

    /// Writes a checkpoint and removes the oldest beyond those kept. When this returns, the
    /// checkpoint is on disk.
    pub fn save(&mut self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        let meta = checkpoint.weights.meta();
        let name = format!("{PREFIX}{:012}", meta.step);
        let (temporary, path) =
            (self.root.join(format!("{TEMPORARY}{name}")), self.root.join(&name));
        remove_if_there(&temporary)?;
        fs::create_dir(&temporary).map_err(at(&temporary))?;
        let state = serde_json::to_vec_pretty(&checkpoint.state)
            .map_err(|error| CheckpointError::damaged(&path.join(STATE), error))?;
        let contents = [
            (WEIGHTS, checkpoint.weights.to_safetensors()),
            (TRAINING, training::to_bytes(&checkpoint.training, checkpoint.weights.spec())),
            (STATE, state),
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
            .map_err(|error| CheckpointError::damaged(&path.join(MANIFEST), error))?;
        write_synced(&temporary.join(MANIFEST), &manifest)?;
        sync_directory(&temporary)?;
        // A checkpoint of this step that exists was damaged, or the run would be past it.
        remove_if_there(&path)?;
        fs::rename(&temporary, &path).map_err(at(&path))?;
        sync_directory(&self.root)?;
        self.damaged.retain(|damaged| *damaged != name);
        self.prune()
    }

    /// The newest whole checkpoint. An error if there are some, but none that can be read.
    pub fn load(&mut self) -> Result<Loaded, CheckpointError> {
        let names = self.names(PREFIX)?;
        let (mut skipped, mut lost) = (Vec::new(), None);
        for name in names.iter().rev() {
            let path = self.root.join(name);
            match read(&path) {
                Ok(checkpoint) => {
                    return Ok(Loaded { checkpoint: Some(checkpoint), skipped, lost });
                }
                Err(error) => {
                    // What could not be read just now, or not by this program, may be whole.
                    if matches!(error, CheckpointError::Damaged { .. }) {
                        self.damaged.push(name.clone());
                    }
                    skipped.push(error);
                }
            }
            lost = lost.max(manifest(&path).ok().map(|manifest| manifest.generation));
        }
        let Some(newest) = skipped.first() else {
            return Ok(Loaded { checkpoint: None, skipped, lost });
        };
        let (path, count, newest) = (self.root.clone(), names.len(), newest.to_string());
        // Nothing needs to be restored where another program can go on.
        let others =
            |error: &CheckpointError| matches!(error, CheckpointError::OtherVersion { .. });
        let other = skipped.into_iter().find(others);
        Err(other.unwrap_or(CheckpointError::NoneWhole { path, count, newest }))
    }

    /// Names of the checkpoints, or of others that begin with `prefix`, oldest first.
    fn names(&self, prefix: &str) -> Result<Vec<String>, CheckpointError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.root).map_err(at(&self.root))? {
            let name = entry.map_err(at(&self.root))?.file_name();
            if let Some(name) = name.to_str().filter(|name| name.starts_with(prefix)) {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn prune(&mut self) -> Result<(), CheckpointError> {
        for name in std::mem::take(&mut self.damaged) {
            self.discard(&name)?;
        }
        let names = self.names(PREFIX)?;
        let old = names.len().saturating_sub(self.keep);
        names[..old].iter().try_for_each(|name| self.discard(name))
    }

    /// Removes a checkpoint as it came: in one step it is out of sight, whole.
    fn discard(&self, name: &str) -> Result<(), CheckpointError> {
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

fn manifest(path: &Path) -> Result<Manifest, CheckpointError> {
    let path = path.join(MANIFEST);
    let bytes = fs::read(&path).map_err(at(&path))?;
    let damaged = |error| CheckpointError::damaged(&path, error);
    // First, since another version may have other fields.
    let Versioned { version } = serde_json::from_slice(&bytes).map_err(damaged)?;
    if version != VERSION {
        return Err(CheckpointError::OtherVersion { path, version });
    }
    serde_json::from_slice(&bytes).map_err(damaged)
}

fn read(path: &Path) -> Result<Checkpoint, CheckpointError> {
    let file = |name: &str| fs::read(path.join(name)).map_err(at(&path.join(name)));
    let damaged = |name: &str, what: String| CheckpointError::damaged(&path.join(name), what);
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
    let training = training::from_bytes(&verified(TRAINING)?, weights.spec())
        .map_err(|what| damaged(TRAINING, what))?;
    let state = serde_json::from_slice(&verified(STATE)?)
        .map_err(|error| damaged(STATE, error.to_string()))?;
    Ok(Checkpoint { weights, training, state })
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), CheckpointError> {
    let mut file = File::create_new(path).map_err(at(path))?;
    file.write_all(bytes).map_err(at(path))?;
    file.sync_all().map_err(at(path))
}

/// Makes a directory's entries durable. Windows cannot open directories; there the rename
/// itself has to do.
fn sync_directory(path: &Path) -> Result<(), CheckpointError> {
    if cfg!(unix) {
        File::open(path).and_then(|directory| directory.sync_all()).map_err(at(path))?;
    }
    Ok(())
}

fn remove_if_there(path: &Path) -> Result<(), CheckpointError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
