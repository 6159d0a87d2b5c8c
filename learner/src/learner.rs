//! A whole learner: port, training thread, publisher, checkpoints.
//!
//! ```text
//! let learner = Learner::bind(config).await?;   // checkpoint loaded, port open, nothing runs
//! learner.run_until(stop).await?;               // returns when drained
//! ```
//!
//! First the arena is asked what it has. If that is newer than the newest whole checkpoint, the
//! run goes on counting from there: a generation number never means two sets of weights, and
//! the games of those who already play the newer one are not turned away.
//!
//! Whatever ends by itself, training, the publisher or the server, ends the run with its error.
//!
//! The drain: streams end, the step in progress finishes, what was learned since the last
//! generation becomes one (checkpoint, then arena), the port closes. Games that were accepted but
//! not drawn yet are in the journal, and the next start fills the replay with them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ouro_proto::arena_client::{ArenaClient, ArenaError};
use ouro_proto::learner::v1::learner_service_server::LearnerServiceServer;
use ouro_service::server::Limits;
use ouro_service::{ExitStatus, GrpcServer, ServiceError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::algorithm::AlgorithmConfig;
use crate::alphazero::AlphaZero;
use crate::checkpoint::{Checkpoint, CheckpointError, RunState};
use crate::config::{Config, ConfigError};
use crate::device::DeviceError;
use crate::feed::{self, Assemble};
use crate::ledger::{Ledger, LedgerError, LedgerThread};
use crate::progress::{Progress, SharedProgress};
use crate::publisher::{self, Backoff};
use crate::reinforce::Reinforce;
use crate::replay::SharedReplay;
use crate::rules::{Rules, UnpackError};
use crate::service::{Intake, MAX_MESSAGE_BYTES};
use crate::trainer::Trainer;
use crate::training::{Release, Releases, Training, TrainingError};

use kept::Kept;
use start::Prepared;

mod kept;
mod start;

/// How long a drain waits for streams. They end at once unless a replay takes this long.
const DRAIN: Duration = Duration::from_secs(10);

/// Why a learner cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum LearnerError {
    /// A field is out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The game's configuration is out of range.
    #[error(transparent)]
    Game(#[from] ouro_game::ConfigError),
    /// The checkpoints are for another game or network.
    #[error(
        "{what} is {asked}, but the run in {directory} has {what} {stored}; write that again, or choose another folder for a new run"
    )]
    OtherRun {
        /// The directory of the run.
        directory: String,
        /// `game`, `network` or `algorithm`.
        what: &'static str,
        /// The run's.
        stored: String,
        /// What it is to be now.
        asked: String,
    },
    /// A checkpoint cannot be read or written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The journal cannot be read or written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A game of the journal cannot be played any more.
    #[error("game {number} of the journal: {error}")]
    Journalled {
        /// Its number.
        number: u64,
        /// What is wrong.
        error: UnpackError,
    },
    /// Checkpoint and journal do not belong together.
    #[error(transparent)]
    Replay(#[from] ouro_replay::StateError),
    /// There is no such device.
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
    Training(#[from] TrainingError),
    /// A thread panicked; the process must restart from its last checkpoint.
    #[error("the {0} thread panicked; restart to go on from the last checkpoint")]
    Panicked(&'static str),
}

impl LearnerError {
    /// How a process that this ends should end.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            Self::Config(_) | Self::Game(_) | Self::OtherRun { .. } => ExitStatus::BadConfiguration,
            Self::Checkpoint(_)
            | Self::Ledger(_)
            | Self::Journalled { .. }
            | Self::Replay(_)
            | Self::Device(_)
            | Self::Arena(_)
            | Self::Service(_)
            | Self::Training(TrainingError::Checkpoint(_)) => ExitStatus::Unavailable,
            Self::Training(_) | Self::Panicked(_) => ExitStatus::Bug,
        }
    }
}

/// A learner that is bound but does not run yet.
pub struct Learner {
    config: Config,
    server: GrpcServer,
    rules: Arc<dyn Rules>,
    replay: Arc<SharedReplay>,
    ledger: Ledger,
    ledger_thread: LedgerThread,
    prepared: Prepared,
    arena: Option<ArenaClient>,
    progress: SharedProgress,
    intake: Intake,
    stop_streams: CancellationToken,
}

