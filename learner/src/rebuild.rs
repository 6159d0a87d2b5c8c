//! A training state for a run that has lost all of its own.
//!
//! Training continues from published weights. The state of the optimiser and the weight average
//! start anew. A window is refilled from the journal, without counting its games as new. Training
//! continues at once, or after the rest of the warm-up if the journal holds fewer positions. A queue
//! skips the games before the loss, which were trained on already.

use std::ops::{ControlFlow, Range};
use std::path::Path;

use ouro_net::{Generation, RunId, Weights};
use ouro_replay::journal::Options;
use ouro_replay::{Cursor, FolderDisk, Item, Journal, ReplaySettings, ReplayState};

use crate::config::Config;
use crate::deviation::DeviationWatch;
use crate::journal_writer::{JOURNAL, JournalWriterError};
use crate::learner::{LearnerError, check_run, filled};
use crate::rules::rules;
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
    let algorithm = config.train.algorithm.name();
    let mut training_state = TrainingState {
        weights: weights.clone(),
        trainer: TrainerState::initial(weights),
        run: RunState { algorithm, replay: ReplayState::default() },
    };
    check_run(config, &game, &training_state)?;
    training_state.run.replay = replay_state(config, &journal)?;
    store.save(&training_state)?;
    if let Some(run) = run {
        store_run(directory, run)?;
    }
    let (meta, Cursor { first, next, .. }) = (weights.meta(), training_state.run.replay.cursor);
    Ok(Some(Rebuilt { generation: meta.generation, step: meta.step, games: next - first }))
}

/// The state of the replay, made from the journal alone.
///
/// The size of a window depends on all positions ever inserted, and the journal has released its
/// first games. Their positions are estimated from those of the games that it holds. Otherwise the
/// window would be as small as at the start of the run, and drop most of these games.
fn replay_state(config: &Config, journal: &Journal) -> Result<ReplayState, LearnerError> {
    let (first, next) = (journal.oldest_record(), journal.records());
    let ratio = match config.replay_settings()? {
        ReplaySettings::Window { ratio, .. } => ratio,
        ReplaySettings::Fifo(_) => {
            let cursor = Cursor { first: next, next, ..Cursor::default() };
            return Ok(ReplayState { cursor, ..ReplayState::default() });
        }
    };
    let (rules, mut held) = (rules(config)?, 0);
    let failed = journal.visit(first, |number, record| {
        match rules.restore(record.payload, record.generation) {
            Ok((game, _)) => {
                held += u64::from(game.positions());
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(LearnerError::Journalled { number, error }),
        }
    });
    if let Some(error) = failed.map_err(JournalWriterError::Journal)? {
        return Err(error);
    }
    let before = first as f64 * held as f64 / (next - first).max(1) as f64;
    let state = ReplayState::refilled(&ratio, first..next, before as u64, held);
    // The journal may hold more games than the window. Only those that the next start keeps count.
    let replay = filled(config, &*rules, journal, &state, &DeviationWatch::default())?;
    Ok(replay.state())
}

/// Fails if the newest state needs games that a journal with these games does not hold.
fn refuse_unfit(directory: &Path, games: &Range<u64>) -> Result<Option<Rebuilt>, LearnerError> {
    let unfit = UnfitState::find(directory, &training_states(directory)?, games);
    unfit.map_or(Ok(None), |unfit| Err(unfit.into()))
}

#[cfg(test)]
mod tests;
