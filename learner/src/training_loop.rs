//! The training thread, which trains on batches and makes generations.
//!
//! Every [`every_steps`](crate::config::TrainingStateConfig::every_steps) steps the network becomes
//! a *generation*: first a training state on disk, then a [`WeightsSnapshot`] for the [publisher].
//! Because of this order, a published generation number always means the same weights, even if the
//! process is killed in between. The next start repeats the steps since the last saved state. Their
//! batches are the same only in a deterministic run, or if a single thread assembles them and the
//! journal holds no game after the state: later games are in the replay before the first repeated step.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ouro_net::{Generation, Weights};
use ouro_replay::ReplayState;
use ouro_service::identity;
use ouro_traces::Time;
use tokio::sync::watch;

use crate::algorithm::Algorithm;
use crate::error::TrainError;
use crate::export::ExportCheck;
use crate::feed::{AssembledBatch, Feed, FeedError};
use crate::figures::TrainingWait;
use crate::game_traces;
use crate::journal_writer::JournalWriter;
use crate::publisher::{self, Delivery};
use crate::replay::SharedReplay;
use crate::status::{Condition, SharedStatus};
use crate::trainer::{StepReport, Trainer};
use crate::training_state::{RunState, StateStore, TrainingState, TrainingStateError};

/// Pause before the next attempt to save on a full disk.
const DISK_FULL_PAUSE: Duration = Duration::from_secs(1);

/// Interval between two looks at what training waits for.
const STARVATION_PAUSE: Duration = Duration::from_millis(50);

/// Interval between two checks of the delivery to the arena.
const DELIVERY_PAUSE: Duration = Duration::from_millis(20);
/// Time without delivery after which the status reports that training is paused.
const DELIVERY_TIME: Duration = Duration::from_secs(2);

/// Published form of one generation's weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WeightsSnapshot {
    /// The generation.
    pub generation: Generation,
    /// Optimiser steps up to these weights.
    pub step: u64,
    /// The safetensors file.
    pub file: Bytes,
    /// The generation that training continued from, published or not; `None` if it is not known.
    pub parent: Option<Generation>,
}

impl WeightsSnapshot {
    /// The published form of `weights`.
    pub(crate) fn new(weights: &Weights, parent: Option<Generation>) -> Self {
        let (meta, file) = (weights.meta(), weights.to_safetensors().into());
        Self { generation: meta.generation, step: meta.step, file, parent }
    }
}

/// Sender of the newest snapshot. A new snapshot replaces one that was not received yet.
pub(crate) type SnapshotSender = watch::Sender<Option<Arc<WeightsSnapshot>>>;

/// Receiver of the state of delivery; `None` without an arena.
pub(crate) type DeliveryReceiver = Option<watch::Receiver<Delivery>>;

/// Why the training thread ended before the replay was closed.
#[derive(Debug, thiserror::Error)]
pub enum TrainingLoopError {
    /// The step failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The training state could not be written.
    #[error(transparent)]
    TrainingState(#[from] TrainingStateError),
    /// A batch cannot be made.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// The threads that make batches ended early, which is a bug.
    #[error("the threads that make batches ended before training did; report it as a bug")]
    NoFeed,
}

/// The state of the training thread.
pub(crate) struct TrainingLoop<A: Algorithm> {
    /// The network.
    pub trainer: Trainer<A>,
    /// The check that every export passes before it is saved.
    pub export_check: ExportCheck,
    /// The queue of assembled batches.
    pub feed: Feed<A::Batch>,
    /// The run, and the replay after the last trained batch.
    pub run: RunState,
    /// The replay, to detect its closing and to report new generations.
    pub replay: Arc<SharedReplay>,
    /// The journal, to release records that no training state needs.
    pub journal_writer: JournalWriter,
    /// The saved training states.
    pub store: StateStore,
    /// The generation of the newest one, from which training continues.
    pub saved: Generation,
    /// The newest generation of any training state, lost ones included. New weights get numbers
    /// above it.
    pub taken: Generation,
    /// Number of training states to keep.
    pub kept: usize,
    /// The status of the run.
    pub progress: SharedStatus,
    /// Snapshots for the publisher.
    pub snapshots: SnapshotSender,
    /// The state of delivery to the arena.
    pub delivery: DeliveryReceiver,
    /// Steps between generations.
    pub every_steps: u64,
}

impl<A: Algorithm> TrainingLoop<A> {
    /// Trains until the replay is closed. The steps since the last generation then become a final
    /// generation, unless the replay is led or the arena lacks the generations before it. Blocks.
    pub(crate) fn run(mut self) -> Result<(), TrainingLoopError> {
        let mut published_step = self.trainer.step_count();
        // The first record that each kept training state needs, oldest first.
        let mut needed = VecDeque::new();
        while let Some(assembled) = self.next_batch() {
            let AssembledBatch { batch, state } = assembled?;
            let start = Time::now();
            let report = self.trainer.step(&batch)?;
            let (step, generation) = (self.trainer.step_count(), self.progress.get().generation);
            game_traces::trained(state.cursor.batches, start, step, generation);
            self.run.replay = later(self.run.replay, state);
            self.report(report);
            if self.trainer.step_count().is_multiple_of(self.every_steps) {
                self.wait_for_arena();
                // The arena lacks the newest generation only if the replay was closed.
                if self.replay.is_closed() && self.is_far_ahead() {
                    break;
                }
                published_step = self.trainer.step_count();
                if self.publish_generation()? {
                    needed.push_back(self.run.replay.cursor.first);
                }
                // Before `kept` states are saved, kept states of an earlier process may need older
                // records.
                if needed.len() == self.kept {
                    self.journal_writer.release(needed.pop_front().unwrap_or_default());
                }
            }
        }
        // In a led run every generation has the same number of steps, so a stop makes none. The
        // next start repeats the steps since the last generation.
        let has_steps = self.trainer.step_count() > published_step;
        if has_steps && !self.replay.is_led() && !self.is_far_ahead() {
            self.publish_generation()?;
        }
        if self.replay.is_closed() { Ok(()) } else { Err(TrainingLoopError::NoFeed) }
    }

