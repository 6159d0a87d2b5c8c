//! The training thread: batches in, generations out.
//!
//! Every [`every_steps`](crate::config::CheckpointConfig::every_steps) steps the network
//! becomes a *generation*: first a checkpoint on disk, then a [`Release`] for the
//! [publisher](crate::publisher). In this order a generation number, once seen by anybody,
//! always means the same weights, whatever is killed in between; steps since the last
//! checkpoint are taken again, from the same batches if one thread makes them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ouro_net::{Generation, Weights};
use ouro_replay::ReplayState;
use tokio::sync::watch;

use crate::agreement::Probe;
use crate::algorithm::{Algorithm, AlgorithmName};
use crate::checkpoint::{Checkpoint, CheckpointError, RunState, Store};
use crate::feed::{Fed, Feed, FeedError};
use crate::ledger::Ledger;
use crate::progress::{SharedProgress, Waiting};
use crate::replay::SharedReplay;
use crate::trainer::{StepReport, TrainError, Trainer};

/// Pause before a checkpoint that found the disk full is written again.
const FULL: Duration = Duration::from_secs(1);

/// Weights to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Which publication it is.
    pub generation: Generation,
    /// Optimiser steps behind it.
    pub step: u64,
    /// The safetensors file.
    pub file: Bytes,
}

impl From<&Weights> for Release {
    fn from(weights: &Weights) -> Self {
        let meta = weights.meta();
        Self { generation: meta.generation, step: meta.step, file: weights.to_safetensors().into() }
    }
}

/// The newest release; one that nobody took yet is replaced by the next.
pub type Releases = watch::Sender<Option<Arc<Release>>>;

/// Why the training thread ended before it was told to.
#[derive(Debug, thiserror::Error)]
pub enum TrainingError {
    /// The step failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The checkpoint could not be written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A batch cannot be made.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// Whoever makes batches is gone: a bug.
    #[error("the threads that make batches ended before training did; report it as a bug")]
    NoFeed,
}

/// Everything that the training thread owns or shares.
pub struct Training<A: Algorithm> {
    /// The network.
    pub trainer: Trainer<A>,
    /// What every export is checked on.
    pub probe: Probe,
    /// Where batches come from.
    pub feed: Feed<A::Batch>,
    /// What is trained towards.
    pub algorithm: AlgorithmName,
    /// Where the replay stood after the last batch that was trained on.
    pub trained: ReplayState,
    /// Where games come from, to know when it is closed and to tell it of new weights.
    pub replay: Arc<SharedReplay>,
    /// Who keeps the games' records.
    pub ledger: Ledger,
    /// Where checkpoints go.
    pub store: Store,
    /// Checkpoints that are kept.
    pub keep: usize,
    /// What others see.
    pub progress: SharedProgress,
    /// Where weights go.
    pub releases: Releases,
    /// Steps between generations.
    pub every_steps: u64,
}

impl<A: Algorithm> Training<A> {
    /// Trains until the replay is closed, then makes a last generation of what was learned
    /// since the one before, unless somebody leads the replay. Blocks.
    pub fn run(mut self) -> Result<(), TrainingError> {
        let mut released = self.trainer.step_count();
        // The first record that each kept checkpoint needs, oldest first.
        let mut needed = VecDeque::new();
        while let Ok(fed) = self.feed.recv() {
            let Fed { batch, state } = fed?;
            let report = self.trainer.step(&batch)?;
            self.trained = later(self.trained, state);
            self.report(report);
            if self.trainer.step_count().is_multiple_of(self.every_steps) {
                released = self.trainer.step_count();
                if self.release()? {
                    needed.push_back(self.trained.cursor.first);
                }
                // Only then are all kept checkpoints known.
                if needed.len() == self.keep {
                    self.ledger.release(needed.pop_front().unwrap_or_default());
                }
            }
        }
        // A generation of fewer steps would be another one than whoever leads goes on to; led, the
        // steps are taken again.
        if self.trainer.step_count() > released && !self.replay.is_led() {
            self.release()?;
        }
        if self.replay.is_closed() { Ok(()) } else { Err(TrainingError::NoFeed) }
    }

    fn report(&self, report: Option<StepReport>) {
        let step = self.trainer.step_count();
        self.progress.update(|progress| {
            progress.step = step;
            if let Some(report) = report {
                progress.report = report;
            }
        });
        let Some(StepReport { loss, gradient_norm, learning_rate }) = report else { return };
        tracing::info!(
            step,
            loss = loss.total,
            policy = loss.policy,
            value = loss.value,
            entropy = loss.entropy,
            gradient_norm,
            learning_rate,
            "trained"
        );
    }

    /// Makes a generation; `false` if the disk was full until the end.
    fn release(&mut self) -> Result<bool, TrainingError> {
        let progress = self.progress.get();
        let generation = progress.generation.next();
        let checkpoint = Checkpoint {
            weights: self.trainer.export(generation, &self.probe)?,
            training: self.trainer.state()?,
            state: RunState { algorithm: self.algorithm, replay: self.trained },
        };
        if !self.save(&checkpoint)? {
            return Ok(false);
        }
        self.progress.update(|progress| progress.generation = generation);
        self.replay.published(generation);
        let release = Release::from(&checkpoint.weights);
        tracing::info!(
            generation = generation.0,
            step = release.step,
            games = progress.games,
            "new generation"
        );
        self.releases.send_replace(Some(Arc::new(release)));
        Ok(true)
    }

    /// Saves a checkpoint; waits while the disk is full. `false` if it still is at the end.
    fn save(&mut self, checkpoint: &Checkpoint) -> Result<bool, TrainingError> {
        let mut waited = false;
        loop {
            match self.store.save(checkpoint) {
                Err(error) if error.is_no_space() => {
                    if !waited {
                        tracing::error!(%error, "the disk is full: training pauses");
                        self.progress.note_trouble(Waiting::Checkpoint, Some(error.to_string()));
                    }
                    if self.replay.is_closed() {
                        tracing::warn!("the last steps are not saved; they will be taken again");
                        return Ok(false);
                    }
                    waited = true;
                    std::thread::sleep(FULL);
                }
                saved => {
                    if waited {
                        tracing::warn!("there is space again: training goes on");
                        self.progress.note_trouble(Waiting::Checkpoint, None);
                    }
                    saved?;
                    return Ok(true);
                }
            }
        }
    }
}

/// Where the replay stood after the later of two batches. Batches of several threads come out of
/// order, and what one checkpoint has let go no later one may need.
fn later(one: ReplayState, other: ReplayState) -> ReplayState {
    if other.cursor.batches < one.cursor.batches { one } else { other }
}

#[cfg(test)]
mod tests {
    use ouro_replay::Cursor;

    use super::*;

    #[test]
    fn batches_that_come_out_of_order_never_take_the_cursor_back() {
        let state = |batches, first| {
            let cursor = Cursor { batches, first, ..Cursor::default() };
            ReplayState { cursor, ..ReplayState::default() }
        };
        let drawn = [state(2, 5), state(1, 3), state(4, 9), state(3, 9)];
        let trained = drawn.into_iter().scan(state(0, 0), |trained, next| {
            *trained = later(*trained, next);
            Some(trained.cursor.first)
        });
        assert_eq!(trained.collect::<Vec<_>>(), [5, 5, 9, 9]);
    }
}
