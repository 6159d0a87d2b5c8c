//! Copies the folder of a learner, which may be running.
//!
//! A training state needs games of the journal, so the states are copied before the end of the
//! journal. A journal that is newer than the states is that of a learner which was killed: the next
//! start repeats the steps since. Three facts make plain copies of the files consistent:
//!
//! - A training state appears and disappears with a rename. One that disappears meanwhile is left
//!   out.
//! - Only the last segment of the journal changes, and it grows. Its entries have checksums, so a copy
//!   in the middle of a write ends with an incomplete entry, which a start cuts off.
//! - The games of a state are kept for as long as the state is among the newest. A copy that took
//!   longer may lack them. It is noticed, and the copy is repeated.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ouro_replay::JournalError;
use ouro_replay::check::inspect;
use ouro_service::files::{copy_file, unless_gone};

use crate::journal_writer::JOURNAL;
use crate::run_file;
use crate::training_state::{
    STATE_PREFIX, STATES_FOLDER, TrainingStateError, UnfitState, training_states,
};

/// Copies after which the states and the journal must fit. A learner outruns a copy only if it makes
/// several generations meanwhile.
const ATTEMPTS: u32 = 5;

/// Why the folder of a learner cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A file cannot be copied.
    #[error("cannot copy {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The message of the system.
        source: io::Error,
    },
    /// A copied training state cannot be read.
    #[error(transparent)]
    TrainingState(#[from] TrainingStateError),
    /// The copied journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// There is no training state.
    #[error("{} has no training state; start the learner first", .0.display())]
    NoState(PathBuf),
    /// The journal is damaged or does not hold the games of the newest state, after every attempt.
    #[error("{ATTEMPTS} copies are not sound: {0}; copy to a faster disk, or stop the learner")]
    Outrun(String),
}

/// Copies the run's file, the training states and the journal of the learner in `from` to the new
/// folder `to`.
///
/// The copy holds every game that was acknowledged before the call. It contains no training states
/// that were set aside.
pub fn copy_learner(from: &Path, to: &Path) -> Result<(), BackupError> {
    if state_names(from)?.is_empty() {
        return Err(BackupError::NoState(from.to_owned()));
    }
    make(to)?;
    let run = from.join(run_file::FILE);
    unless_gone(copy_file(&run, &to.join(run_file::FILE))).map_err(at(&run))?;
    // Most of the journal is copied before the states, so that little time passes after them.
    copy_journal(from, to)?;
    let mut attempt = 1;
    loop {
        copy_states(from, to)?;
        copy_journal(from, to)?;
        match flaw(to)? {
            None => return Ok(()),
            Some(flaw) if attempt == ATTEMPTS => return Err(BackupError::Outrun(flaw)),
            Some(_) => attempt += 1,
        }
        // Nothing of a flawed copy is trusted. The states are verified by their own hashes.
        let journal = to.join(JOURNAL);
        fs::remove_dir_all(&journal).map_err(at(&journal))?;
    }
}

/// Why the copy cannot be resumed from its newest state, if so.
fn flaw(to: &Path) -> Result<Option<String>, BackupError> {
    let states = training_states(to)?;
    if states.iter().all(|state| state.content.is_err()) {
        let damage = states.iter().find_map(|state| state.content.as_ref().err());
        let gone = || "every training state was replaced meanwhile".to_owned();
        return Ok(Some(damage.map_or_else(gone, ToString::to_string)));
    }
    let journal = inspect(&to.join(JOURNAL), |_, _| ())?;
    let unfit = UnfitState::find(to, &states, &journal.records);
    let damage = journal.damage.map(|damage| damage.to_string());
    Ok(damage.or_else(|| unfit.map(|unfit| unfit.to_string())))
}

/// The names of the training states of a learner, oldest first.
fn state_names(directory: &Path) -> Result<Vec<String>, BackupError> {
    let mut names = names(&directory.join(STATES_FOLDER))?;
    names.retain(|name| name.starts_with(STATE_PREFIX));
    Ok(names)
}

/// Copies the training states that the copy lacks.
fn copy_states(from: &Path, to: &Path) -> Result<(), BackupError> {
    let states = state_names(from)?;
    let (from, to) = (from.join(STATES_FOLDER), to.join(STATES_FOLDER));
    make(&to)?;
    for name in states {
        let (state, copy) = (from.join(&name), to.join(&name));
        // States never change, and the manifest makes a copy whole.
        if copy.exists() {
            continue;
        }
        make(&copy)?;
        let mut is_there = true;
        for file in names(&state)? {
            let copied = copy_file(&state.join(&file), &copy.join(&file));
            is_there &= unless_gone(copied).map_err(at(&state.join(&file)))?;
        }
        if !is_there || !state.exists() {
            fs::remove_dir_all(&copy).map_err(at(&copy))?;
        }
    }
    Ok(())
}

/// Copies the segments that the copy lacks, and those that have grown.
fn copy_journal(from: &Path, to: &Path) -> Result<(), BackupError> {
    let (from, to) = (from.join(JOURNAL), to.join(JOURNAL));
    make(&to)?;
    let segments = |names: Vec<String>| {
        let is_segment = |name: &String| name.starts_with("segment-") && name.ends_with(".journal");
        names.into_iter().filter(is_segment).collect::<Vec<_>>()
    };
    // The last segment may have been cut and have grown again since its copy.
    let last = segments(names(&to)?).pop();
    for name in segments(names(&from)?) {
        let (segment, copy) = (from.join(&name), to.join(&name));
        let length = |path: &Path| fs::metadata(path).ok().map(|file| file.len());
        if last.as_ref() != Some(&name)
            && length(&copy).is_some_and(|own| length(&segment) == Some(own))
        {
            continue;
        }
        unless_gone(copy_file(&segment, &copy)).map_err(at(&segment))?;
    }
    Ok(())
}

/// The names in a folder in their order; none if there is no such folder.
fn names(folder: &Path) -> Result<Vec<String>, BackupError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(at(folder))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(at(folder))?.file_name().into_string().ok());
    }
    names.sort();
    Ok(names)
}

fn make(folder: &Path) -> Result<(), BackupError> {
    fs::create_dir_all(folder).map_err(at(folder))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> BackupError + '_ {
    |source| BackupError::Io { path: path.to_owned(), source }
}
