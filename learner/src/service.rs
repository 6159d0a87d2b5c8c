//! `LearnerService`: takes trajectories from actors, one at a time per stream.
//!
//! Each trajectory is checked and replayed on a thread for blocking work, put into the
//! [queue](crate::queue), and only then acknowledged; the next one is not read before. When
//! the queue is full the stream is not read, HTTP/2 flow control fills up and the actor waits.
//! So a stream costs one message, whatever it sends: a game is expanded, and kept until it has
//! found room, only under one of [`replay_threads`](crate::config::IntakeConfig) permits.
//!
//! Nobody else waits for a client: one that does not say hello is cut off, and one that does not
//! read its answers cannot hold a drain.

use std::sync::Arc;
use std::time::Duration;

use ouro_game::GameConfig;
use ouro_game::Stream;
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::RefusalReason;
use ouro_proto::learner::v1::learner_service_server::LearnerService;
use ouro_proto::learner::v1::push_request::Message as Ask;
use ouro_proto::learner::v1::push_response::Message as Answer;
use ouro_proto::trajectory::{HelloError, TrajectoryError};
use ouro_proto::{ActorId, Hello, Trajectory};
use ouro_service::IntoStatus;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Code, Request, Response, Status, Streaming};

use crate::progress::SharedProgress;
use crate::queue::Queue;
use crate::trajectory::{Examined, Examiner, Refusal};
use crate::window::Inserted;

/// Longest message that is read, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// Why a stream ends.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// As many actors are connected as this learner serves.
    #[error("all {0} streams of this learner are taken; try again later")]
    Saturated(usize),
    /// The first message is not a hello.
    #[error("the first message must be a hello")]
    NoHello,
    /// A hello, or nothing, where a trajectory was due.
    #[error("only trajectories may follow the hello")]
    NoTrajectory,
    /// The hello is not usable.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// Another game, or other rules.
    #[error("actor plays {got}; this run is of {expected}")]
    OtherGame {
        /// The actor's configuration.
        got: String,
        /// The learner's.
        expected: String,
    },
    /// Another process has taken the name.
    #[error(
        "epoch {epoch} of actor {name} has ended: another of that name came; give each its own"
    )]
    Fenced {
        /// The actor's name.
        name: String,
        /// The life it wants to go on with.
        epoch: u64,
    },
    /// A trajectory has no sequence number to answer to.
    #[error(transparent)]
    Malformed(#[from] TrajectoryError),
    /// The learner drains.
    #[error("the learner is shutting down")]
    Closing,
    /// Nothing came.
    #[error("no hello within {} ms", .0.as_millis())]
    Silent(Duration),
    /// What the transport says.
    #[error("{}", .0.message())]
    Transport(Box<Status>),
}

impl IntoStatus for StreamError {
    fn code(&self) -> Code {
        match self {
            Self::Saturated(_) => Code::ResourceExhausted,
            Self::NoHello | Self::NoTrajectory | Self::Hello(_) | Self::Malformed(_) => {
                Code::InvalidArgument
            }
            Self::OtherGame { .. } | Self::Fenced { .. } => Code::FailedPrecondition,
            Self::Closing => Code::Unavailable,
            Self::Silent(_) => Code::DeadlineExceeded,
            Self::Transport(status) => status.code(),
        }
    }
}

/// The service. Clones share everything.
#[derive(Clone)]
pub struct Intake {
    shared: Arc<Shared>,
}

