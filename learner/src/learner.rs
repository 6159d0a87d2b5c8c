//! A whole learner: port, training thread, publisher, checkpoints.
//!
//! ```text
//! let learner = Learner::bind(config).await?;   // checkpoint loaded, port open, nothing runs
//! learner.run_until(stop).await?;               // returns when drained
//! ```
//!
//! The drain: streams end, the step in progress finishes, what was learned since the last
//! generation becomes one (checkpoint, then arena), the port closes. Games that were accepted
//! but wait for a whole batch are dropped; an on-policy learner has no use for them later.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ouro_net::{Weights, WeightsMeta};
use ouro_proto::arena_client::{ArenaClient, ArenaError};
use ouro_proto::learner::v1::learner_service_server::LearnerServiceServer;
use ouro_service::server::Limits;
use ouro_service::{GrpcServer, ServiceError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::checkpoint::{Checkpoint, CheckpointError, RunState, Store};
use crate::config::{Config, ConfigError};
use crate::device::{DeviceError, TrainDevice};
use crate::optimizer::Moments;
use crate::progress::{Progress, SharedProgress};
use crate::publisher::{self, Backoff};
use crate::queue::Queue;
use crate::service::{Intake, MAX_MESSAGE_BYTES};
use crate::trainer::Trainer;
use crate::training::{Release, Training, TrainingError};
use crate::trajectory::examiner;
use crate::window::Window;

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
    /// The arena's address is not usable.
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
        let examiner = examiner(&config)?;
        let arena = config.arena.as_deref().map(ArenaClient::new).transpose()?;
        let server = GrpcServer::bind(config.listen, Limits::default()).await?;
        let settings = config.clone();
        let prepared = tokio::task::spawn_blocking(move || prepare(&settings));
        let (store, checkpoint, device) =
            prepared.await.map_err(|_| LearnerError::Panicked("start-up"))??;

        let meta = checkpoint.weights.meta();
        let progress = SharedProgress::new(Progress {
            step: meta.step,
            generation: meta.generation,
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
        let (step, generation) = (meta.step, meta.generation);
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
    pub async fn run_until(self, stop: CancellationToken) -> Result<(), LearnerError> {
        let first = Arc::new(Release::from(&self.checkpoint.weights));
        let (releases, published) = watch::channel(Some(first));
        let publisher = self
            .arena
            .map(|arena| tokio::spawn(publisher::publish(arena, published, Backoff::default())));
        let (train, queue) = (self.config.train.clone(), Arc::clone(&self.queue));
        let checkpoint = self.checkpoint;
        let training = {
            let (device, store, progress) = (self.device, self.store, self.progress);
            let (queue, every_steps) = (Arc::clone(&queue), self.config.checkpoint.every_steps);
            move || {
                let batch_moves = train.batch_moves;
                let trainer = Trainer::new(train, &checkpoint.weights, &checkpoint.moments, device);
                drop(checkpoint);
                let training = Training {
                    trainer,
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
        let (ended, mut has_ended) = tokio::sync::oneshot::channel();
        let thread = std::thread::Builder::new().name("ouro-training".into()).spawn(move || {
            // The receiver is gone only if the learner was dropped.
            let _ = ended.send(training());
        });
        if thread.is_err() {
            return Err(LearnerError::Panicked("training"));
        }

        let stop_server = CancellationToken::new();
        let server = tokio::spawn(self.server.run_until(stop_server.clone()));
        let early = tokio::select! {
            () = stop.cancelled() => None,
            ended = &mut has_ended => Some(ended),
        };
        self.stop_streams.cancel();
        self.queue.close();
        self.intake.drained().await;
        let ended = match early {
            Some(ended) => ended,
            None => has_ended.await,
        };
        // The training thread has dropped its end, so the publisher ends once the last
        // release is delivered.
        if let Some(publisher) = publisher {
            let grace = Duration::from_millis(self.config.checkpoint.publish_grace_ms);
            let abort = publisher.abort_handle();
            if tokio::time::timeout(grace, publisher).await.is_err() {
                abort.abort();
                tracing::warn!("the arena did not take the last weights; the next start will");
            }
        }
        stop_server.cancel();
        let served = server.await.map_err(|_| LearnerError::Panicked("server"))?;
        ended.map_err(|_| LearnerError::Panicked("training"))??;
        served?;
        Ok(())
    }
}

/// The blocking half of [`Learner::bind`].
fn prepare(config: &Config) -> Result<(Store, Checkpoint, TrainDevice), LearnerError> {
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
            let moments = Moments::default();
            let checkpoint = Checkpoint { weights, moments, state: RunState::default() };
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
    let device = TrainDevice::choose(config.device)?;
    Ok((store, checkpoint, device))
}

#[cfg(test)]
mod tests;