    /// The next batch; `None` once no thread makes batches. Blocks.
    fn next_batch(&self) -> Option<Result<AssembledBatch<A::Batch>, FeedError>> {
        if let Ok(ready) = self.feed.try_recv() {
            return Some(ready);
        }
        let assembled = loop {
            let is_starved = self.replay.is_starved();
            self.waits_for(Some(match is_starved {
                true => TrainingWait::Games,
                false => TrainingWait::Batches,
            }));
            match self.feed.recv_timeout(STARVATION_PAUSE) {
                Ok(assembled) => break Some(assembled),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break None,
            }
        };
        self.waits_for(None);
        assembled
    }

    fn waits_for(&self, reason: Option<TrainingWait>) {
        self.progress.figures().training.set(reason, Instant::now());
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

    /// Blocks until the arena has the newest generation, or the replay is closed.
    ///
    /// Actors play only with weights that the arena has. If training continued without the arena,
    /// the learner would soon refuse their games as stale. While training is blocked, it draws no
    /// batch, the replay fills up, and the journal writer asks the actors to pause.
    fn wait_for_arena(&self) {
        let Some(delivery) = &self.delivery else { return };
        let generation = self.progress.get().generation;
        let has_newest = || delivery.borrow().newest >= Some(generation);
        let (mut waited, mut is_reported) = (Duration::ZERO, false);
        while !has_newest() && !self.replay.is_closed() {
            self.waits_for(Some(TrainingWait::Arena));
            std::thread::sleep(DELIVERY_PAUSE);
            waited += DELIVERY_PAUSE;
            if waited >= DELIVERY_TIME && !is_reported {
                is_reported = true;
                let error = delivery.borrow().error.clone();
                let error = error.unwrap_or_else(|| "it is slow".to_owned());
                tracing::warn!(
                    generation = generation.0,
                    error,
                    "the arena lacks the newest weights: training pauses"
                );
                let message = format!(
                    "the arena lacks {generation} ({error}); start it, and training continues"
                );
                self.progress.set_condition(Condition::Arena, Some(message));
            }
        }
        self.waits_for(None);
        if is_reported {
            tracing::warn!(generation = generation.0, "training continues");
            self.progress.set_condition(Condition::Arena, None);
        }
    }

    /// Whether the arena lacks so many generations that the next start may refuse another one.
    fn is_far_ahead(&self) -> bool {
        let Some(delivery) = &self.delivery else { return false };
        publisher::is_far_ahead(self.next_generation(), delivery.borrow().newest)
    }

    /// The number of the next generation.
    fn next_generation(&self) -> Generation {
        self.progress.get().generation.max(self.taken).next()
    }

    /// Saves a generation and sends it to the publisher. Returns `false` if the disk was full until
    /// the replay closed.
    fn publish_generation(&mut self) -> Result<bool, TrainingLoopError> {
        let generation = self.next_generation();
        let training_state = TrainingState {
            weights: self.trainer.export(generation, &self.export_check)?,
            trainer: self.trainer.state()?,
            run: self.run,
        };
        if !self.save(&training_state)? {
            return Ok(false);
        }
        // Announced after the save, because a generation that actors may report must survive a
        // kill.
        self.progress.update(|progress| progress.generation = generation);
        self.replay.published(generation);
        identity().set_generation(generation.0);
        let parent = std::mem::replace(&mut self.saved, generation);
        let snapshot = WeightsSnapshot::new(&training_state.weights, Some(parent));
        tracing::info!(
            generation = generation.0,
            step = snapshot.step,
            games = self.progress.get().games,
            "new generation"
        );
        self.snapshots.send_replace(Some(Arc::new(snapshot)));
        Ok(true)
    }

    /// Saves a training state, and retries while the disk is full. Returns `false` if the disk is
    /// still full when the replay closes.
    fn save(&mut self, training_state: &TrainingState) -> Result<bool, TrainingLoopError> {
        let mut waited = false;
        loop {
            match self.store.save(training_state) {
                Err(error) if error.is_exhausted() => {
                    if !waited {
                        tracing::error!(%error, "the training state cannot be stored: training pauses");
                        self.progress
                            .set_condition(Condition::TrainingState, Some(error.to_string()));
                    }
                    if self.replay.is_closed() {
                        tracing::warn!(
                            "the last steps are not saved; the next start takes them again"
                        );
                        return Ok(false);
                    }
                    waited = true;
                    self.waits_for(Some(TrainingWait::Disk));
                    std::thread::sleep(DISK_FULL_PAUSE);
                }
                saved => {
                    self.waits_for(None);
                    if waited {
                        tracing::warn!(
                            "the training state can be stored again: training continues"
                        );
                        self.progress.set_condition(Condition::TrainingState, None);
                    }
                    saved?;
                    return Ok(true);
                }
            }
        }
    }
}

/// The state of the replay after the later of two batches.
///
/// Batches of several threads arrive out of order. The saved cursor must never move back: records
/// before it may have been removed from the journal.
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
