//! The learner service: port, training thread, publisher, training states.
//!
//! ```text
//! let learner = Learner::bind(config).await?;   // state loaded, port open, nothing runs
//! learner.run_until(stop).await?;               // returns when drained
//! ```
//!
//! A run first requests the arena's newest generation. If the arena is ahead of the newest intact
//! training state, the learner continues counting from the arena's generation. Each generation
//! number therefore means one set of weights, and games played with the arena's newest weights
//! are accepted. Until the arena answers, the port is open and the status names the arena as the
//! missing service. No actor is accepted before that, because its games may come from a later
//! generation than this learner's own.
//!
//! The first part to end (training, journal, publisher or server) ends the run with its error. So
//! does an arena with which the learner would not start: see [`arena_watch`].
//!
//! In a drain, streams end and the step in progress finishes. The steps since the last generation
//! become a generation, which is saved and then published; a led replay makes none. Then the port
//! closes. Accepted games that were not drawn yet are in the journal, from which the next start
//! fills the replay. The folder stays locked until the last generation is saved.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ouro_proto::arena_client::{ArenaClient, ArenaError};
use ouro_proto::learner::v1::learner_service_server::LearnerServiceServer;
use ouro_replay::FolderLock;
use ouro_service::server::Limits;
use ouro_service::{Background, Backoff, BoxFuture, GrpcServer, identity};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::alphazero::AlphaZero;
use crate::config::{AlgorithmConfig, Config};
use crate::feed::{self, Assemble};
use crate::journal_writer::{JournalWriter, JournalWriterThread};
use crate::metrics::LearnerSource;
use crate::publisher::{ArenaRun, Delivery, Publisher};
use crate::reinforce::Reinforce;
use crate::replay::SharedReplay;
use crate::rules::Rules;
use crate::run_file::stored_run;
use crate::service::{Intake, MAX_MESSAGE_BYTES, PERMISSIONS};
use crate::status::{Condition, LearnerStatus, SharedStatus};
use crate::trainer::Trainer;
use crate::training_loop::{
    DeliveryReceiver, SnapshotSender, TrainingLoop, TrainingLoopError, WeightsSnapshot,
};
use crate::training_state::TrainingState;

use arena_watch::ArenaWatch;
pub use error::LearnerError;
#[cfg(feature = "simulation")]
pub use simulation::SimulatedLearner;
use start::ResumedRun;
pub use start::check_arena_fits;
pub(crate) use start::{check_run, filled};

mod arena_watch;
mod error;
#[cfg(feature = "simulation")]
mod simulation;
mod start;

/// Maximum time for streams to end in a drain. A stream ends at once unless the rules check is
/// replaying one of its games.
const DRAIN: Duration = Duration::from_secs(10);

/// A learner whose port is open; nothing runs yet.
pub struct Learner {
    config: Config,
    server: GrpcServer,
    rules: Arc<dyn Rules>,
    replay: Arc<SharedReplay>,
    journal_writer: JournalWriter,
    journal_thread: JournalWriterThread,
    /// Outlives the journal, because the last training state is saved after the journal is closed.
    lock: FolderLock,
    resumed: ResumedRun,
    arena: Option<ArenaClient>,
    progress: SharedStatus,
    intake: Intake,
    stop_streams: CancellationToken,
    /// The state of delivery to the arena.
    delivery: watch::Sender<Delivery>,
}

impl Learner {
    /// Validates the configuration, opens the port and prepares the run.
    ///
    /// Loads the newest training state or creates generation 0, and fills the replay from the
    /// journal. Fails if the chosen device and the CPU engine disagree on the loaded weights. No
    /// call is answered and no step is taken yet.
    pub fn bind(config: Config) -> BoxFuture<Result<Self, LearnerError>> {
        Box::pin(Self::open(config))
    }

