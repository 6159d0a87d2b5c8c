//! The lifecycle of a worker: take jobs, play them, drain.
//!
//! A stopping worker takes no more jobs, plays on for its grace and hands back what is left. A
//! worker that dies loses its leases within seconds, and others play its jobs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ouro_game::GameConfig;
use ouro_net::RunId;
use ouro_proto::arena_client::ArenaError;
use ouro_proto::{ArenaClient, Credential};
use ouro_service::{Background, BackgroundError, Backoff, BoxFuture, ExitStatus, SystemClock};
use ouro_settings::Settings;
use ouro_tls::ClientTls;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::engines::{EngineError, Engines};
use super::job::{Job, JobError, JobHead};
use super::leases::Leases;
use super::queue::worker::{Taken, WorkerQueue};
use super::session::Session;
use crate::config::StoreConfig;
use crate::matches::{PlayClusters, PlayError};
use crate::side::{PlayersClock, Side};
use crate::store::{RedisAddress, StoreError};

/// The longest delay before a worker takes jobs again after it handed some back.
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// Time between two looks at the stop during a delay.
const LOOK: Duration = Duration::from_millis(100);

/// The settings of a worker.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// URL of the arena, from which weights are fetched.
    pub arena: String,
    /// What the worker presents to the arena.
    pub credential: Credential,
    /// How the arena is verified; needed for an `https` address.
    pub tls: Option<ClientTls>,
    /// Where the jobs are.
    pub store: StoreConfig,
    /// The game of the run. A job of another game is refused.
    pub game: GameConfig,
    /// Games in play at the same time.
    pub parallel: usize,
    /// Largest weights file, in bytes.
    pub max_weights_bytes: u64,
    /// Time to finish jobs after the stop.
    pub grace: Duration,
}

/// Why a worker ends.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The results are in files, so there are no jobs.
    #[error(
        "deploy.store is not set; a worker takes its jobs from the Redis server of the arena: \
         give redis://HOST:PORT"
    )]
    NoStore,
    /// The address of the arena is not valid.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The queue of jobs cannot be used.
    #[error(transparent)]
    Queue(#[from] StoreError),
    /// A thread could not start or ended early.
    #[error(transparent)]
    Thread(#[from] BackgroundError),
}

impl WorkerError {
    /// The exit status of a process that ends with this error.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            Self::NoStore | Self::Arena(_) => ExitStatus::BadConfiguration,
            Self::Queue(_) => ExitStatus::Unavailable,
            Self::Thread(_) => ExitStatus::Bug,
        }
    }
}

impl WorkerConfig {
    /// The configuration of a worker for the run with these settings.
    pub fn of_run(settings: &Settings) -> Self {
        Self {
            arena: settings.deploy.url(&settings.deploy.arena),
            credential: settings.deploy.credential(),
            tls: None,
            store: StoreConfig::of(&settings.deploy),
            game: settings.game.clone(),
            parallel: settings.arena.parallel,
            max_weights_bytes: settings.deploy.max_weights_bytes,
            grace: Duration::try_from_secs_f64(settings.deploy.drain_seconds).unwrap_or_default(),
        }
    }
}

/// A worker of the arena that does not run yet.
#[derive(Debug)]
pub struct ArenaWorker {
    config: WorkerConfig,
    address: RedisAddress,
    arena: ArenaClient,
    name: String,
}

impl ArenaWorker {
    /// Checks the configuration. Connections are opened once the worker runs.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime.
    pub fn new(config: WorkerConfig) -> Result<Self, WorkerError> {
        let address = config.store.redis()?.ok_or(WorkerError::NoStore)?;
        let arena = ArenaClient::with_tls(&config.arena, config.tls.as_ref())?;
        let arena = arena.credential(config.credential.clone());
        let arena = arena.max_weights_bytes(config.max_weights_bytes);
        Ok(Self { config, address, arena, name: unique_name() })
    }

    /// The name of the worker, which no other worker has.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Plays jobs until `stop` is cancelled, then drains. Waits for servers that cannot be reached;
    /// returns early if the queue refuses this worker.
    pub fn run_until(self, stop: CancellationToken) -> BoxFuture<Result<(), WorkerError>> {
        Box::pin(self.run(stop))
    }

    async fn run(self, stop: CancellationToken) -> Result<(), WorkerError> {
        let queue = || WorkerQueue::new(&self.address, &self.name);
        let leases = Arc::new(Leases::default());
        let renewing = queue()?.without_patience();
        let player = Player {
            queue: queue()?,
            engines: Engines::new(self.arena, Handle::current(), stop.clone()),
            leases: leases.clone(),
            stop: Stop { token: stop, grace: self.config.grace, asked: Default::default() },
            waiting: VecDeque::new(),
            backoff: Backoff::new(Duration::from_secs(1), LONGEST_DELAY),
            config: self.config,
        };
        tracing::info!(worker = self.name, queue = player.queue.server(), "taking jobs");
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let renewals = Background::thread("worker-leases", move || leases.keep(renewing, &ended))?;
        let played = Background::thread("worker-matches", move || player.run())?.join().await;
        drop(guard);
        renewals.join().await?;
        played?
    }
}

