//! The training thread: batches in, generations out.
//!
//! Every [`every_steps`](crate::config::CheckpointConfig::every_steps) steps the network
//! becomes a *generation*: first a checkpoint on disk, then a [`Release`] for the
//! [publisher](crate::publisher). In this order a generation number, once seen by anybody,
//! always means the same weights, whatever is killed in between; steps since the last
//! checkpoint are taken again with new games.

use std::sync::Arc;

use bytes::Bytes;
use ouro_net::Weights;
use ouro_proto::Generation;
use tokio::sync::watch;

use crate::agreement::Probe;
use crate::algorithm::Algorithm;
use crate::checkpoint::{Checkpoint, CheckpointError, RunState, Store};
use crate::progress::SharedProgress;
use crate::queue::Queue;
use crate::samples::Samples;
use crate::trainer::{TrainError, Trainer};

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
        Self {
            generation: Generation(meta.generation),
            step: meta.step,
            file: weights.to_safetensors().into(),
        }
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
}

/// Everything that the training thread owns or shares.
pub struct Training<A> {
    /// The network.
    pub trainer: Trainer<A>,
    /// What every export is checked on.
    pub probe: Probe,
    /// Where batches come from.
    pub queue: Arc<Queue>,
    /// Where checkpoints go.
    pub store: Store,
    /// What others see.
    pub progress: SharedProgress,
    /// Where weights go.
    pub releases: Releases,
    /// Moves per step.
    pub batch_moves: usize,
    /// Steps between generations.
    pub every_steps: u64,
}

impl<A: Algorithm> Training<A>
where
    A::Batch: From<Samples>,
{
    /// Trains until the queue is closed, then makes a last generation of what was learned
    /// since the one before. Blocks.
    pub fn run(mut self) -> Result<(), TrainingError> {
        let mut released = self.trainer.step_count();
        while let Some(batch) = self.queue.take(self.batch_moves) {
            let report = self.trainer.step(&batch.into())?;
            let step = self.trainer.step_count();
            self.progress.update(|progress| {
                progress.step = step;
                if let Some(report) = report {
                    progress.report = report;
                }
            });
            if let Some(report) = report {
                let (loss, norm) = (report.loss, report.gradient_norm);
                tracing::info!(
                    step,
                    loss = loss.total,
                    value = loss.value,
                    entropy = loss.entropy,
                    ratio = loss.ratio,
                    gradient_norm = norm,
                    "trained"
                );
            }
            if step.is_multiple_of(self.every_steps) {
                self.release()?;
                released = step;
            }
        }
        if self.trainer.step_count() > released {
            self.release()?;
        }
        Ok(())
    }

    fn release(&mut self) -> Result<(), TrainingError> {
        let progress = self.progress.get();
        let generation = progress.generation + 1;
        let checkpoint = Checkpoint {
            weights: self.trainer.export(generation, &self.probe)?,
            training: self.trainer.state()?,
            state: RunState {
                games: progress.games,
                moves: progress.moves,
                watermarks: self.queue.watermarks(),
            },
        };
        self.store.save(&checkpoint)?;
        self.progress.update(|progress| progress.generation = generation);
        let release = Release::from(&checkpoint.weights);
        tracing::info!(generation, step = release.step, games = progress.games, "new generation");
        self.releases.send_replace(Some(Arc::new(release)));
        Ok(())
    }
}
