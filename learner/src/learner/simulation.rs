//! A learner for simulations: the real intake, journal, replay, training states and publisher.
//!
//! A simulation runs on one thread, so tasks take the place of threads. A task that draws batches
//! and takes no optimiser steps stands in for training: each generation has new random weights.
//! Disk of the journal and network are passed in; training states are in a real folder. No trace is
//! sent, because nothing starts their export.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ouro_net::{ContentHash, Generation, NetSpec, Weights, WeightsMeta};
use ouro_proto::ArenaClient;
use ouro_proto::arena_client::ArenaError;
use ouro_proto::learner::v1::learner_service_server::LearnerServiceServer;
use ouro_replay::journal::{Options, Policy};
use ouro_replay::{Disk, Journal};
use ouro_service::server::{Connections, Limits};
use ouro_service::{Background, Backoff, GrpcServer};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::LearnerError;
use super::start::{check_arena, filled, initial_state};
use crate::config::Config;
use crate::deviation::DeviationWatch;
use crate::error::TrainError;
use crate::journal_writer::{JournalWriter, JournalWriterError};
use crate::publisher::{ArenaRun, Delivery, PublishTarget, Publisher};
use crate::replay::SharedReplay;
use crate::rules::{Rules, rules};
use crate::service::{Intake, MAX_MESSAGE_BYTES, PERMISSIONS};
use crate::status::{LearnerStatus, SharedStatus};
use crate::trainer::TrainerState;
use crate::training_loop::{SnapshotSender, TrainingLoopError, WeightsSnapshot};
use crate::training_state::{RunState, StateStore, TrainingState};

/// Time of an optimiser step.
const STEP: Duration = Duration::from_millis(20);

/// A learner for simulations.
pub struct SimulatedLearner<C, D> {
    /// Its configuration, without addresses.
    pub config: Config,
    /// Disk of the journal.
    pub disk: D,
    /// Size limits of the journal.
    pub options: Options,
    /// When the journal writer commits.
    pub commits: Policy,
    /// The connections of the gRPC server.
    pub connections: C,
    /// A client of the arena.
    pub arena: ArenaClient,
    /// Called with each generation that the arena has acknowledged.
    pub published: Box<dyn Fn(Generation, ContentHash) + Send>,
}

/// An arena that reports what it has acknowledged.
struct ReportingTarget {
    arena: ArenaClient,
    published: Box<dyn Fn(Generation, ContentHash) + Send>,
}

impl PublishTarget for ReportingTarget {
    async fn arena_run(&mut self) -> Result<ArenaRun, ArenaError> {
        self.arena.arena_run().await
    }

    async fn publish_snapshot(&mut self, snapshot: &WeightsSnapshot) -> Result<(), ArenaError> {
        self.arena.publish_snapshot(snapshot).await?;
        (self.published)(snapshot.generation, ContentHash::of(&snapshot.file));
        Ok(())
    }

    fn replace_connection(&mut self) {
        self.arena.replace_connection();
    }
}

