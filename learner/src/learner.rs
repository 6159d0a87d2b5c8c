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
//! The first part to end (training, journal, publisher or server) ends the run with its error.
//!
//! In a drain, streams end and the step in progress finishes. The steps since the last generation
//! become a generation, which is saved and then published; a led replay makes none. Then the port
//! closes. Accepted games that were not drawn yet are in the journal, from which the next start
//! fills the replay.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ouro_net::Generation;
use ouro_proto::arena_client::{ArenaClient, ArenaError};
use ouro_proto::learner::v1::learner_service_server::LearnerServiceServer;
use ouro_service::server::Limits;
use ouro_service::{
    Background, BackgroundError, Backoff, BoxFuture, ExitStatus, GrpcServer, ServiceError,
};
use ouro_settings::SettingError;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::alphazero::AlphaZero;
use crate::config::{AlgorithmConfig, Config};
use crate::device::DeviceError;
use crate::feed::{self, Assemble};
use crate::journal_writer::{JournalWriter, JournalWriterError, JournalWriterThread};
use crate::publisher::{Delivery, Publisher};
use crate::reinforce::Reinforce;
use crate::replay::SharedReplay;
use crate::rules::{Rules, UnpackError};
use crate::service::{Intake, MAX_MESSAGE_BYTES};
use crate::status::{Condition, LearnerStatus, SharedStatus};
use crate::trainer::Trainer;
use crate::training_loop::{
    DeliveryReceiver, SnapshotSender, TrainingLoop, TrainingLoopError, WeightsSnapshot,
};
use crate::training_state::{RunState, TrainingState, TrainingStateError};

use start::ResumedRun;

mod start;

/// Maximum time for streams to end in a drain. A stream ends at once unless the rules check is
/// replaying one of its games.
const DRAIN: Duration = Duration::from_secs(10);

