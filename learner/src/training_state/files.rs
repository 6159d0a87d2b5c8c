//! The files of a training state, and durable changes of them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use ouro_net::{ContentHash, Generation, Weights, WeightsError};
use ouro_service::files::sync_folder;
use serde::{Deserialize, Serialize};

use super::error::{TrainingStateError, VERSION};
use super::state::TrainingState;
use super::trainer_file;

pub(super) const WEIGHTS: &str = "weights.safetensors";
pub(super) const TRAINING: &str = "training.safetensors";
pub(super) const STATE: &str = "state.json";
pub(super) const MANIFEST: &str = "manifest.json";
pub(crate) const PREFIX: &str = "step-";
pub(super) const TEMPORARY: &str = "tmp-";
/// Folder of the states in the directory of the learner.
pub(crate) const FOLDER: &str = "training-states";

/// Adds a path to the error of a read. A missing file is damage, because a later read fails too.
fn unread(path: &Path) -> impl FnOnce(io::Error) -> TrainingStateError + '_ {
    move |source| match source.kind() {
        // A state that was removed meanwhile has no folder.
        io::ErrorKind::NotFound if path.parent().is_some_and(Path::is_dir) => {
            TrainingStateError::damaged(path, "the file is missing")
        }
        _ => at(path)(source),
    }
}

/// Adds a path to an I/O error.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> TrainingStateError + '_ {
    move |source| TrainingStateError::Io { path: path.to_owned(), source }
}

/// The part of a manifest that every version has.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub(super) version: u32,
    pub(super) step: u64,
    pub(super) generation: Generation,
    pub(super) files: BTreeMap<String, FileEntry>,
}

impl Manifest {
    /// Whether the folder at `path` holds a whole state with these files. Fails while too many files
    /// are open.
    pub(super) fn is_at(&self, path: &Path) -> Result<bool, TrainingStateError> {
        let found = manifest(path).and_then(|found| match found.files == self.files {
            true => read(path).map(|_| true),
            false => Ok(false),
        });
        match found {
            Err(error) if error.is_exhausted() => Err(error),
            found => Ok(found.unwrap_or(false)),
        }
    }
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileEntry {
    pub(super) sha256: String,
    pub(super) bytes: u64,
}

impl FileEntry {
    /// The entry of a file with this content.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { sha256: ContentHash::of(bytes).to_string(), bytes: bytes.len() as u64 }
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
pub(super) fn names(root: &Path, prefix: &str) -> Result<Vec<String>, TrainingStateError> {
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

/// Names of the states in a folder, oldest generation first.
///
/// The order of steps can differ: a run that could not read its newest state repeats steps under
/// later generations. A state without a readable manifest follows the state of the step before it.
pub(super) fn states(root: &Path) -> Result<Vec<String>, TrainingStateError> {
    let mut generation = Generation(0);
    let mut states = Vec::new();
    for name in names(root, PREFIX)? {
        generation = manifest(&root.join(&name)).map_or(generation, |found| found.generation);
        states.push((generation, name));
    }
    states.sort_by_key(|(generation, _)| *generation);
    Ok(states.into_iter().map(|(_, name)| name).collect())
}

pub(super) fn manifest(path: &Path) -> Result<Manifest, TrainingStateError> {
    let path = path.join(MANIFEST);
    let bytes = fs::read(&path).map_err(unread(&path))?;
    let damaged = |error| TrainingStateError::damaged(&path, error);
    // The version comes first, because another version may have other fields.
    let Versioned { version } = serde_json::from_slice(&bytes).map_err(damaged)?;
    if version != VERSION {
        return Err(TrainingStateError::OtherVersion { path, version });
    }
    serde_json::from_slice(&bytes).map_err(damaged)
}

pub(super) fn read(path: &Path) -> Result<TrainingState, TrainingStateError> {
    let file = |name: &str| fs::read(path.join(name)).map_err(unread(&path.join(name)));
    let damaged = |name: &str, what: String| TrainingStateError::damaged(&path.join(name), what);
    let manifest = manifest(path)?;
    let verified = |name: &str| {
        let bytes = file(name)?;
        let entry = FileEntry::of(&bytes);
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

pub(super) fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), TrainingStateError> {
    let mut file = File::create_new(path).map_err(at(path))?;
    file.write_all(bytes).map_err(at(path))?;
    file.sync_all().map_err(at(path))
}

/// Makes a folder's entries durable.
pub(super) fn sync_directory(path: &Path) -> Result<(), TrainingStateError> {
    sync_folder(path).map_err(at(path))
}

pub(super) fn remove_if_there(path: &Path) -> Result<(), TrainingStateError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}