    async fn open(config: Config) -> Result<Self, LearnerError> {
        config.validate()?;
        let rules: Arc<dyn Rules> = crate::rules::rules(&config)?.into();
        let tls = config.client_tls.as_ref();
        let arena = config.arena.as_deref().map(|arena| ArenaClient::with_tls(arena, tls));
        let arena = arena.transpose()?;
        let arena = arena.map(|arena| arena.credential(config.credential.clone()));
        let server = GrpcServer::bind(config.listen, Limits::default()).await?;
        let server = server.guarded(config.guard.clone()).tls(config.server_tls.clone());
        let (settings, game_rules) = (config.clone(), Arc::clone(&rules));
        let start =
            Background::thread("ouro-start", move || start::resume(&settings, &*game_rules))?;
        let (resumed, replay, journal, deviations) = start.join().await??;

        let meta = resumed.training_state.weights.meta();
        identity().set_game(config.game.name());
        identity().set_generation(meta.generation.0);
        if let Ok(Some(run)) = stored_run(&config.training_states.directory) {
            identity().set_run(run);
        }
        let (held, _) = replay.status();
        let status = LearnerStatus {
            step: meta.step,
            generation: meta.generation,
            games: journal.records(),
            moves: held.counters.inserts,
            device: resumed.device.name().to_owned(),
            device_kind: resumed.device.kind(),
            ..LearnerStatus::default()
        };
        let progress = SharedStatus::resumed(status, deviations);
        tracing::info!(
            device = resumed.device.name(),
            step = meta.step,
            generation = meta.generation.0,
            games = held.games,
            "ready"
        );
        let lock = journal.disk().lock();
        let (journal_writer, journal_thread) =
            JournalWriter::start(journal, Arc::clone(&replay), progress.clone())?;
        let stop_streams = CancellationToken::new();
        let delivery = watch::Sender::<Delivery>::default();
        let intake = Intake::new(
            Arc::clone(&rules),
            journal_writer.clone(),
            Arc::clone(&replay),
            progress.clone(),
            delivery.subscribe(),
            &config,
            stop_streams.clone(),
        );
        let service =
            LearnerServiceServer::new(intake.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES);
        let server =
            server.add_service(service, PERMISSIONS).describe(ouro_proto::FILE_DESCRIPTOR_SET);
        Ok(Self {
            config,
            server,
            rules,
            replay,
            journal_writer,
            journal_thread,
            lock,
            resumed,
            arena,
            progress,
            intake,
            stop_streams,
            delivery,
        })
    }