/// Why a learner cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum LearnerError {
    /// A field is out of range.
    #[error(transparent)]
    Config(#[from] SettingError),
    /// The game's configuration is out of range.
    #[error(transparent)]
    Game(#[from] ouro_game::ConfigError),
    /// The run in the folder has another game, network or algorithm.
    #[error(
        "{what} is {asked}, but the run in {directory} has {what} {stored}; restore that setting, or choose another folder for a new run"
    )]
    OtherRun {
        /// The directory of the run.
        directory: String,
        /// `game`, `network` or `algorithm`.
        what: &'static str,
        /// Value in the run's folder.
        stored: String,
        /// Value in the configuration.
        asked: String,
    },
    /// The journal holds games, but there is no training state.
    #[error(
        "{directory} has a journal of {games} games but no training state: it was removed; put the \
         folder checkpoints back, or move {directory} away to start anew"
    )]
    NoTrainingState {
        /// The directory of the learner.
        directory: String,
        /// Games in the journal.
        games: u64,
    },
    /// A training state cannot be read or written.
    #[error(transparent)]
    TrainingState(#[from] TrainingStateError),
    /// The journal cannot be read or written.
    #[error(transparent)]
    JournalWriter(#[from] JournalWriterError),
    /// A game of the journal does not replay by the rules.
    #[error("game {number} of the journal: {error}")]
    Journalled {
        /// Number of the game in the journal.
        number: u64,
        /// Reason.
        error: UnpackError,
    },
    /// Training state and journal belong to different runs.
    #[error(transparent)]
    Replay(#[from] ouro_replay::StateError),
    /// The device is not available.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The arena's address is not usable, or the arena refused this run.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The port cannot be opened or served.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// Training failed.
    #[error(transparent)]
    Training(#[from] TrainingLoopError),
    /// A thread or task could not start or ended early.
    #[error(transparent)]
    Background(#[from] BackgroundError),
}

impl LearnerError {
    /// The exit status of a process that this error ends.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            Self::Config(_) | Self::Game(_) | Self::OtherRun { .. } => ExitStatus::BadConfiguration,
            Self::Training(TrainingLoopError::Train(error)) if error.is_divergence() => {
                ExitStatus::BadConfiguration
            }
            Self::NoTrainingState { .. }
            | Self::TrainingState(_)
            | Self::JournalWriter(_)
            | Self::Journalled { .. }
            | Self::Replay(_)
            | Self::Device(_)
            | Self::Arena(_)
            | Self::Service(_)
            | Self::Background(BackgroundError::Start { .. })
            | Self::Training(TrainingLoopError::TrainingState(_)) => ExitStatus::Unavailable,
            Self::Training(_) | Self::Background(BackgroundError::EndedEarly { .. }) => {
                ExitStatus::Bug
            }
        }
    }
}

/// A learner whose port is open; nothing runs yet.
pub struct Learner {
    config: Config,
    server: GrpcServer,
    rules: Arc<dyn Rules>,
    replay: Arc<SharedReplay>,
    journal_writer: JournalWriter,
    journal_thread: JournalWriterThread,
    resumed: ResumedRun,
    arena: Option<ArenaClient>,
    progress: SharedStatus,
    intake: Intake,
    stop_streams: CancellationToken,
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
        let arena = config.arena.as_deref().map(ArenaClient::new).transpose()?;
        let server = GrpcServer::bind(config.listen, Limits::default()).await?;
        let (settings, game_rules) = (config.clone(), Arc::clone(&rules));
        let start =
            Background::thread("ouro-start", move || start::resume(&settings, &*game_rules))?;
        let (resumed, replay, journal) = start.join().await??;

        let (meta, generation) = (resumed.training_state.weights.meta(), resumed.generation);
        let (status, _) = replay.status();
        let progress = SharedStatus::new(LearnerStatus {
            step: meta.step,
            generation,
            games: journal.records(),
            moves: status.counters.inserts,
            device: resumed.device.name().to_owned(),
            ..LearnerStatus::default()
        });
        let (step, games) = (meta.step, status.games);
        tracing::info!(
            device = resumed.device.name(),
            step,
            generation = generation.0,
            games,
            "ready"
        );
        let (journal_writer, journal_thread) =
            JournalWriter::start(journal, Arc::clone(&replay), progress.clone())?;
        let stop_streams = CancellationToken::new();
        let intake = Intake::new(
            Arc::clone(&rules),
            journal_writer.clone(),
            Arc::clone(&replay),
            progress.clone(),
            &config,
            stop_streams.clone(),
        );
        let service =
            LearnerServiceServer::new(intake.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES);
        let server = server.add_service(service).describe(ouro_proto::FILE_DESCRIPTOR_SET);
        Ok(Self {
            config,
            server,
            rules,
            replay,
            journal_writer,
            journal_thread,
            resumed,
            arena,
            progress,
            intake,
            stop_streams,
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
        // The server already runs here, so `GetStatus` can report that the arena is missing.
        let mut publisher = self.arena.map(|arena| Publisher::new(arena, Backoff::default()));
        let newest = tokio::select! {
            () = stop.cancelled() => None,
            () = server.ended() => None,
            () = journal_thread.ended() => None,
            newest = newest_generation(&mut publisher, &self.progress) => Some(newest),
        };
        let mut started = newest.map(|newest| {
            let thread = TrainingThread {
                config,
                resumed: self.resumed,
                rules: self.rules,
                replay: Arc::clone(&replay),
                journal_writer: journal_writer.clone(),
                progress: self.progress,
            };
            thread.start(newest?, publisher)
        });
        if let Some(Ok(training)) = &mut started {
            intake.welcome_actors();
            tokio::select! {
                () = stop.cancelled() => {}
                () = training.ended() => {}
                () = journal_thread.ended() => {}
                () = server.ended() => {}
            }
        }
        end_streams(&stop_streams, &replay, &intake, &journal_writer).await;
        let trained = match started {
            Some(Ok(training)) => training.join().await,
            Some(Err(error)) => Err(error),
            None => Ok(()),
        };
        stop_server.cancel();
        let served = server.join().await?;
        journal_thread.join().await??;
        trained?;
        served?;
        Ok(())
    }
}

/// Requests the arena's newest generation. Until the arena answers, the status has
/// [`Condition::Arena`]. Returns `None` without an arena.
async fn newest_generation(
    publisher: &mut Option<Publisher<ArenaClient>>,
    progress: &SharedStatus,
) -> Result<Option<Generation>, ArenaError> {
    let Some(publisher) = publisher else { return Ok(None) };
    let newest = publisher
        .newest_generation(|error| {
            let message = format!("{error}; start it: no game is accepted until it answers");
            progress.set_condition(Condition::Arena, Some(message));
        })
        .await;
    progress.set_condition(Condition::Arena, None);
    newest
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
    /// Maximum time for publishing the last weights.
    grace: Duration,
}

impl Training {
    /// Waits until training or its publisher ends.
    async fn ended(&mut self) {
        tokio::select! {
            () = self.thread.ended() => {}
            () = self.publisher.ended() => {}
        }
    }

    /// Waits for the training thread, which ends once the replay is closed, and for the delivery of
    /// its last generation.
    async fn join(mut self) -> Result<(), LearnerError> {
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
    progress: SharedStatus,
}

impl TrainingThread {
    /// Starts training and publishing; `newest` is the arena's newest generation.
    fn start(
        self,
        newest: Option<Generation>,
        publisher: Option<Publisher<ArenaClient>>,
    ) -> Result<Training, LearnerError> {
        let own = WeightsSnapshot::from(&self.resumed.training_state.weights);
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
        let grace = Duration::from_millis(self.config.checkpoint.publish_grace_ms);
        let (snapshots, mut published) = watch::channel(first);
        let (delivery, delivered) = watch::channel(Delivery { newest, error: None });
        let delivered = publisher.is_some().then_some(delivered);
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
        Ok(Training { thread, publisher, grace })
    }

    fn run(
        self,
        snapshots: SnapshotSender,
        delivery: DeliveryReceiver,
    ) -> Result<(), LearnerError> {
        match self.config.train.algorithm.clone() {
            AlgorithmConfig::AlphaZero(config) => {
                self.train(AlphaZero::from(&config), snapshots, delivery)
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
        let Self { config, resumed, rules, replay, journal_writer, progress } = self;
        let ResumedRun { store, training_state, device, export_check, .. } = resumed;
        let TrainingState {
            weights,
            trainer: state,
            run: RunState { algorithm: name, replay: trained },
        } = training_state;
        let trainer = Trainer::new(algorithm, config.train.clone(), &weights, Some(&state), device)
            .map_err(TrainingLoopError::from)?;
        let threads = config.replay.assembly_threads;
        let feed =
            feed::start::<A>(&replay, &rules, config.seed, config.train.batch_moves, threads)?;
        let training = TrainingLoop {
            trainer,
            export_check,
            feed,
            algorithm: name,
            trained,
            replay,
            journal_writer,
            store,
            keep: config.checkpoint.keep,
            progress,
            snapshots,
            delivery,
            every_steps: config.checkpoint.every_steps,
        };
        Ok(training.run()?)
    }
}

#[cfg(test)]
mod tests;