/// A name from host, process and time.
fn unique_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "worker" } else { host.trim() };
    let process = std::process::id();
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let unique = RunId::of(format!("{process} {time:?}").as_bytes()).to_string();
    format!("{host}-{process}-{}", &unique[..6])
}

/// The stop of a worker: asked for, and over after its grace.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    token: CancellationToken,
    grace: Duration,
    /// When the stop was first seen.
    asked: std::sync::OnceLock<Instant>,
}

impl Stop {
    /// Whether no more jobs should be taken.
    pub(crate) fn is_asked(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Whether the grace has passed.
    pub(crate) fn is_over(&self) -> bool {
        self.is_asked() && self.asked.get_or_init(Instant::now).elapsed() >= self.grace
    }
}

/// Why jobs are handed back.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error(transparent)]
    Job(#[from] JobError),
    #[error("a side of match {number} cannot play: {error}")]
    Side { number: u32, error: EngineError },
    #[error("match {number} cannot be played: {error}")]
    Play { number: u32, error: PlayError },
}

/// The thread that plays.
struct Player {
    config: WorkerConfig,
    queue: WorkerQueue,
    engines: Engines,
    leases: Arc<Leases>,
    stop: Stop,
    waiting: VecDeque<Taken>,
    backoff: Backoff,
}

impl Player {
    fn run(mut self) -> Result<(), WorkerError> {
        let mut said = String::new();
        let ended = loop {
            if self.stop.is_asked() {
                break Ok(());
            }
            let problem = match self.step() {
                Ok(None) => {
                    said.clear();
                    self.backoff.reset();
                    continue;
                }
                Ok(Some(refusal)) => format!("jobs are handed back: {refusal}"),
                Err(StoreError::Unreachable { store, problem }) => {
                    format!("{store} cannot be reached: {problem}; the worker waits for it")
                }
                Err(error) => break Err(error.into()),
            };
            // Repeated, the same line would say nothing new.
            if said != problem {
                tracing::warn!("{problem}");
                said = problem;
            }
            self.hand_back();
            self.pause();
        };
        self.hand_back();
        tracing::info!("jobs are finished or handed back");
        ended
    }

    /// Waits for a job and plays its match, as far as this worker takes part.
    fn step(&mut self) -> Result<Option<Refusal>, StoreError> {
        // Jobs that were withdrawn before they were started.
        self.waiting.retain(|(id, _)| !self.leases.drop_lost(*id));
        if self.waiting.is_empty() {
            // Jobs of workers that are gone first.
            let mut jobs = self.queue.take(1)?;
            if jobs.is_empty() {
                jobs.extend(self.queue.wait()?);
            }
            jobs.iter().for_each(|(id, _)| self.leases.add(*id));
            self.waiting.extend(jobs);
        }
        let Some((_, text)) = self.waiting.front() else { return Ok(None) };
        let head = match Job::read(text, &self.config.game) {
            Ok(job) => job.head,
            Err(error) => return Ok(Some(error.into())),
        };
        let number = head.number;
        let mut sides = Vec::with_capacity(2);
        for side in &head.sides {
            match self.engines.side(side) {
                Ok(side) => sides.push(side),
                Err(error) => return Ok(Some(Refusal::Side { number, error })),
            }
        }
        let Ok(sides) = <[Side; 2]>::try_from(sides) else { return Ok(None) };
        let played = self.play(&head, sides)?;
        Ok(played.err().map(|error| Refusal::Play { number, error }))
    }

    fn play(
        &mut self,
        head: &JobHead,
        sides: [Side; 2],
    ) -> Result<Result<(), PlayError>, StoreError> {
        let mut session = Session {
            head,
            queue: &mut self.queue,
            leases: &self.leases,
            stop: &self.stop,
            waiting: &mut self.waiting,
            held: BTreeMap::new(),
            next_look: None,
            played: 0,
            failed: None,
        };
        let visitor = PlayClusters {
            games: head.games(),
            sides,
            clock: Arc::new(PlayersClock(Arc::new(SystemClock::new()))),
            opening_plies: head.opening_plies,
            max_plies: head.max_plies,
            parallel: self.config.parallel,
            source: &mut session,
            live: &mut |_| {},
        };
        let played = head.game.visit(visitor).map_err(PlayError::from).flatten();
        let Session { held, played: count, failed, .. } = session;
        if count > 0 {
            tracing::info!(number = head.number, key = %head.key, clusters = count, "played");
        }
        // What is held here without an error and before the end of the grace was withdrawn.
        if played.is_ok() && failed.is_none() && !self.stop.is_over() {
            held.values().for_each(|id| self.leases.remove(*id));
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(played),
        }
    }

    /// Hands back all jobs.
    fn hand_back(&mut self) {
        self.waiting.clear();
        let held = self.leases.clear();
        if let Err(error) = self.queue.hand_back(&held) {
            // The leases expire by themselves.
            tracing::debug!(%error, "jobs were not handed back");
        }
    }

    /// Waits before the next job, or until the stop.
    fn pause(&mut self) {
        let end = Instant::now() + self.backoff.next_delay();
        while Instant::now() < end && !self.stop.is_asked() {
            std::thread::sleep(LOOK);
        }
    }
}
