//! The learner's series for Prometheus.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use ouro_replay::RefusalReason;
use ouro_service::metrics::{Readings, Source, free_bytes};
use tokio::sync::watch;

use crate::publisher::Delivery;
use crate::replay::SharedReplay;
use crate::status::{Condition, SharedStatus};

ouro_service::series! {
    /// The series of the learner.
    pub const SERIES = [
        ACCEPTED: Counter "ouro_learner_games_accepted_total" []
            "Games accepted since the start of the run.";
        REFUSED: Counter "ouro_learner_games_refused_total" ["reason"]
            "Games refused by this process, by the reason that the actor gets.";
        DUPLICATES: Counter "ouro_learner_games_duplicate_total" []
            "Games that arrived again after their decision, and were acknowledged without being counted.";
        POSITIONS: Counter "ouro_learner_positions_accepted_total" []
            "Positions with something to learn in the accepted games, since the start of the run.";
        SAMPLED: Counter "ouro_learner_positions_sampled_total" []
            "Positions that this process sampled for training.";
        STEPS: Counter "ouro_learner_training_steps_total" []
            "Optimiser steps of this process.";
        TRAINING_WAITS: Counter "ouro_learner_training_waiting_seconds_total" ["reason"]
            "Seconds that training waited: for `games` of actors, for `batches` to be assembled, for the `arena` to take the last weights, or for space on the `disk`.";
        INTAKE_WAITS: Counter "ouro_learner_intake_waiting_seconds_total" ["reason"]
            "Seconds in which no game was accepted: because `training` was behind, or the `disk` was full.";
        RUN_SAMPLED: Gauge "ouro_learner_sampled_positions" []
            "Positions sampled for training since the start of the run.";
        RUN_STEPS: Gauge "ouro_learner_steps" []
            "Optimiser steps since the start of the run.";
        NEWEST: Gauge "ouro_learner_newest_generation" []
            "Newest generation that training has made.";
        PUBLISHED: Gauge "ouro_learner_published_generation" []
            "Newest generation that the arena has; absent until the arena has answered.";
        WINDOW_GAMES: Gauge "ouro_learner_window_games" []
            "Games in the replay window.";
        WINDOW_POSITIONS: Gauge "ouro_learner_window_positions" []
            "Positions in the replay window.";
        WINDOW_CAPACITY: Gauge "ouro_learner_window_capacity_positions" []
            "Positions that the replay window holds at present at most.";
        STALENESS: Gauge "ouro_learner_staleness_generations" []
            "Mean number of generations between recently sampled positions and the newest weights.";
        LOSS: Gauge "ouro_learner_loss" ["part"]
            "Loss per position of the last step that was read from the device: `total`, `policy` and `value`.";
        ENTROPY: Gauge "ouro_learner_policy_entropy_nats" []
            "Entropy of the policy at that step.";
        GRADIENT: Gauge "ouro_learner_gradient_norm" []
            "L2 norm of the gradient before clipping at that step.";
        RETURN: Gauge "ouro_learner_mean_return" []
            "Mean undiscounted return of learning seats over the last 512 returns.";
        ACTORS: Gauge "ouro_learner_connected_actors" []
            "Actors connected.";
        COMPARED: Gauge "ouro_learner_compared_actors" []
            "Actors with enough games of settled generations for a comparison with all others.";
        DEVIATING: Gauge "ouro_learner_deviating_actors" []
            "Actors whose outcomes or game lengths deviate from those of all others.";
        ACKNOWLEDGEMENT: Histogram "ouro_learner_acknowledgement_seconds" []
            "Time from the arrival of a game to its acknowledgement, which includes the time that training makes it wait.";
        JOURNAL: Gauge "ouro_learner_journal_bytes" []
            "Size of the journal of games on disk.";
        SYNC: Histogram "ouro_learner_journal_sync_seconds" []
            "Time to write and sync a group of games to the journal.";
        DISK: Gauge "ouro_learner_disk_free_bytes" []
            "Free space on the disk of the journal and the training states.";
        BLOCKED: Gauge "ouro_learner_blocked" ["condition"]
            "1 while the learner waits for an operator, else 0: the `journal` or the `training_state` cannot be written, or the `arena` does not answer or takes no weights.";
    ];
}

/// Reads the series of a learner.
#[derive(Debug)]
pub struct LearnerSource {
    pub(crate) progress: SharedStatus,
    pub(crate) replay: Arc<SharedReplay>,
    pub(crate) delivered: watch::Receiver<Delivery>,
    /// Folder of the journal and the training states.
    pub(crate) folder: PathBuf,
    /// Positions that the run had sampled when this process resumed it.
    pub(crate) earlier_samples: u64,
    /// Optimiser steps that the run had taken then.
    pub(crate) earlier_steps: u64,
}

impl Source for LearnerSource {
    fn read(&self, readings: &mut Readings<'_>) -> fmt::Result {
        let (status, figures) = (self.progress.get(), self.progress.figures());
        let (replay, _) = self.replay.status();
        let (report, now) = (status.report, Instant::now());
        let count = |reason: RefusalReason| {
            let count = status.refused.get(&reason).copied().unwrap_or_default();
            (reason.as_str(), count)
        };
        readings.one(&ACCEPTED, status.games)?;
        readings.each(&REFUSED, RefusalReason::ALL.map(count))?;
        readings.one(&DUPLICATES, figures.duplicates.load(Ordering::Relaxed))?;
        readings.one(&POSITIONS, status.moves)?;
        // After a kill, the numbers of the run continue from the last training state, below their last
        // values. Prometheus takes such a counter for one that started again at 0, and adds all of it.
        let samples = replay.counters.samples;
        readings.one(&SAMPLED, samples.saturating_sub(self.earlier_samples))?;
        readings.one(&STEPS, status.step.saturating_sub(self.earlier_steps))?;
        readings.each(&TRAINING_WAITS, figures.training.seconds(now))?;
        readings.each(&INTAKE_WAITS, figures.intake.seconds(now))?;
        readings.one(&RUN_SAMPLED, samples)?;
        readings.one(&RUN_STEPS, status.step)?;
        readings.one(&NEWEST, status.generation.0)?;
        let published = self.delivered.borrow().newest;
        readings.maybe(&PUBLISHED, published.map(|generation| generation.0))?;
        readings.one(&WINDOW_GAMES, replay.games)?;
        readings.one(&WINDOW_POSITIONS, replay.positions)?;
        readings.one(&WINDOW_CAPACITY, replay.capacity)?;
        readings.one(&STALENESS, replay.staleness.lag)?;
        let loss = report.loss;
        let parts = [("total", loss.total), ("policy", loss.policy), ("value", loss.value)];
        readings.each(&LOSS, parts)?;
        readings.one(&ENTROPY, loss.entropy)?;
        readings.one(&GRADIENT, report.gradient_norm)?;
        readings.one(&RETURN, status.mean_return)?;
        readings.one(&ACTORS, figures.actors.count())?;
        let (compared, deviating) = figures.deviations.counts();
        readings.one(&COMPARED, compared)?;
        readings.one(&DEVIATING, deviating)?;
        readings.histogram(&ACKNOWLEDGEMENT, [], &figures.acknowledgement)?;
        readings.one(&JOURNAL, figures.journal_bytes.load(Ordering::Relaxed))?;
        readings.histogram(&SYNC, [], &figures.sync)?;
        readings.maybe(&DISK, free_bytes(&self.folder))?;
        let is_active = |(condition, name)| (name, status.conditions.get(condition).is_some());
        readings.each(&BLOCKED, Condition::ALL.map(is_active))
    }
}
