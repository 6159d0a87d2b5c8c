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
//! generation becomes one (checkpoint, then arena), the port closes. Games that were accepted
//! but wait for a whole batch are dropped; an on-policy learner has no use for them later.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ouro_net::{Weights, WeightsMeta};
use ouro_proto::Generation;
use ouro_proto::arena_client::{ArenaClient, ArenaError};
use ouro_proto::learner::v1::learner_service_server::LearnerServiceServer;
use ouro_service::server::Limits;
use ouro_service::{GrpcServer, ServiceError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::agreement::Probe;
use crate::algorithm::AlgorithmConfig;
use crate::checkpoint::{Checkpoint, CheckpointError, RunState, Store};
use crate::config::{Config, ConfigError};
use crate::device::{DeviceError, TrainDevice};
use crate::progress::{Progress, SharedProgress};
use crate::publisher::{self, Backoff};
use crate::queue::Queue;
use crate::reinforce::Reinforce;
use crate::service::{Intake, MAX_MESSAGE_BYTES};
use crate::trainer::{Trainer, TrainerState};
use crate::training::{Release, Training, TrainingError};
use crate::trajectory::examiner;
use crate::window::Window;

use kept::Kept;

mod kept;

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
        "checkpoints in {directory} are for another {what}; choose another checkpoint.directory"
    )]
    OtherRun {
        /// The directory of the run.
        directory: String,
        /// `game` or `network`.
        what: &'static str,
    },
    /// A checkpoint cannot be read or written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
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

/// A learner that is bound but does not run yet.
pub struct Learner {
    config: Config,
    server: GrpcServer,
    queue: Arc<Queue>,
    store: Store,
    checkpoint: Checkpoint,
    device: TrainDevice,
    arena: Option<ArenaClient>,
    progress: SharedProgress,
    intake: Intake,
    stop_streams: CancellationToken,
}

