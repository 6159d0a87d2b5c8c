//! An actor for simulations: the real upload of games and the real watch of the pool.
//!
//! A simulation runs on one thread, so games are played by a task instead of threads, with pauses
//! between them. The network is passed in. No trace is sent, because nothing starts their export.

use std::sync::Arc;
use std::time::Duration;

use ouro_game::tic_tac_toe::TicTacToe;
use ouro_net::Generation;
use ouro_proto::ArenaClient;
use ouro_service::{BoxFuture, Refusals};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};

use crate::config::ActorConfig;
use crate::counters::ActorCounters;
use crate::error::ActorError;
use crate::loader::Loader;
use crate::outbox::Outbox;
use crate::pool_watch::PoolWatcher;
use crate::push::{Progress, Pusher, with_limits};
use crate::roster::Roster;
use crate::run::Files;
use crate::worker::{FinishedGame, Worker};

/// Connects to an endpoint.
pub type Dial =
    Box<dyn Fn(Endpoint) -> BoxFuture<Result<Channel, tonic::transport::Error>> + Send + Sync>;

/// An actor of tic-tac-toe for simulations.
pub struct SimulatedActor {
    /// Its configuration.
    pub config: ActorConfig,
    /// The learner.
    pub learner: Endpoint,
    /// A client of the arena.
    pub arena: ArenaClient,
    /// Connects to the learner.
    pub dial: Dial,
    /// What this actor counts.
    pub counters: Arc<ActorCounters>,
    /// Pause after games.
    pub pace: Duration,
}

impl SimulatedActor {
    /// Plays and pushes until the future is dropped, or until this actor is refused or the arena is that of
    /// another run.
    pub async fn run(self) -> Result<(), ActorError> {
        let Self { config, learner, arena, dial, counters, pace } = self;
        let files = Files::open(&config)?;
        let (rosters, roster) = watch::channel(None);
        let (newest, hints) = watch::channel(Generation(0));
        let (run, followed) = watch::channel(None);
        let (sender, games) = mpsc::channel(config.play.games_per_thread);
        let stop = CancellationToken::new();
        let endpoint = with_limits(learner);
        let pusher = Pusher {
            connect: Box::new(move || dial(endpoint.clone())),
            credential: config.credential.clone(),
            name: config.name.clone(),
            config: Arc::new(config.game.clone()),
            outbox: Outbox::new(config.outbox_games),
            games,
            send_log: files.send_log,
            dead_letters: files.dead_letters,
            counters: Arc::clone(&counters),
            run: followed,
            newest,
            stop: stop.clone(),
            grace: config.drain.grace(),
            closed: CancellationToken::new(),
            refusals: Refusals::default(),
            progress: Progress::default(),
        };
        let watcher = PoolWatcher {
            arena,
            loader: Loader::new(config.game.clone(), files.cache),
            rosters,
            run,
            hints,
            counters,
            refusals: Refusals::default(),
            stop,
        };
        tokio::select! {
            biased;
            pushed = pusher.run() => pushed.map(drop),
            watched = watcher.run() => watched,
            played = play(&config, roster, sender, pace) => played,
        }
    }
}

/// Plays games with the newest roster, with a pause after those that end together.
async fn play(
    config: &ActorConfig,
    roster: watch::Receiver<Option<Arc<Roster>>>,
    games: mpsc::Sender<FinishedGame>,
    pace: Duration,
) -> Result<(), ActorError> {
    let settings = config.worker(config.seed, 0);
    let worker = Worker::new(TicTacToe::default(), Arc::new(config.game.clone()), settings);
    let mut worker = worker.map_err(ActorError::Play)?;
    loop {
        tokio::time::sleep(pace).await;
        let Some(roster) = roster.borrow().clone() else { continue };
        let mut finished = Vec::new();
        while finished.is_empty() {
            finished = worker.tick(&roster).map_err(ActorError::Play)?;
        }
        for game in finished {
            games.send(game).await.map_err(|_| ActorError::Worker)?;
        }
    }
}