struct Shared {
    examiner: Arc<dyn Examiner>,
    queue: Arc<Queue>,
    progress: SharedProgress,
    seed: u64,
    game: GameConfig,
    max_streams: usize,
    hello: Duration,
    streams: Arc<Semaphore>,
    replays: Arc<Semaphore>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Intake {
    /// A service that examines with `examiner`, feeds `queue` and ends its streams on `stop`.
    /// `replay_threads` games are replayed at a time.
    pub fn new(
        examiner: Box<dyn Examiner>,
        queue: Arc<Queue>,
        progress: SharedProgress,
        config: &crate::config::Config,
        stop: CancellationToken,
    ) -> Self {
        let max_streams = config.intake.max_streams;
        let shared = Shared {
            examiner: examiner.into(),
            queue,
            progress,
            seed: config.seed,
            game: config.game.clone(),
            max_streams,
            hello: Duration::from_millis(config.intake.hello_ms),
            streams: Arc::new(Semaphore::new(max_streams)),
            replays: Arc::new(Semaphore::new(config.intake.replay_threads)),
            stop,
            tasks: TaskTracker::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Waits until every stream has ended. Meaningful after the stop token is cancelled.
    pub async fn drained(&self) {
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }
}

type Responses = mpsc::Sender<Result<wire::PushResponse, Status>>;

impl Shared {
    /// Serves one stream until it ends. An error ends it with a status.
    async fn serve(
        &self,
        requests: &mut Streaming<wire::PushRequest>,
        responses: &Responses,
    ) -> Result<(), StreamError> {
        let first = tokio::time::timeout(self.hello, self.next(requests)).await;
        let hello = match first.map_err(|_| StreamError::Silent(self.hello))?? {
            Some(Ask::Hello(hello)) => Hello::try_from(hello)?,
            Some(Ask::Trajectory(_)) => return Err(StreamError::NoHello),
            None => return Ok(()),
        };
        let actor = self.begin(&hello)?;
        let watermark = self.queue.watermark(&actor);
        tracing::info!(%actor, watermark, "actor connected");
        let (epoch, newest_generation) = (actor.epoch, self.progress.generation());
        let mut answer = Answer::Welcome(wire::Welcome { epoch, watermark, newest_generation });
        loop {
            let response = wire::PushResponse { message: Some(answer) };
            let sent = tokio::select! {
                biased;
                sent = responses.send(Ok(response)) => sent,
                () = self.stop.cancelled() => return Err(StreamError::Closing),
            };
            if sent.is_err() {
                return Ok(());
            }
            answer = match self.next(requests).await? {
                Some(Ask::Trajectory(message)) => self.take(&actor, &hello, message).await?,
                Some(Ask::Hello(_)) => return Err(StreamError::NoTrajectory),
                None => {
                    tracing::info!(%actor, "actor disconnected");
                    return Ok(());
                }
            };
        }
    }

    /// The life that an actor goes on with.
    fn begin(&self, hello: &Hello) -> Result<ActorId, StreamError> {
        if hello.config != self.game {
            let text = |game: &GameConfig| {
                serde_json::to_string(game).unwrap_or_else(|error| error.to_string())
            };
            let (got, expected) = (text(&hello.config), text(&self.game));
            return Err(StreamError::OtherGame { got, expected });
        }
        self.queue.begin(&hello.actor, hello.epoch).ok_or_else(|| StreamError::Fenced {
            name: hello.actor.clone(),
            epoch: hello.epoch.unwrap_or_default(),
        })
    }

    /// The next message; `None` at the end of the stream.
    async fn next(
        &self,
        requests: &mut Streaming<wire::PushRequest>,
    ) -> Result<Option<Ask>, StreamError> {
        let message = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(StreamError::Closing),
            message = requests.message() => message,
        };
        match message.map_err(|status| StreamError::Transport(Box::new(status)))? {
            Some(request) => request.message.map(Some).ok_or(StreamError::NoTrajectory),
            None => Ok(None),
        }
    }

    /// Decides one trajectory.
    async fn take(
        &self,
        actor: &ActorId,
        hello: &Hello,
        message: wire::Trajectory,
    ) -> Result<Answer, StreamError> {
        let sequence = message.sequence;
        if sequence != 0 && sequence <= self.queue.watermark(actor) {
            return Ok(self.ack(self.queue.watermark(actor), None));
        }
        let trajectory = match Trajectory::unfold(message, hello) {
            Ok(trajectory) => trajectory,
            Err(error @ TrajectoryError::Sequence) => return Err(error.into()),
            Err(error) => {
                let reason = RefusalReason::Malformed;
                return Ok(self.refuse(actor, sequence, reason, &error));
            }
        };
        // The permit is held until the game has found room: games that wait are expanded too.
        let (examined, _permit) = self.examine(trajectory).await?;
        match examined {
            Err(refusal) => Ok(self.refuse(actor, sequence, refusal.reason(), &refusal)),
            Ok(examined) => {
                let moves = examined.samples.rows();
                let inserting = self.queue.insert(actor, sequence, examined.samples);
                match inserting.await.map_err(|_| StreamError::Closing)? {
                    Inserted::New => self.progress.accepted(moves, &examined.returns),
                    Inserted::Duplicate => {}
                }
                Ok(self.ack(sequence, None))
            }
        }
    }

    async fn examine(
        &self,
        trajectory: Trajectory,
    ) -> Result<(Result<Examined, Refusal>, Option<OwnedSemaphorePermit>), StreamError> {
        let permit = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(StreamError::Closing),
            permit = Arc::clone(&self.replays).acquire_owned() => permit,
        };
        let permit = permit.map_err(|_| StreamError::Closing)?;
        let examiner = Arc::clone(&self.examiner);
        let newest = self.progress.generation();
        // Keyed by the game, so that the order of arrival does not matter.
        let key = self.seed ^ trajectory.record.seed;
        let augmentation = Stream::indexed(key, "augment", trajectory.sequence);
        let replay = tokio::task::spawn_blocking(move || {
            // In here, so that it is not given back before the work is done.
            (examiner.examine(&trajectory, newest, augmentation), Some(permit))
        });
        match replay.await {
            Ok(examined) => Ok(examined),
            // Decided like any other, or the actor would send it again for ever.
            Err(error) if error.is_panic() => Ok((Err(Refusal::Panicked), None)),
            Err(_) => Err(StreamError::Closing),
        }
    }

    fn refuse(
        &self,
        actor: &ActorId,
        sequence: u64,
        reason: RefusalReason,
        detail: &dyn std::error::Error,
    ) -> Answer {
        self.queue.refuse(actor, sequence);
        self.progress.refused(reason);
        tracing::info!(%actor, sequence, %detail, "trajectory refused");
        let (reason, detail) = (reason.into(), detail.to_string());
        self.ack(sequence, Some(wire::Refusal { sequence, reason, detail }))
    }

    fn ack(&self, watermark: u64, refusal: Option<wire::Refusal>) -> Answer {
        let (refusals, newest_generation) =
            (refusal.into_iter().collect(), self.progress.generation());
        Answer::Ack(wire::Ack { watermark, refusals, newest_generation, pause_ms: 0 })
    }
}

#[tonic::async_trait]
impl LearnerService for Intake {
    type PushStream = ReceiverStream<Result<wire::PushResponse, Status>>;

