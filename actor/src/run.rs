//! One actor: threads that play, and tasks that communicate with the arena and the learner.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::SystemTime;

use ouro_net::Generation;
use ouro_proto::arena_client::{ArenaClient, ArenaError};
use ouro_proto::trajectory::MAX_MESSAGE_BYTES;
use ouro_service::{Background, BoxFuture, Refusals, identity};
use ouro_settings::SettingError;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;
use tracing::info;

use crate::cache::Cache;
use crate::config::{ActorConfig, check};
use crate::counters::ActorCounters;
use crate::dead_letters::DeadLetters;
use crate::error::ActorError;
use crate::loader::Loader;
use crate::metrics::ActorSource;
use crate::outbox::Outbox;
use crate::play_thread::PlayThread;
use crate::pool_watch::PoolWatcher;
use crate::push::{Progress, Pusher, over_tcp};
use crate::send_log::SendLog;
use crate::waves::{Wave, Waves};

/// What the actor calls itself at the learner.
const PROGRAM: &str = concat!("ouro-actor/", env!("CARGO_PKG_VERSION"));

/// A configured actor that has not started.
#[derive(Debug)]
pub struct Actor {
    config: ActorConfig,
    endpoint: Endpoint,
    counters: Arc<ActorCounters>,
    waves: Option<Receiver<Wave>>,
    files: Files,
}

impl Actor {
    /// Validates the configuration and opens the files that it names. Nothing runs yet.
    pub fn new(config: ActorConfig) -> Result<Self, ActorError> {
        config.validate()?;
        config.check_play()?;
        let address = || {
            let remedy = "give a URL such as http://127.0.0.1:50062";
            SettingError::new("learner", &config.learner, remedy)
        };
        let endpoint = Endpoint::from_shared(config.learner.clone()).map_err(|_| address())?;
        let endpoint = endpoint.user_agent(PROGRAM).expect("the name is plain ASCII");
        if endpoint.uri().host().is_none() {
            return Err(address().into());
        }
        let files = Files::open(&config)?;
        identity().set_game(config.game.name());
        Ok(Self { config, endpoint, counters: Arc::default(), waves: None, files })
    }

    /// Switches the actor to wave mode. The actor then plays only the games that [`Waves`]
    /// requests, and its randomness follows from the configured seed alone. The actor must have one
    /// thread.
    pub fn in_waves(mut self) -> Result<(Self, Waves), ActorError> {
        let threads = self.config.threads;
        check("threads", threads, threads == 1, "give 1, which plays in waves")?;
        let (asks, waves) = Waves::new(self.counters());
        self.config.deterministic = true;
        self.waves = Some(waves);
        Ok((self, asks))
    }

    /// The counters of this actor.
    pub fn counters(&self) -> Arc<ActorCounters> {
        Arc::clone(&self.counters)
    }

    /// The series of this actor for Prometheus; the source stays valid while the actor runs.
    pub fn metrics(&self) -> ActorSource {
        ActorSource { counters: self.counters(), outbox_games: self.config.outbox_games }
    }

    /// Plays and pushes until `stop`, then drains and returns.
    ///
    /// The drain starts no game. It finishes or drops running games (see
    /// [`DrainConfig`](crate::DrainConfig)) and pushes the finished games.
    pub fn run_until(self, stop: CancellationToken) -> BoxFuture<Result<(), ActorError>> {
        Box::pin(self.run(stop))
    }

    async fn run(self, stop: CancellationToken) -> Result<(), ActorError> {
        let Self { config, endpoint, counters, mut waves, files } = self;
        config.credential.token().map_err(ActorError::Token)?;
        let arena = ArenaClient::with_tls(&config.arena, config.tls.as_ref())
            .map_err(|error: ArenaError| SettingError::new("arena", &config.arena, error))?
            .credential(config.credential.clone());
        let seed = if config.deterministic { config.seed } else { config.seed ^ start() };
        let Files { cache, send_log, dead_letters } = files;
        let game = Arc::new(config.game.clone());
        let (rosters, roster) = watch::channel(None);
        let (newest, hints) = watch::channel(Generation(0));
        let (run, followed) = watch::channel(None);
        let (sender, games) = mpsc::channel(config.play.games_per_thread);
        // A failed worker stops this actor, not the process around it.
        let halt = stop.child_token();
        // Cancelled once no more games are sent.
        let closed = CancellationToken::new();
        let mut threads = Vec::with_capacity(config.threads);
        for index in 0..config.threads {
            let settings = config.worker(seed, index);
            let thread = PlayThread {
                config: Arc::clone(&game),
                settings,
                roster: roster.clone(),
                games: sender.clone(),
                counters: Arc::clone(&counters),
                halt: halt.clone(),
                closed: closed.clone(),
                finish_games: config.drain.finish_games,
                waves: waves.take(),
                max_message_bytes: MAX_MESSAGE_BYTES,
            };
            let name = format!("play-{index}");
            threads.push(Background::thread(name, move || thread.run())?);
        }
        drop(sender);
        let pusher = Pusher {
            connect: over_tcp(endpoint, config.tls.clone()),
            credential: config.credential.clone(),
            name: config.name.clone(),
            config: game,
            outbox: Outbox::new(config.outbox_games),
            games,
            send_log,
            dead_letters,
            counters: Arc::clone(&counters),
            run: followed,
            newest,
            stop: halt.clone(),
            grace: config.drain.grace(),
            closed,
            refusals: Refusals::default(),
            progress: Progress::default(),
        };
        let watcher = PoolWatcher {
            arena,
            loader: Loader::new(config.game.clone(), cache),
            rosters,
            run,
            hints,
            counters: Arc::clone(&counters),
            refusals: Refusals::default(),
            stop: halt.clone(),
        };
        let (pushed, watched) = tokio::join!(pusher.run(), watcher.run());
        watched?;
        let unanswered = pushed?;
        info!(unanswered, games = counters.games(), "actor drained");
        // `closed` is cancelled now, so each thread ends after its current batch.
        let mut ended = Ok(());
        for thread in threads {
            ended = ended.and(thread.join().await);
        }
        ended?;
        if stop.is_cancelled() { Ok(()) } else { Err(ActorError::Worker) }
    }
}

/// The files that the configuration names.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) cache: Option<Arc<Cache>>,
    pub(crate) send_log: SendLog,
    pub(crate) dead_letters: DeadLetters,
}

impl Files {
    pub(crate) fn open(config: &ActorConfig) -> Result<Self, ActorError> {
        let failed = |field, path: &Path, error| {
            let path = path.display().to_string();
            ActorError::File { field, path, error }
        };
        let open = |folder: &PathBuf| {
            let bytes = config.cache.mib.saturating_mul(1 << 20);
            Cache::open(folder.clone(), bytes, SystemTime::now())
                .map_err(|error| failed("deploy.cache", folder, error))
        };
        let cache = config.cache.folder.as_ref().map(open).transpose()?.map(Arc::new);
        let (records, dead) = (config.log_records.as_deref(), config.dead_letters.as_deref());
        let named = |path: Option<&Path>, (field, error)| {
            failed(field, path.unwrap_or(Path::new("")), error)
        };
        let send_log = SendLog::open(records).map_err(|error| named(records, error))?;
        let bytes = config.dead_letters_mib.saturating_mul(1 << 20);
        let dead_letters = DeadLetters::open(dead, bytes).map_err(|error| named(dead, error))?;
        Ok(Self { cache, send_log, dead_letters })
    }
}

/// A number that differs between two starts of an actor.
///
/// The process id distinguishes actors of one machine that start at the same time.
fn start() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64 ^ u64::from(std::process::id()).rotate_left(48)
}
