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

use ouro_game::Stream;
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::learner_service_server::LearnerService;
use ouro_proto::learner::v1::push_trajectories_request::Message as Ask;
use ouro_proto::learner::v1::push_trajectories_response::Message as Answer;
use ouro_proto::trajectory::TrajectoryError;
use ouro_proto::{ActorId, Trajectory};
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
    /// The hello is not usable, or a trajectory has no sequence number to answer to.
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
            Self::NoHello | Self::NoTrajectory | Self::Malformed(_) => Code::InvalidArgument,
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

type Responses = mpsc::Sender<Result<wire::PushTrajectoriesResponse, Status>>;

impl Shared {
    /// Serves one stream until it ends. An error ends it with a status.
    async fn serve(
        &self,
        requests: &mut Streaming<wire::PushTrajectoriesRequest>,
        responses: &Responses,
    ) -> Result<(), StreamError> {
        let first = tokio::time::timeout(self.hello, self.next(requests)).await;
        let actor = match first.map_err(|_| StreamError::Silent(self.hello))?? {
            Some(Ask::Hello(hello)) => ActorId::try_from(hello)?,
            Some(Ask::Trajectory(_)) => return Err(StreamError::NoHello),
            None => return Ok(()),
        };
        let watermark = self.queue.watermark(&actor);
        tracing::info!(%actor, watermark, "actor connected");
        let mut answer = Answer::Welcome(wire::Welcome { watermark });
        loop {
            let response = wire::PushTrajectoriesResponse { message: Some(answer) };
            let sent = tokio::select! {
                biased;
                sent = responses.send(Ok(response)) => sent,
                () = self.stop.cancelled() => return Err(StreamError::Closing),
            };
            if sent.is_err() {
                return Ok(());
            }
            answer = match self.next(requests).await? {
                Some(Ask::Trajectory(message)) => self.take(&actor, message).await?,
                Some(Ask::Hello(_)) => return Err(StreamError::NoTrajectory),
                None => {
                    tracing::info!(%actor, "actor disconnected");
                    return Ok(());
                }
            };
        }
    }

    /// The next message; `None` at the end of the stream.
    async fn next(
        &self,
        requests: &mut Streaming<wire::PushTrajectoriesRequest>,
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
        message: wire::Trajectory,
    ) -> Result<Answer, StreamError> {
        let sequence = message.sequence;
        if sequence != 0 && sequence <= self.queue.watermark(actor) {
            return Ok(Answer::Accepted(wire::Accepted { sequence }));
        }
        let trajectory = match Trajectory::try_from(message) {
            Ok(trajectory) => trajectory,
            Err(error @ TrajectoryError::Sequence) => return Err(error.into()),
            Err(error) => return Ok(self.refuse(actor, sequence, "malformed", &error)),
        };
        // The permit is held until the game has found room: games that wait are expanded too.
        let (examined, _permit) = self.examine(trajectory).await?;
        match examined {
            Err(refusal) => Ok(self.refuse(actor, sequence, refusal.name(), &refusal)),
            Ok(examined) => {
                let moves = examined.samples.rows();
                let inserting = self.queue.insert(actor, sequence, examined.samples);
                match inserting.await.map_err(|_| StreamError::Closing)? {
                    Inserted::New => self.progress.accepted(moves, &examined.returns),
                    Inserted::Duplicate => {}
                }
                Ok(Answer::Accepted(wire::Accepted { sequence }))
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
        name: &'static str,
        reason: &dyn std::error::Error,
    ) -> Answer {
        self.queue.refuse(actor, sequence);
        self.progress.refused(name);
        tracing::info!(%actor, sequence, %reason, "trajectory refused");
        Answer::Refused(wire::Refused { sequence, reason: reason.to_string() })
    }
}

#[tonic::async_trait]
impl LearnerService for Intake {
    type PushTrajectoriesStream = ReceiverStream<Result<wire::PushTrajectoriesResponse, Status>>;

    async fn push_trajectories(
        &self,
        request: Request<Streaming<wire::PushTrajectoriesRequest>>,
    ) -> Result<Response<Self::PushTrajectoriesStream>, Status> {
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

    async fn get_progress(
        &self,
        _request: Request<wire::GetProgressRequest>,
    ) -> Result<Response<wire::GetProgressResponse>, Status> {
        let progress = self.shared.progress.get();
        Ok(Response::new(wire::GetProgressResponse {
            step: progress.step,
            generation: progress.generation,
            games: progress.games,
            moves: progress.moves,
            refused: progress.refused.values().sum(),
            loss: progress.report.loss.total,
            entropy: progress.report.loss.entropy,
            mean_return: progress.mean_return,
            device: progress.device,
        }))
    }
}

#[cfg(test)]
mod tests;