impl Learner {
    /// Validates, opens the port, loads the newest checkpoint or makes generation 0, chooses the
    /// device and sees that it [agrees](crate::agreement) with the CPU engine on those weights, and
    /// fills the replay from the journal. Nothing is answered or trained yet.
    pub async fn bind(config: Config) -> Result<Self, LearnerError> {
        config.validate()?;
        let rules: Arc<dyn Rules> = crate::rules::rules(&config)?.into();
        let arena = config.arena.as_deref().map(ArenaClient::new).transpose()?;
        let server = GrpcServer::bind(config.listen, Limits::default()).await?;
        let (settings, game_rules) = (config.clone(), Arc::clone(&rules));
        let start = tokio::task::spawn_blocking(move || start::start(&settings, &*game_rules));
        let (prepared, replay, journal) =
            start.await.map_err(|_| LearnerError::Panicked("start-up"))??;

        let (meta, generation) = (prepared.checkpoint.weights.meta(), prepared.generation);
        let (status, _) = replay.status();
        let progress = SharedProgress::new(Progress {
            step: meta.step,
            generation,
            games: journal.records(),
            moves: status.counters.inserts,
            device: prepared.device.name().to_owned(),
            ..Progress::default()
        });
        let (step, games) = (meta.step, status.games);
        tracing::info!(
            device = prepared.device.name(),
            step,
            generation = generation.0,
            games,
            "ready"
        );
        let (ledger, ledger_thread) =
            Ledger::start(journal, Arc::clone(&replay), progress.clone())?;
        let stop_streams = CancellationToken::new();
        let intake = Intake::new(
            Arc::clone(&rules),
            ledger.clone(),
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
            ledger,
            ledger_thread,
            prepared,
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

    /// How the run stands; the handle stays valid while it runs.
    pub fn progress(&self) -> SharedProgress {
        self.progress.clone()
    }

    /// The games that are learned from; the handle stays valid while it runs.
    pub fn replay(&self) -> Arc<SharedReplay> {
        Arc::clone(&self.replay)
    }

    /// Serves and trains until `stop` is cancelled, then drains. See the [module](self).
    pub async fn run_until(mut self, stop: CancellationToken) -> Result<(), LearnerError> {
        let newest = match &mut self.arena {
            Some(arena) => tokio::select! {
                () = stop.cancelled() => return Ok(()),
                newest = publisher::newest(arena, Backoff::default()) => newest?,
            },
            None => None,
        };
        let own = Release::from(&self.prepared.checkpoint.weights);
        let behind = newest.filter(|newest| *newest > own.generation);
        if let Some(generation) = behind {
            let own = own.generation.0;
            tracing::warn!(
                own,
                generation = generation.0,
                "the arena has newer weights; counting on from there"
            );
            self.progress.update(|progress| {
                progress.generation = progress.generation.max(generation);
            });
            self.replay.published(generation);
        }
        let first = behind.is_none().then(|| Arc::new(own));
        let (releases, mut published) = watch::channel(first);
        let arena = self.arena;
        let mut publisher = Kept::new(tokio::spawn(async move {
            if let Some(arena) = arena {
                return publisher::publish(arena, published, Backoff::default()).await;
            }
            while published.changed().await.is_ok() {}
            Ok(())
        }));
        let ledger_orders = self.ledger.clone();
        let thread = TrainingThread {
            config: self.config.clone(),
            prepared: self.prepared,
            rules: self.rules,
            replay: Arc::clone(&self.replay),
            ledger: self.ledger,
            progress: self.progress,
            releases,
        };
        let (ended, has_ended) = tokio::sync::oneshot::channel();
        let spawned = std::thread::Builder::new().name("ouro-training".into()).spawn(move || {
            // The receiver is gone only if the learner was dropped.
            let _ = ended.send(thread.run());
        });
        if spawned.is_err() {
            return Err(LearnerError::Panicked("training"));
        }

        let stop_server = CancellationToken::new();
        let mut server = Kept::new(tokio::spawn(self.server.run_until(stop_server.clone())));
        let mut training = Kept::new(has_ended);
        let mut ledger = Kept::new(self.ledger_thread.ended);
        tokio::select! {
            () = stop.cancelled() => {}
            () = training.ended() => {}
            () = ledger.ended() => {}
            () = publisher.ended() => {}
            () = server.ended() => {}
        }
        self.stop_streams.cancel();
        self.replay.close();
        if tokio::time::timeout(DRAIN, self.intake.drained()).await.is_err() {
            tracing::warn!("streams still open after the drain time");
        }
        ledger_orders.close().await;
        let trained = training.output().await;
        // The training thread has dropped its end, so the publisher ends once the last
        // release is delivered.
        let grace = Duration::from_millis(self.config.checkpoint.publish_grace_ms);
        if tokio::time::timeout(grace, publisher.ended()).await.is_err() {
            publisher.future().abort();
            tracing::warn!("the arena did not take the last weights; the next start will");
        }
        stop_server.cancel();
        let served = server.output().await.map_err(|_| LearnerError::Panicked("server"))?;
        let journalled = ledger.output().await.map_err(|_| LearnerError::Panicked("ledger"))?;
        journalled?;
        trained.map_err(|_| LearnerError::Panicked("training"))??;
        match publisher.output().await {
            Err(error) if error.is_cancelled() => {}
            published => published.map_err(|_| LearnerError::Panicked("publisher"))??,
        }
        served?;
        Ok(())
    }
}

/// What the training thread starts with.
struct TrainingThread {
    config: Config,
    prepared: Prepared,
    rules: Arc<dyn Rules>,
    replay: Arc<SharedReplay>,
    ledger: Ledger,
    progress: SharedProgress,
    releases: Releases,
}

impl TrainingThread {
    fn run(self) -> Result<(), LearnerError> {
        match self.config.train.algorithm.clone() {
            AlgorithmConfig::AlphaZero(config) => self.train(AlphaZero::from(&config)),
            AlgorithmConfig::Reinforce(config) => self.train(Reinforce::from(&config)),
        }
    }

    fn train<A: Assemble>(self, algorithm: A) -> Result<(), LearnerError> {
        let Self { config, prepared, rules, replay, ledger, progress, releases } = self;
        let Prepared { store, checkpoint, device, probe, .. } = prepared;
        let Checkpoint { weights, training, state: RunState { algorithm: name, replay: trained } } =
            checkpoint;
        let trainer =
            Trainer::new(algorithm, config.train.clone(), &weights, Some(&training), device)
                .map_err(TrainingError::from)?;
        let threads = config.replay.assembly_threads;
        let feed =
            feed::start::<A>(&replay, &rules, config.seed, config.train.batch_moves, threads)
                .map_err(LedgerError::Thread)?;
        let training = Training {
            trainer,
            probe,
            feed,
            algorithm: name,
            trained,
            replay,
            ledger,
            store,
            keep: config.checkpoint.keep,
            progress,
            releases,
            every_steps: config.checkpoint.every_steps,
        };
        Ok(training.run()?)
    }
}

#[cfg(test)]
mod tests;
