//! Resuming a run from an older training state.
//!
//! The newer states move to the folder `set-aside`, from which no start reads a state. Nothing is
//! deleted. Their generations stay taken: the run continues with numbers above them. A state that
//! cannot be read but may be whole moves there too, once the run repeats its step.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ouro_net::Generation;
use ouro_replay::check::inspect;
use ouro_replay::journal::JournalError;
use ouro_replay::{FolderDisk, StateError};

use super::error::TrainingStateError;
use super::files::{FOLDER, PREFIX, at, manifest, names, sync_directory};
use super::verify::{FoundState, training_states};
use crate::journal_writer::JOURNAL;

/// Folder of the states that were set aside, in the folder of the states.
const SET_ASIDE: &str = "set-aside";

/// Why a run cannot resume from a training state.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The journal is in use or cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The states cannot be listed or moved.
    #[error(transparent)]
    States(#[from] TrainingStateError),
    /// No whole state has this generation.
    #[error("no whole training state in {path} is of {generation}; choose one of: {known}")]
    Unknown {
        /// The folder of the states.
        path: PathBuf,
        /// The generation asked for.
        generation: Generation,
        /// The generations of the states that fit.
        known: String,
    },
    /// The state needs games that the journal does not hold.
    #[error("{path}: {error}; the states of these generations fit: {known}")]
    Unfit {
        /// The state.
        path: PathBuf,
        /// What it needs.
        error: StateError,
        /// The generations of the states that fit.
        known: String,
    },
}

/// The training states of a stopped learner. While the value exists, the learner cannot start.
#[derive(Debug)]
pub struct StoppedLearner {
    root: PathBuf,
    states: Vec<FoundState>,
    games: Range<u64>,
    _lock: FolderDisk,
}

impl StoppedLearner {
    /// Reads all states and the journal of the learner in `directory`. Changes neither.
    pub fn open(directory: &Path) -> Result<Self, ResumeError> {
        let journal = directory.join(JOURNAL);
        let lock = FolderDisk::open(&journal)?;
        let inspection = inspect(&journal, |_, _| {})?;
        if let Some(damage) = inspection.damage {
            return Err(damage.into());
        }
        let (root, states) = (directory.join(FOLDER), training_states(directory)?);
        Ok(Self { root, states, games: inspection.records, _lock: lock })
    }

    /// The states, oldest first.
    pub fn states(&self) -> &[FoundState] {
        &self.states
    }

    /// The numbers of the games in the journal.
    pub fn games(&self) -> &Range<u64> {
        &self.games
    }

    /// Moves all states newer than that of `generation` aside, so that the next start resumes from
    /// it. Returns where they are now, oldest first.
    pub fn resume_from(self, generation: Generation) -> Result<Vec<PathBuf>, ResumeError> {
        let mut chosen = self.states.iter().enumerate().filter_map(|(index, state)| {
            let content = state.content.as_ref().ok()?;
            (content.generation == generation).then_some((index, &state.path, &content.replay))
        });
        let Some((index, path, replay)) = chosen.next() else {
            let (path, known) = (self.root.clone(), self.fitting());
            return Err(ResumeError::Unknown { path, generation, known });
        };
        if let Err(error) = replay.check(self.games.start, self.games.end) {
            let (path, known) = (path.clone(), self.fitting());
            return Err(ResumeError::Unfit { path, error, known });
        }
        let newer = self.states[index + 1..].iter().map(|state| state.path.as_path());
        Ok(set_aside(&self.root, newer)?)
    }

    /// The generations of the states that fit, for messages.
    fn fitting(&self) -> String {
        let fitting = self.states.iter().filter(|state| state.fits(&self.games));
        let generations = fitting.filter_map(|state| state.content.as_ref().ok());
        let generations: Vec<_> = generations.map(|state| state.generation.0.to_string()).collect();
        if generations.is_empty() { "none".to_owned() } else { generations.join(", ") }
    }
}

/// Moves states, oldest first. The newest state thus stays the newest until all others are moved,
/// so a kill in between does not select a state that nobody chose.
pub(super) fn set_aside<'a>(
    root: &Path,
    states: impl Iterator<Item = &'a Path>,
) -> Result<Vec<PathBuf>, TrainingStateError> {
    let folder = root.join(SET_ASIDE);
    let mut moved = Vec::new();
    for state in states {
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let name = state.file_name().unwrap_or_default();
        let (mut target, mut number) = (folder.join(name), 1);
        // A run that resumed from an older state twice can have two states of the same step.
        while target.exists() {
            number += 1;
            target = folder.join(format!("{}-{number}", name.display()));
        }
        fs::rename(state, &target).map_err(at(state))?;
        moved.push(target);
    }
    if !moved.is_empty() {
        sync_directory(&folder)?;
        sync_directory(root)?;
    }
    Ok(moved)
}

/// The newest generation of the states that were set aside.
pub(super) fn newest_set_aside(root: &Path) -> Result<Option<Generation>, TrainingStateError> {
    let folder = root.join(SET_ASIDE);
    if !folder.exists() {
        return Ok(None);
    }
    let manifests = names(&folder, PREFIX)?.into_iter().map(|name| manifest(&folder.join(name)));
    Ok(manifests.flatten().map(|manifest| manifest.generation).max())
}
