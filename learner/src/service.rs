//! `LearnerService`: receives games from actors.
//!
//! Each connection reads ahead by [`AHEAD`] games. Threads for blocking work check and replay
//! them, limited to [`replay_threads`](crate::config::IntakeConfig) at a time. The games go to the
//! [journal writer](crate::journal_writer) in their order. The connection acknowledges durable
//! games cumulatively.
//!
//! While the journal writer accepts no game, connections are not read. HTTP/2 flow control then
//! stops the actors, and acknowledgements suggest a
//! [pause](crate::journal_writer::JournalWriter::pause). A connection never holds more than a few
//! messages.
//!
//! Clients cannot block the learner. A client without a hello within the time limit is
//! disconnected. A client that does not read its answers does not delay a drain.

mod stream;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ouro_game::GameConfig;
use ouro_net::RunId;
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::learner_service_server::LearnerService;
use ouro_proto::trajectory::HelloError;
use ouro_replay::RefusalReason;
use ouro_replay::journal::MAX_ACTORS;
use ouro_service::access::{Guard, Identity, Permissions, Role};
use ouro_service::connections::ConnectionInfo;
use ouro_service::{Clock, IntoStatus, SystemClock};
use ouro_settings::process_report;
use tokio::sync::{Mutex, Semaphore, mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Code, Request, Response, Status, Streaming};

use crate::actors::Client;
use crate::journal_writer::JournalWriter;
use crate::publisher::Delivery;
use crate::replay::SharedReplay;
use crate::rules::Rules;
use crate::status::SharedStatus;

pub(crate) use ouro_proto::trajectory::MAX_MESSAGE_BYTES;

/// Which roles may call which methods.
pub(crate) const PERMISSIONS: Permissions = &[
    ("/ouro.learner.v1.LearnerService/Push", &[Role::Actor]),
    ("/ouro.learner.v1.LearnerService/GetStatus", &[Role::Reader, Role::Actor]),
];

/// Maximum number of games of one connection between receipt and the journal writer.
pub(crate) const AHEAD: usize = 8;

/// Longest name of an actor's program, in bytes.
const MAX_PROGRAM: usize = 64;

/// Why a stream ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamError {
    /// The maximum number of streams is open.
    #[error("all {0} streams of this learner are taken; try again later")]
    Saturated(usize),
    /// The first message is not a hello.
    #[error("the first message must be a hello")]
    NoHello,
    /// A later message is a hello or empty instead of a trajectory.
    #[error("only trajectories may follow the hello")]
    NoTrajectory,
    /// The hello is invalid.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// The hello names an actor that the credential is not of.
    #[error(
        "the {kind} of {holder} is not one of actor {name}; set deploy.name to {holder} or to \
         {holder}.REST, such as {holder}.{{hostname}}"
    )]
    OtherName {
        /// Kind of the credential.
        kind: String,
        /// Name of its holder.
        holder: String,
        /// Name in the hello.
        name: String,
    },
    /// The actor plays another game, or other rules.
    #[error("actor plays {got}; this run is of {expected}")]
    OtherGame {
        /// The actor's configuration, shortened.
        got: String,
        /// The learner's, shortened.
        expected: String,
    },
    /// The actor follows the pool of another run.
    #[error(
        "actor {name} plays for run {got}; this learner serves run {expected}; give the actor the arena and \
         the learner of one run, and restart it if its run has been replaced"
    )]
    OtherRun {
        /// The actor's name.
        name: String,
        /// The actor's run.
        got: RunId,
        /// The learner's.
        expected: RunId,
    },
    /// Another process has taken over the name, or the epoch belongs to another run.
    #[error(
        "epoch {epoch} of actor {name} is not its last one here; give every actor its own name, and restart those of an older run"
    )]
    Fenced {
        /// The actor's name.
        name: String,
        /// The epoch that the actor wants to resume.
        epoch: u64,
    },
    /// Another connection of the same process has taken over the session. Not permanent: its hello may
    /// have been delayed, and the process then connects again.
    #[error("another connection of actor {0} has taken over its session; connect again")]
    Replaced(String),
    /// The journal does not hold games that were acknowledged to the actor.
    #[error(
        "the journal lacks games {first} to {last} of epoch {epoch} of actor {name}, which were acknowledged; put a newer copy of the journal back, or restart the actor to continue without them"
    )]
    LostGames {
        /// The actor's name.
        name: String,
        /// The actor's epoch.
        epoch: u64,
        /// The first missing game.
        first: u64,
        /// The last missing game that the actor knows to be acknowledged.
        last: u64,
    },
    /// As many actors are known as can be, and the longest silent one is connected. Not permanent: its
    /// next game or its disconnection makes room.
    #[error(
        "this learner remembers {MAX_ACTORS} names of actors, and the longest silent of them is connected; try again later, and give actors names that they keep"
    )]
    Full,
    /// A sequence number was skipped.
    #[error("trajectory {got} came where {expected} was due")]
    Gap {
        /// The sequence number received.
        got: u64,
        /// The next sequence number.
        expected: u64,
    },
    /// The learner drains.
    #[error("the learner is shutting down")]
    Closing,
    /// No message arrived within the time limit for a hello.
    #[error("no hello within {} ms", .0.as_millis())]
    Silent(Duration),
    /// The credential sent too many invalid games, so its calls are refused for a while.
    #[error("{}", .0.message())]
    Suspended(Box<Status>),
    /// The transport failed.
    #[error("{}", .0.message())]
    Transport(Box<Status>),
}

