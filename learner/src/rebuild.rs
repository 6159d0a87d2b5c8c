//! A training state for a run that has lost all of its own.
//!
//! Training continues from published weights. The state of the optimiser and the weight average
//! start anew. A window is refilled from the journal, without counting its games as new: training
//! continues once as many new positions as the warm-up asks for have come. A queue skips the games
//! before the loss, which were trained on already.

use std::ops::Range;
use std::path::Path;

use ouro_net::{Generation, RunId, Weights};
use ouro_replay::journal::Options;
use ouro_replay::{FolderDisk, Journal, ReplayState};

use crate::config::{AlgorithmConfig, Config};
use crate::journal_writer::{JOURNAL, JournalWriterError};
use crate::learner::{LearnerError, check_run};
use crate::run_file::store_run;
use crate::trainer::TrainerState;
use crate::training_state::{
    RunState, StateStore, TrainingState, TrainingStateError, UnfitState, training_states,
};

/// A training state that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// Its generation.
    pub generation: Generation,
    /// Its optimiser steps.
    pub step: u64,
    /// Games of the journal with which the replay is refilled.
    pub games: u64,
}

/// Makes a training state from `weights` for the learner with this configuration, which must not
/// run. Returns `None` without a change if the learner has a whole training state. Fails if the
/// journal does not hold the games that the newest one needs.
pub fn rebuild_training_state(
    config: &Config,
    weights: &Weights,
    run: Option<RunId>,
) -> Result<Option<Rebuilt>, LearnerError> {
    let directory = &config.training_states.directory;
    let game = config.game_identity();
    let disk = FolderDisk::open(&directory.join(JOURNAL)).map_err(JournalWriterError::Journal)?;
    let exists = Journal::exists(&disk).map_err(JournalWriterError::Journal)?;
    let mut store = StateStore::open(directory, config.training_states.kept)?;
    let is_whole = match store.load() {
        Ok(loaded) => loaded.newest.is_some(),
        Err(TrainingStateError::NoneWhole { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    // A missing journal is not made beside a whole state: later segments may be put back.
    if is_whole && !exists {
        return refuse_unfit(directory, &(0..0));
    }
    let (journal, _) = Journal::open(disk, game.as_bytes(), Options::default())
        .map_err(JournalWriterError::Journal)?;
    if is_whole {
        return refuse_unfit(directory, &(journal.oldest_record()..journal.records()));
    }
    let mut replay = ReplayState::default();
    replay.cursor.next = journal.records();
    replay.cursor.first = match config.train.algorithm {
        AlgorithmConfig::AlphaZero(_) => journal.oldest_record(),
        AlgorithmConfig::Reinforce(_) => journal.records(),
    };
    let games = replay.cursor.next - replay.cursor.first;
    let algorithm = config.train.algorithm.name();
    let training_state = TrainingState {
        weights: weights.clone(),
        trainer: TrainerState::initial(weights),
        run: RunState { algorithm, replay },
    };
    check_run(config, &game, &training_state)?;
    store.save(&training_state)?;
    if let Some(run) = run {
        store_run(directory, run)?;
    }
    let meta = weights.meta();
    Ok(Some(Rebuilt { generation: meta.generation, step: meta.step, games }))
}

/// Fails if the newest state needs games that a journal with these games does not hold.
fn refuse_unfit(directory: &Path, games: &Range<u64>) -> Result<Option<Rebuilt>, LearnerError> {
    let unfit = UnfitState::find(directory, &training_states(directory)?, games);
    unfit.map_or(Ok(None), |unfit| Err(unfit.into()))
}

#[cfg(test)]
mod tests;