    /// The address that actors push to.
    pub fn address(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// The status of the run; the handle stays valid while the learner runs.
    pub fn status(&self) -> SharedStatus {
        self.progress.clone()
    }

    /// The series of the learner for Prometheus; the source stays valid while the learner runs.
    pub fn metrics(&self) -> LearnerSource {
        let TrainingState { weights, run, .. } = &self.resumed.training_state;
        LearnerSource {
            progress: self.progress.clone(),
            replay: Arc::clone(&self.replay),
            delivered: self.delivery.subscribe(),
            folder: self.config.training_states.directory.clone(),
            earlier_samples: run.replay.counters.samples,
            earlier_steps: weights.meta().step,
        }
    }

    /// The replay; the handle stays valid while the learner runs.
    pub fn replay(&self) -> Arc<SharedReplay> {
        Arc::clone(&self.replay)
    }

    /// Serves and trains until `stop` is cancelled, then drains: streams end, the last steps become
    /// a generation, and the port closes.
    pub fn run_until(self, stop: CancellationToken) -> BoxFuture<Result<(), LearnerError>> {
        Box::pin(self.run(stop))
    }

    async fn run(self, stop: CancellationToken) -> Result<(), LearnerError> {
        let Self { config, server, replay, journal_writer, intake, stop_streams, .. } = self;
        let stop_server = CancellationToken::new();
        let mut server = Background::task("server", server.run_until(stop_server.clone()));
        let mut journal_thread = self.journal_thread;
        let arena = self.arena;
        let mut publisher = arena.clone().map(|arena| Publisher::new(arena, Backoff::default()));
        // The server already runs here, so `GetStatus` can report that the arena is missing.
        let known = tokio::select! {
            () = stop.cancelled() => None,
            () = server.ended() => None,
            () = journal_thread.ended() => None,
            known = arena_run(&mut publisher, &self.progress) => Some(known),
        };
        let run = known.as_ref().and_then(|known| known.as_ref().ok()?.run);
        let mut started = known.map(|known| {
            let thread = TrainingThread {
                config,
                resumed: self.resumed,
                rules: self.rules,
                replay: Arc::clone(&replay),
                journal_writer: journal_writer.clone(),
                lock: self.lock,
                progress: self.progress,
                delivery: self.delivery,
            };
            thread.start(known?, arena, publisher)
        });
        let mut misfit = None;
        if let Some(Ok(training)) = &mut started {
            intake.welcome_actors(run);
            tokio::select! {
                () = stop.cancelled() => {}
                error = training.ended() => misfit = error,
                () = journal_thread.ended() => {}
                () = server.ended() => {}
            }
        }
        end_streams(&stop_streams, &replay, &intake, &journal_writer).await;
        let trained = match started {
            Some(Ok(training)) => training.join(misfit.is_none()).await,
            Some(Err(error)) => Err(error),
            None => Ok(()),
        };
        stop_server.cancel();
        let served = server.join().await?;
        journal_thread.join().await??;
        misfit.map_or(Ok(()), Err)?;
        trained?;
        served?;
        Ok(())
    }
}

/// Requests the arena's run and newest generation. Until the arena answers, the status has
/// [`Condition::Arena`]. Returns the default without an arena.
async fn arena_run(
    publisher: &mut Option<Publisher<ArenaClient>>,
    progress: &SharedStatus,
) -> Result<ArenaRun, ArenaError> {
    let Some(publisher) = publisher else { return Ok(ArenaRun::default()) };
    let known = publisher
        .arena_run(|error| {
            let message = format!("{error}; start it: no game is accepted until it answers");
            progress.set_condition(Condition::Arena, Some(message));
        })
        .await;
    progress.set_condition(Condition::Arena, None);
    known
}

/// Ends the streams of actors and commits the games that they sent.
async fn end_streams(
    stop: &CancellationToken,
    replay: &SharedReplay,
    intake: &Intake,
    journal_writer: &JournalWriter,
) {
    stop.cancel();
    // A closed replay blocks no insert, so the journal writer accepts the last games.
    replay.close();
    if tokio::time::timeout(DRAIN, intake.drained()).await.is_err() {
        tracing::warn!("streams still open after the drain time");
    }
    // Closed after the streams, so that the last commit includes their games.
    journal_writer.close().await;
}

/// The running training thread, and the publisher of its generations.
struct Training {
    thread: Background<Result<(), LearnerError>>,
    publisher: Background<Result<(), ArenaError>>,
    /// Ends once the learner would not start with the arena.
    watch: BoxFuture<LearnerError>,
    /// Maximum time for publishing the last weights.
    grace: Duration,
}

impl Training {
    /// Waits until training or its publisher ends, or until the learner would not start with the
    /// arena. Returns the error of such a start.
    async fn ended(&mut self) -> Option<LearnerError> {
        tokio::select! {
            () = self.thread.ended() => None,
            () = self.publisher.ended() => None,
            misfit = &mut self.watch => Some(misfit),
        }
    }