impl IntoStatus for StreamError {
    fn code(&self) -> Code {
        match self {
            Self::Saturated(_) | Self::Full | Self::Suspended(_) => Code::ResourceExhausted,
            Self::OtherName { .. } => Code::PermissionDenied,
            Self::NoHello | Self::NoTrajectory | Self::Hello(_) | Self::Gap { .. } => {
                Code::InvalidArgument
            }
            Self::OtherGame { .. }
            | Self::OtherRun { .. }
            | Self::Fenced { .. }
            | Self::LostGames { .. } => Code::FailedPrecondition,
            Self::Closing | Self::Replaced(_) => Code::Unavailable,
            Self::Silent(_) => Code::DeadlineExceeded,
            Self::Transport(status) => status.code(),
        }
    }
}

/// The gRPC service. Clones share all state.
#[derive(Clone)]
pub(crate) struct Intake {
    shared: Arc<Shared>,
}

struct Shared {
    rules: Arc<dyn Rules>,
    journal_writer: JournalWriter,
    replay: Arc<SharedReplay>,
    progress: SharedStatus,
    game: Arc<GameConfig>,
    algorithm: &'static str,
    /// The state of delivery to the arena.
    delivered: watch::Receiver<Delivery>,
    /// Folder of the journal and the training states.
    folder: PathBuf,
    guard: Option<Guard>,
    max_streams: usize,
    hello: Duration,
    streams: Arc<Semaphore>,
    replays: Arc<Semaphore>,
    /// Whether actors are welcomed.
    is_ready: watch::Sender<bool>,
    /// The run of the arena, set before actors are welcomed; unset without an arena.
    run: OnceLock<RunId>,
    /// Held from a hello until its session is requested. The waiting hellos form a fair queue.
    openings: Mutex<()>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Intake {
    /// A service that checks games with `rules` and sends them to `journal_writer`. Its streams end
    /// when `stop` is cancelled.
    pub(crate) fn new(
        rules: Arc<dyn Rules>,
        journal_writer: JournalWriter,
        replay: Arc<SharedReplay>,
        progress: SharedStatus,
        delivered: watch::Receiver<Delivery>,
        config: &crate::config::Config,
        stop: CancellationToken,
    ) -> Self {
        let max_streams = config.intake.max_streams;
        let shared = Shared {
            rules,
            journal_writer,
            replay,
            progress,
            game: Arc::new(config.game.clone()),
            algorithm: config.train.algorithm.name().as_str(),
            delivered,
            folder: config.training_states.directory.clone(),
            guard: config.guard.clone(),
            max_streams,
            hello: Duration::from_millis(config.intake.hello_ms),
            streams: Arc::new(Semaphore::new(max_streams)),
            replays: Arc::new(Semaphore::new(config.intake.replay_threads)),
            is_ready: watch::Sender::new(false),
            run: OnceLock::new(),
            openings: Mutex::default(),
            stop,
            tasks: TaskTracker::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Welcomes the actors of `run`, or of any run if it is `None`: those that have connected, and those
    /// that will. Until then they get no answer.
    pub(crate) fn welcome_actors(&self, run: Option<RunId>) {
        if let Some(run) = run {
            self.shared.run.get_or_init(|| run);
        }
        self.shared.is_ready.send_replace(true);
    }

    /// Waits until every stream has ended. Meaningful after the stop token is cancelled.
    pub(crate) async fn drained(&self) {
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
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
        // One slot for an answer, and one reserved for the final status.
        let (responses, stream) = mpsc::channel(2);
        let last = responses.clone().reserve_owned().await;
        let last = last.map_err(|_| StreamError::Closing.status())?;
        let shared = Arc::clone(&self.shared);
        let client = Client { program: program(&request), address: address(&request) };
        let identity = request.extensions().get::<Identity>().cloned();
        let requests = request.into_inner();
        self.shared.tasks.spawn(async move {
            let identity = identity.as_ref();
            let served = stream::serve(&shared, identity, requests, responses, client);
            if let Err(error) = served.await {
                tracing::info!(%error, "stream ended");
                last.send(Err(match error {
                    // With the time after which to try again.
                    StreamError::Suspended(status) => *status,
                    error => error.status(),
                }));
            }
            drop(permit);
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn get_status(
        &self,
        _request: Request<wire::GetStatusRequest>,
    ) -> Result<Response<wire::GetStatusResponse>, Status> {
        let Shared { progress, replay, algorithm, delivered, folder, guard, .. } = &*self.shared;
        let (figures, now) = (progress.figures(), Instant::now());
        let connected = figures.actors.list(now);
        let (training, intake) = (figures.training.seconds(now), figures.intake.seconds(now));
        let process = process_report(SystemClock::new().unix(), folder, guard.as_ref());
        let published = delivered.borrow().newest;
        let deviating = figures.deviations.list();
        let (progress, (status, starvation)) = (progress.get(), replay.status());
        let actors = self.shared.max_streams - self.shared.streams.available_permits();
        let report = progress.report;
        let blocked = progress.conditions.describe();
        let is_blocked = blocked.is_some();
        let condition = blocked.or(starvation).unwrap_or_default();
        Ok(Response::new(wire::GetStatusResponse {
            device: progress.device,
            algorithm: (*algorithm).to_owned(),
            step: small(progress.step),
            newest_generation: progress.generation.0,
            games: progress.games as f64,
            positions: progress.moves as f64,
            refused: progress
                .refused
                .iter()
                .map(|(&reason, &games)| count(reason, games))
                .collect(),
            actors: actors as u32,
            loss: Some(wire::Loss {
                total: report.loss.total,
                policy: report.loss.policy,
                value: report.loss.value,
                entropy: report.loss.entropy,
                gradient_norm: report.gradient_norm,
                learning_rate: report.learning_rate,
            }),
            window: Some(wire::Window {
                games: small(status.games as u64),
                positions: status.positions as f64,
                capacity: status.capacity as f64,
                sampled: status.counters.samples as f64,
                staleness: status.staleness.lag,
            }),
            mean_return: progress.mean_return,
            condition,
            connected: connected.into_iter().map(Into::into).collect(),
            process: Some(process.into()),
            device_kind: wire::DeviceKind::from(progress.device_kind).into(),
            blocked: is_blocked,
            training_waited: waited(training),
            intake_waited: waited(intake),
            published_generation: published.map(|generation| generation.0),
            max_actors: self.shared.max_streams as u32,
            deviating: deviating.into_iter().map(Into::into).collect(),
        }))
    }
}

/// The program that a request names in its user agent, such as `ouro-actor/0.1.0`. Empty if it
/// names none, or one that is not plain text.
fn program<T>(request: &Request<T>) -> String {
    let agent = request.metadata().get("user-agent").and_then(|agent| agent.to_str().ok());
    let program = agent.and_then(|agent| agent.split_whitespace().next()).unwrap_or_default();
    let is_plain = program.bytes().all(|byte| byte.is_ascii_graphic());
    if is_plain && program.len() <= MAX_PROGRAM { program.to_owned() } else { String::new() }
}

/// The IP address of a caller, if the connection knows it.
fn address<T>(request: &Request<T>) -> Option<IpAddr> {
    let connection = request.extensions().get::<ConnectionInfo>()?;
    connection.peer.address.map(|address| address.ip().to_canonical())
}

/// Times of waiting by reason.
fn waited(times: Vec<(&'static str, f64)>) -> Vec<wire::Waited> {
    let waited =
        |(reason, seconds): (&str, f64)| wire::Waited { reason: reason.to_owned(), seconds };
    times.into_iter().map(waited).collect()
}

/// A count as `u32`, because grpcurl prints 64-bit integers as text.
fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn count(reason: RefusalReason, games: u64) -> wire::RefusalCount {
    wire::RefusalCount { reason: wire::RefusalReason::from(reason).into(), games: small(games) }
}

#[cfg(test)]
mod tests;
