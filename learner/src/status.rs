//! The status of a run, shared between the learner and its observers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ouro_net::Generation;
use ouro_proto::DeviceKind;
use ouro_replay::RefusalReason;
use ouro_service::Conditions;

use crate::deviation::DeviationWatch;
use crate::figures::Figures;
use crate::trainer::StepReport;

/// Games in the mean return. Enough games that the mean changes slowly, and few enough that it
/// shows a trend within minutes.
const RECENT: usize = 512;

/// The status of a run at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnerStatus {
    /// Optimiser steps taken.
    pub step: u64,
    /// Newest generation of this run.
    pub generation: Generation,
    /// Games accepted since the start of the run.
    pub games: u64,
    /// Moves accepted since the start of the run.
    pub moves: u64,
    /// Games refused by this process, by reason.
    pub refused: BTreeMap<RefusalReason, u64>,
    /// The last step whose loss was read.
    pub report: StepReport,
    /// Mean undiscounted return of learning seats over recent games; 0 before the first.
    pub mean_return: f64,
    /// The training device, as its backend names it.
    pub device: String,
    /// Kind of that device.
    pub device_kind: DeviceKind,
    /// Conditions that an operator must resolve before training continues.
    pub conditions: Conditions<Condition>,
    pub(crate) recent: VecDeque<f32>,
}

/// Work that is blocked until an operator acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// The journal cannot be written.
    Journal,
    /// The training state cannot be written.
    TrainingState,
    /// The arena does not answer, or takes no weights.
    Arena,
}

impl Condition {
    /// Every condition, with its name in metrics.
    pub(crate) const ALL: [(Self, &'static str); 3] = [
        (Self::Journal, "journal"),
        (Self::TrainingState, "training_state"),
        (Self::Arena, "arena"),
    ];
}

/// A [`LearnerStatus`] that the learner writes and any thread reads. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SharedStatus {
    status: Arc<Mutex<LearnerStatus>>,
    figures: Arc<Figures>,
}

impl SharedStatus {
    /// Shares `status`.
    pub fn new(status: LearnerStatus) -> Self {
        Self { status: Arc::new(Mutex::new(status)), figures: Arc::default() }
    }

    /// Shares `status`, with the comparison of actors as the journal gives it.
    pub(crate) fn resumed(status: LearnerStatus, deviations: DeviationWatch) -> Self {
        let figures = Figures { deviations, ..Figures::default() };
        Self { status: Arc::new(Mutex::new(status)), figures: Arc::new(figures) }
    }

    fn lock(&self) -> MutexGuard<'_, LearnerStatus> {
        // Poisoning is ignored, because a panic elsewhere cannot leave the numbers inconsistent.
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Figures that only observers need.
    pub(crate) fn figures(&self) -> &Figures {
        &self.figures
    }

    /// A copy of the status.
    pub fn get(&self) -> LearnerStatus {
        self.lock().clone()
    }

    /// Newest generation of this run.
    pub fn generation(&self) -> Generation {
        self.lock().generation
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut LearnerStatus)) {
        change(&mut self.lock());
    }

    /// Sets a condition, or clears it with `None`.
    pub(crate) fn set_condition(&self, condition: Condition, message: Option<String>) {
        self.lock().conditions.set(condition, message);
    }

    pub(crate) fn accepted(&self, moves: usize, returns: &[f32]) {
        let mut progress = self.lock();
        progress.games += 1;
        progress.moves += moves as u64;
        progress.recent.extend(returns);
        let old = progress.recent.len().saturating_sub(RECENT);
        progress.recent.drain(..old);
        let sum: f64 = progress.recent.iter().copied().map(f64::from).sum();
        progress.mean_return = sum / progress.recent.len().max(1) as f64;
    }

    pub(crate) fn refused(&self, reason: RefusalReason) {
        *self.lock().refused.entry(reason).or_default() += 1;
    }
}