    /// Waits for the training thread, which ends once the replay is closed, and for the delivery of
    /// its last generation, if it `delivers` that.
    async fn join(mut self, delivers: bool) -> Result<(), LearnerError> {
        if !delivers {
            self.publisher.abort();
            return self.thread.join().await?;
        }
        let trained = self.thread.join().await;
        // The training thread dropped the sender, so the publisher ends after it delivers the last
        // snapshot.
        let delivered = tokio::time::timeout(self.grace, self.publisher.ended()).await.is_ok();
        if !delivered {
            self.publisher.abort();
            tracing::warn!(
                "the arena did not take the last weights; the next start publishes them"
            );
        }
        trained??;
        if delivered {
            self.publisher.join().await??;
        }
        Ok(())
    }
}

/// The parts that the training thread owns at its start.
struct TrainingThread {
    config: Config,
    resumed: ResumedRun,
    rules: Arc<dyn Rules>,
    replay: Arc<SharedReplay>,
    journal_writer: JournalWriter,
    /// Held until the thread ends, because it writes the training states.
    lock: FolderLock,
    progress: SharedStatus,
    delivery: watch::Sender<Delivery>,
}

impl TrainingThread {
    /// Starts training and publishing, unless the arena belongs to another run.
    fn start(
        mut self,
        known: ArenaRun,
        arena: Option<ArenaClient>,
        publisher: Option<Publisher<ArenaClient>>,
    ) -> Result<Training, LearnerError> {
        let directory = self.config.training_states.directory.clone();
        self.resumed.join(known, &directory)?;
        let ArenaRun { run, newest } = known;
        let own = WeightsSnapshot::new(&self.resumed.training_state.weights, None);
        let behind = newest.filter(|newest| *newest > own.generation);
        if let Some(generation) = behind {
            let own = own.generation.0;
            tracing::warn!(
                own,
                generation = generation.0,
                "the arena has newer weights; continuing from its generation"
            );
            self.progress.update(|progress| {
                progress.generation = progress.generation.max(generation);
            });
            self.replay.published(generation);
        }
        // Not published if older than the arena's newest generation, which would be refused.
        let first = behind.is_none().then(|| Arc::new(own));
        let grace = Duration::from_millis(self.config.training_states.publish_grace_ms);
        let (snapshots, mut published) = watch::channel(first);
        let delivery = self.delivery.clone();
        delivery.send_replace(Delivery { newest, error: None });
        let delivered = publisher.is_some().then(|| delivery.subscribe());
        let watch: BoxFuture<LearnerError> = match arena {
            Some(arena) => {
                let (snapshots, delivery) = (published.clone(), delivery.clone());
                Box::pin(ArenaWatch { arena, directory, run, snapshots, delivery }.run())
            }
            None => Box::pin(std::future::pending()),
        };
        let publisher = Background::task("publisher", async move {
            if let Some(publisher) = publisher {
                return publisher.publish(published, delivery).await;
            }
            // Without an arena, the task only waits for the training thread to drop the sender.
            while published.changed().await.is_ok() {}
            Ok(())
        });
        let run = move || self.run(snapshots, delivered);
        let thread = Background::thread("ouro-training", run)?;
        Ok(Training { thread, publisher, watch, grace })
    }

    fn run(
        self,
        snapshots: SnapshotSender,
        delivery: DeliveryReceiver,
    ) -> Result<(), LearnerError> {
        match self.config.train.algorithm.clone() {
            AlgorithmConfig::AlphaZero(config) => {
                let draw = self.config.draw;
                self.train(AlphaZero::new(&config, draw), snapshots, delivery)
            }
            AlgorithmConfig::Reinforce(config) => {
                self.train(Reinforce::from(&config), snapshots, delivery)
            }
        }
    }

    fn train<A: Assemble>(
        self,
        algorithm: A,
        snapshots: SnapshotSender,
        delivery: DeliveryReceiver,
    ) -> Result<(), LearnerError> {
        let Self { config, resumed, rules, replay, journal_writer, lock, progress, .. } = self;
        let ResumedRun { store, training_state, taken, device, export_check, .. } = resumed;
        let TrainingState { weights, trainer: state, run } = training_state;
        let saved = weights.meta().generation;
        let trainer = Trainer::new(algorithm, config.train.clone(), &weights, Some(&state), device)
            .map_err(TrainingLoopError::from)?;
        let threads = config.replay.assembly_threads;
        let feed =
            feed::start::<A>(&replay, &rules, config.seed, config.train.batch_moves, threads)?;
        let training = TrainingLoop {
            trainer,
            export_check,
            feed,
            run,
            replay,
            journal_writer,
            store,
            saved,
            taken,
            kept: config.training_states.kept,
            progress,
            snapshots,
            delivery,
            every_steps: config.training_states.every_steps,
        };
        let trained = training.run();
        drop(lock);
        Ok(trained?)
    }
}

#[cfg(test)]
mod tests;