impl<C, D> SimulatedLearner<C, D>
where
    C: Connections,
    D: Disk<File: Send> + Send + 'static,
{
    /// Serves and trains until the future is dropped, or until a part ends.
    pub async fn run(self) -> Result<(), LearnerError> {
        let Self { config, disk, options, commits, connections, arena, published } = self;
        let rules: Arc<dyn Rules> = rules(&config)?.into();
        let game = serde_json::to_string(&config.game).unwrap_or_default();
        let opened = Journal::open(disk, game.as_bytes(), options);
        let (journal, _) = opened.map_err(JournalWriterError::Journal)?;
        let directory = &config.training_states.directory;
        let mut store = StateStore::open(directory, config.training_states.kept)?;
        let loaded = store.load()?;
        let is_new = loaded.newest.is_none();
        let state = match loaded.newest {
            Some(state) => state,
            None => initial_state(&config, &config.net_spec()?, &game)?,
        };
        state.run.replay.check(journal.oldest_record(), journal.records())?;
        let deviations = DeviationWatch::default();
        let replay = filled(&config, &*rules, &journal, &state.run.replay, &deviations)?;
        let meta = state.weights.meta().clone();
        let replay = Arc::new(SharedReplay::new(replay, meta.generation));
        let status = LearnerStatus {
            step: meta.step,
            generation: meta.generation,
            games: journal.records(),
            ..LearnerStatus::default()
        };
        let progress = SharedStatus::resumed(status, deviations);
        let (writer, writing) =
            JournalWriter::new(journal, Arc::clone(&replay), progress.clone(), commits);
        let mut writing = Background::task("journal", writing);
        let stop = CancellationToken::new();
        let delivery = watch::Sender::<Delivery>::default();
        let intake = Intake::new(
            rules,
            writer.clone(),
            Arc::clone(&replay),
            progress.clone(),
            delivery.subscribe(),
            &config,
            stop.clone(),
        );
        let service = LearnerServiceServer::new(intake.clone());
        let server = GrpcServer::on(connections, Limits::default())
            .add_service(service.max_decoding_message_size(MAX_MESSAGE_BYTES), PERMISSIONS)
            .run_until(stop);
        let mut server = Background::task("server", server);
        let mut publisher =
            Publisher::new(ReportingTarget { arena, published }, Backoff::default());
        let known = tokio::select! {
            biased;
            () = writing.ended() => return Ok(writing.join().await??),
            () = server.ended() => return Ok(server.join().await.map(drop)?),
            known = publisher.arena_run(|_| ()) => known?,
        };
        check_arena(known, directory, meta.generation, is_new)?;
        if is_new {
            store.save(&state)?;
        }
        let newest = known.newest;
        let is_behind = newest > Some(meta.generation);
        if let Some(newest) = newest.filter(|_| is_behind) {
            progress.update(|progress| progress.generation = newest);
            replay.published(newest);
        }
        let first = (!is_behind).then(|| Arc::new(WeightsSnapshot::new(&state.weights, None)));
        let (snapshots, receiver) = watch::channel(first);
        delivery.send_replace(Delivery { newest, error: None });
        let training = Training {
            spec: config.net_spec()?,
            delivery: delivery.subscribe(),
            config,
            state,
            store,
            replay,
            writer,
            progress,
            snapshots,
        };
        let publishing = publisher.publish(receiver, delivery);
        let mut publishing = Background::task("publisher", publishing);
        intake.welcome_actors(known.run);
        tokio::select! {
            biased;
            () = writing.ended() => Ok(writing.join().await??),
            () = server.ended() => Ok(server.join().await.map(drop)?),
            () = publishing.ended() => Ok(publishing.join().await??),
            ended = training.run() => Ok(ended?),
        }
    }
}

/// The stand-in for the training thread.
struct Training {
    config: Config,
    spec: NetSpec,
    state: TrainingState,
    store: StateStore,
    replay: Arc<SharedReplay>,
    writer: JournalWriter,
    progress: SharedStatus,
    snapshots: SnapshotSender,
    delivery: watch::Receiver<Delivery>,
}

impl Training {
    /// Draws batches and makes generations, in the order of the real training loop.
    async fn run(mut self) -> Result<(), TrainingLoopError> {
        let batch = self.config.train.batch_moves;
        let mut needed = VecDeque::new();
        let mut step = self.state.weights.meta().step;
        loop {
            tokio::time::sleep(STEP).await;
            if !self.replay.holds(1, batch) {
                continue;
            }
            let Some(drawn) = self.replay.draw(batch) else { return Ok(()) };
            self.state.run.replay = drawn.state;
            step += 1;
            self.progress.update(|progress| progress.step = step);
            if !step.is_multiple_of(self.config.training_states.every_steps) {
                continue;
            }
            let generation = self.progress.generation();
            // The sender lives as long as the publisher, whose end ends this task.
            let _ = self.delivery.wait_for(|now| now.newest >= Some(generation)).await;
            self.save_generation(generation.next(), step)?;
            needed.push_back(self.state.run.replay.cursor.first);
            if needed.len() == self.config.training_states.kept {
                self.writer.release(needed.pop_front().unwrap_or_default());
            }
        }
    }

    fn save_generation(
        &mut self,
        generation: Generation,
        step: u64,
    ) -> Result<(), TrainingLoopError> {
        let game = self.state.weights.meta().game.clone();
        let meta = WeightsMeta { game, generation, step };
        let seed = self.config.seed.wrapping_add(step);
        let weights = Weights::initialize(self.spec.clone(), meta, seed)
            .map_err(ouro_net::WeightsError::from)
            .map_err(TrainError::from)?;
        let run = RunState { algorithm: self.config.train.algorithm.name(), ..self.state.run };
        let parent = Some(self.state.weights.meta().generation);
        self.state = TrainingState { trainer: TrainerState::initial(&weights), weights, run };
        self.store.save(&self.state)?;
        self.progress.update(|progress| progress.generation = generation);
        self.replay.published(generation);
        let snapshot = WeightsSnapshot::new(&self.state.weights, parent);
        self.snapshots.send_replace(Some(Arc::new(snapshot)));
        Ok(())
    }
}