impl Learner {
    /// Validates, loads the newest checkpoint or makes generation 0, chooses the device and
    /// opens the port. Nothing runs yet.
    pub async fn bind(config: Config) -> Result<Self, LearnerError> {
        config.validate()?;
        reinforce(&config.train.algorithm)?;
        let examiner = examiner(&config)?;
        let arena = config.arena.as_deref().map(ArenaClient::new).transpose()?;
        let server = GrpcServer::bind(config.listen, Limits::default()).await?;
        let settings = config.clone();
        let prepared = tokio::task::spawn_blocking(move || prepare(&settings));
        let Prepared { store, checkpoint, generation, device } =
            prepared.await.map_err(|_| LearnerError::Panicked("start-up"))??;

        let meta = checkpoint.weights.meta();
        let progress = SharedProgress::new(Progress {
            step: meta.step,
            generation,
            games: checkpoint.state.games,
            moves: checkpoint.state.moves,
            device: device.name().to_owned(),
            ..Progress::default()
        });
        let watermarks = &checkpoint.state.watermarks;
        let window = Window::new(examiner.shape(), config.intake.queue_moves, watermarks);
        let queue = Arc::new(Queue::new(window));
        let stop_streams = CancellationToken::new();
        let intake = Intake::new(
            examiner,
            Arc::clone(&queue),
            progress.clone(),
            &config,
            stop_streams.clone(),
        );
        let service =
            LearnerServiceServer::new(intake.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES);
        let server = server.add_service(service).describe(ouro_proto::FILE_DESCRIPTOR_SET);
        let step = meta.step;
        tracing::info!(device = device.name(), step, generation, "learner is ready");
        Ok(Self {
            config,
            server,
            queue,
            store,
            checkpoint,
            device,
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

    /// Serves and trains until `stop` is cancelled, then drains. See the [module](self).
    pub async fn run_until(mut self, stop: CancellationToken) -> Result<(), LearnerError> {
        let newest = match &mut self.arena {
            Some(arena) => tokio::select! {
                () = stop.cancelled() => return Ok(()),
                newest = publisher::newest(arena, Backoff::default()) => newest?,
            },
            None => None,
        };
        let own = Release::from(&self.checkpoint.weights);
        let behind = newest.filter(|newest| *newest > own.generation);
        if let Some(Generation(generation)) = behind {
            let own = own.generation.0;
            tracing::warn!(own, generation, "the arena has newer weights; counting on from there");
            self.progress.update(|progress| {
                progress.generation = progress.generation.max(generation);
            });
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
        let (train, queue) = (self.config.train.clone(), Arc::clone(&self.queue));
        let checkpoint = self.checkpoint;
        let algorithm = reinforce(&self.config.train.algorithm)?;
        let probe = Probe::of_game(&self.config.game)?;
        let training = {
            let (device, store, progress) = (self.device, self.store, self.progress);
            let (queue, every_steps) = (Arc::clone(&queue), self.config.checkpoint.every_steps);
            move || {
                let batch_moves = train.batch_moves;
                let Checkpoint { weights, training, .. } = checkpoint;
                let trainer = Trainer::new(algorithm, train, &weights, Some(&training), device)?;
                let training = Training {
                    trainer,
                    probe,
                    queue,
                    store,
                    progress,
                    releases,
                    batch_moves,
                    every_steps,
                };
                training.run()
            }
        };
        let (ended, has_ended) = tokio::sync::oneshot::channel();
        let thread = std::thread::Builder::new().name("ouro-training".into()).spawn(move || {
            // The receiver is gone only if the learner was dropped.
            let _ = ended.send(training());
        });
        if thread.is_err() {
            return Err(LearnerError::Panicked("training"));
        }

        let stop_server = CancellationToken::new();
        let mut server = Kept::new(tokio::spawn(self.server.run_until(stop_server.clone())));
        let mut training = Kept::new(has_ended);
        tokio::select! {
            () = stop.cancelled() => {}
            () = training.ended() => {}
            () = publisher.ended() => {}
            () = server.ended() => {}
        }
        self.stop_streams.cancel();
        self.queue.close();
        if tokio::time::timeout(DRAIN, self.intake.drained()).await.is_err() {
            tracing::warn!("streams still open after the drain time");
        }
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
        trained.map_err(|_| LearnerError::Panicked("training"))??;
        match publisher.output().await {
            Err(error) if error.is_cancelled() => {}
            published => published.map_err(|_| LearnerError::Panicked("publisher"))??,
        }
        served?;
        Ok(())
    }
}

/// The algorithm that games are assembled for.
fn reinforce(config: &AlgorithmConfig) -> Result<Reinforce, ConfigError> {
    match config {
        AlgorithmConfig::Reinforce(config) => Ok(Reinforce::from(config)),
        AlgorithmConfig::AlphaZero(_) => Err(ConfigError {
            field: "train.algorithm.kind".into(),
            value: "alphazero".into(),
            remedy: "actors record no searches yet; write \"reinforce\"".into(),
        }),
    }
}

/// What [`prepare`] found or made.
struct Prepared {
    store: Store,
    checkpoint: Checkpoint,
    /// The newest generation made, the checkpoint's or one that was lost.
    generation: u32,
    device: TrainDevice,
}

/// The blocking half of [`Learner::bind`].
fn prepare(config: &Config) -> Result<Prepared, LearnerError> {
    let spec = config.net_spec()?;
    let game = serde_json::to_string(&config.game)
        .expect("a game configuration serialises: it is plain data");
    let directory = &config.checkpoint.directory;
    let store = Store::open(directory, config.checkpoint.keep)?;
    let loaded = store.load()?;
    for error in &loaded.skipped {
        tracing::error!(%error, "checkpoint is damaged; falling back to an older one");
    }
    let checkpoint = match loaded.checkpoint {
        Some(checkpoint) => checkpoint,
        None => {
            let meta = WeightsMeta { game: game.clone(), generation: 0, step: 0 };
            let weights = Weights::initialize(spec.clone(), meta, config.seed)
                .map_err(ouro_net::WeightsError::from)
                .map_err(crate::trainer::TrainError::from)
                .map_err(TrainingError::from)?;
            let training = TrainerState::fresh(&weights);
            let checkpoint = Checkpoint { weights, training, state: RunState::default() };
            store.save(&checkpoint)?;
            checkpoint
        }
    };
    let other = |what| LearnerError::OtherRun { directory: directory.display().to_string(), what };
    if checkpoint.weights.meta().game != game {
        return Err(other("game"));
    }
    if *checkpoint.weights.spec() != spec {
        return Err(other("network"));
    }
    let device = TrainDevice::choose(config.device, config.allow_software_adapter)?;
    let generation = checkpoint.weights.meta().generation.max(loaded.lost.unwrap_or(0));
    Ok(Prepared { store, checkpoint, generation, device })
}

#[cfg(test)]
mod tests;