    async fn push(
        &self,
        request: Request<Streaming<wire::PushRequest>>,
    ) -> Result<Response<Self::PushStream>, Status> {
        let permit = Arc::clone(&self.shared.streams)
            .try_acquire_owned()
            .map_err(|_| StreamError::Saturated(self.shared.max_streams).status())?;
        // One place for an answer and one kept for the status.
        let (responses, stream) = mpsc::channel(2);
        let last = responses.clone().reserve_owned().await;
        let last = last.map_err(|_| StreamError::Closing.status())?;
        let shared = Arc::clone(&self.shared);
        let mut requests = request.into_inner();
        self.shared.tasks.spawn(async move {
            if let Err(error) = shared.serve(&mut requests, &responses).await {
                tracing::info!(%error, "stream ended");
                last.send(Err(error.status()));
            }
            drop(permit);
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn get_status(
        &self,
        _request: Request<wire::GetStatusRequest>,
    ) -> Result<Response<wire::GetStatusResponse>, Status> {
        let progress = self.shared.progress.get();
        let loss = progress.report.loss;
        Ok(Response::new(wire::GetStatusResponse {
            device: progress.device,
            algorithm: "reinforce".to_owned(),
            step: progress.step as u32,
            newest_generation: progress.generation,
            games: progress.games as f64,
            positions: progress.moves as f64,
            refused: progress
                .refused
                .iter()
                .map(|(&reason, &games)| count(reason, games))
                .collect(),
            actors: (self.shared.max_streams - self.shared.streams.available_permits()) as u32,
            loss: Some(wire::Loss {
                total: loss.total,
                policy: loss.policy,
                value: loss.value,
                entropy: loss.entropy,
                gradient_norm: progress.report.gradient_norm,
                learning_rate: 0.0,
            }),
            window: None,
            mean_return: progress.mean_return,
            waiting_for: String::new(),
        }))
    }
}

fn count(reason: RefusalReason, games: u64) -> wire::RefusalCount {
    let games = u32::try_from(games).unwrap_or(u32::MAX);
    wire::RefusalCount { reason: reason.into(), games }
}

#[cfg(test)]
mod tests;
