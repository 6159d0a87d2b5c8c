//! Simulated actors: real pushes of games that were made before, one connection each.

use std::collections::VecDeque;
use std::future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use ouro_game::GameConfig;
use ouro_proto::Credential;
use ouro_proto::push::{self, Ack, AckReceiver, GameSender, PushError};
use ouro_proto::trajectory::Hello;
use ouro_replay::Trajectory;
use ouro_service::Backoff;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

/// Name of the threads of the actors.
pub(crate) const ACTOR_THREAD: &str = "actors";

/// Messages that are queued for a connection, as in `ouro-actor`.
const IN_FLIGHT: usize = 8;

/// Unanswered games of an actor at most (`deploy.outbox_games`).
const OUTBOX: usize = 256;

/// Unanswered games of all actors at most, so that latency does not measure their outboxes.
const UNANSWERED: usize = 1_600;

/// Failed connections of all actors from which they count as locked out.
const MOST_RETRIES: u64 = 200;

/// Longest time until the games of an ended fleet are acknowledged.
const LONGEST_END: Duration = Duration::from_secs(60);

/// What is pushed.
pub(crate) struct Games {
    config: Arc<GameConfig>,
    games: Vec<(u64, Trajectory)>,
}

impl Games {
    /// Random games of this configuration.
    pub(crate) fn random(config: &GameConfig, count: u32) -> Arc<Self> {
        let games = ouro_bench::random_games(config, count).expect("a valid game");
        let with_positions = |game: Trajectory| (game.moves().count() as u64, game);
        let games = games.into_iter().map(with_positions).collect();
        Arc::new(Self { config: Arc::new(config.clone()), games })
    }

    /// Positions for training, and bytes of the message, of a game on average.
    pub(crate) fn means(&self) -> (f64, f64) {
        let count = self.games.len() as f64;
        let positions: u64 = self.games.iter().map(|(positions, _)| positions).sum();
        let bytes: usize =
            self.games.iter().map(|(_, game)| ouro_proto::trajectory::message_bytes(1, game)).sum();
        (positions as f64 / count, bytes as f64 / count)
    }
}

/// What all actors of a fleet have done.
pub(crate) struct Tally {
    pub(crate) games: AtomicU64,
    pub(crate) positions: AtomicU64,
    /// Times that an actor was not connected at once.
    pub(crate) retries: AtomicU64,
    /// Microseconds from the send to the acknowledgement of each game since the last reset.
    pub(crate) latency: Mutex<Histogram<u64>>,
}

impl Tally {
    fn new() -> Self {
        let latency = Histogram::new_with_max(600_000_000, 2).expect("valid bounds");
        Self {
            games: AtomicU64::new(0),
            positions: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            latency: Mutex::new(latency),
        }
    }
}

/// Actors that push until they are ended.
pub(crate) struct Fleet {
    runtime: Runtime,
    actors: JoinSet<Result<u64, PushError>>,
    stop: CancellationToken,
    pub(crate) tally: Arc<Tally>,
}

impl Fleet {
    /// Starts `count` actors. `rate` is the number of games of all of them per second; without a
    /// rate, each sends a game as soon as one is acknowledged.
    pub(crate) fn start(
        url: &str,
        prefix: &str,
        count: usize,
        rate: Option<f64>,
        games: &Arc<Games>,
    ) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder
            .worker_threads(1)
            .thread_name(ACTOR_THREAD)
            .enable_all()
            .build()
            .expect("a runtime");
        let (stop, tally) = (CancellationToken::new(), Arc::new(Tally::new()));
        let mut actors = JoinSet::new();
        for index in 0..count {
            let actor = Actor {
                url: url.to_owned(),
                name: format!("{prefix}-{index}"),
                window: (UNANSWERED / count).clamp(1, OUTBOX),
                first: index * games.games.len() / count,
                period: rate.map(|rate| Duration::from_secs_f64(count as f64 / rate)),
                phase: index as f64 / count as f64,
                games: Arc::clone(games),
                tally: Arc::clone(&tally),
                stop: stop.clone(),
            };
            actors.spawn_on(actor.push(), runtime.handle());
        }
        Self { runtime, actors, stop, tally }
    }

    /// Waits until every game that was sent is acknowledged. Returns the games of each actor.
    ///
    /// Panics if the learner has refused a game or ended a stream, or takes too long.
    pub(crate) fn end(self) -> Vec<u64> {
        let Self { runtime, mut actors, stop, .. } = self;
        stop.cancel();
        let all = async {
            let mut pushed = Vec::new();
            while let Some(ended) = actors.join_next().await {
                let ended = ended.expect("no panic");
                pushed.push(ended.expect("an honest actor is served to its end"));
            }
            pushed
        };
        let pushed = runtime.block_on(async { tokio::time::timeout(LONGEST_END, all).await });
        pushed.unwrap_or_else(|_| panic!("the actors do not end within {LONGEST_END:?}"))
    }
}

struct Actor {
    url: String,
    name: String,
    /// Unanswered games at most.
    window: usize,
    /// Index of the first game.
    first: usize,
    /// Time from one game to the next.
    period: Option<Duration>,
    /// When in the period the first game is sent, so that the actors take turns.
    phase: f64,
    games: Arc<Games>,
    tally: Arc<Tally>,
    stop: CancellationToken,
}

impl Actor {
    async fn push(self) -> Result<u64, PushError> {
        let (sender, mut acks) = self.connect().await?;
        let mut pace = match self.period {
            Some(period) => {
                tokio::time::sleep(period.mul_f64(self.phase)).await;
                let mut interval = tokio::time::interval(period);
                interval.set_missed_tick_behavior(MissedTickBehavior::Burst);
                Some(interval)
            }
            None => None,
        };
        let (mut sent, mut due, mut waiting) = (0_u64, false, VecDeque::new());
        loop {
            // An actor that was welcomed late sends its first game nevertheless.
            let is_stopped = self.stop.is_cancelled() && sent > 0;
            if is_stopped && waiting.is_empty() {
                return Ok(sent);
            }
            let is_open = !is_stopped && waiting.len() < self.window;
            tokio::select! {
                () = self.stop.cancelled(), if !self.stop.is_cancelled() => {}
                () = tick(&mut pace), if is_open && !due => due = true,
                ack = acks.next() => self.count(&ack?.ok_or(PushError::Closed)?, &mut waiting),
                permit = sender.reserve(), if is_open && due => {
                    let index = (self.first + sent as usize) % self.games.games.len();
                    let (positions, game) = &self.games.games[index];
                    sent += 1;
                    permit?.send(sent, game);
                    waiting.push_back((sent, *positions, Instant::now()));
                    due = false;
                }
            }
        }
    }

    /// Connects, like a real actor with growing delays.
    async fn connect(&self) -> Result<(GameSender, AckReceiver), PushError> {
        let mut backoff = Backoff::default();
        loop {
            let config = Arc::clone(&self.games.config);
            let actor = self.name.clone();
            let hello = Hello { actor, epoch: None, answered: 0, config, version: 1, run: None };
            let channel = push::endpoint(self.url.clone())?.tcp_nodelay(true).connect().await;
            let opened = match channel {
                Ok(channel) => push::open(channel, Credential::None, hello, IN_FLIGHT).await,
                Err(error) => Err(error.into()),
            };
            match opened {
                Ok((_, games, acks)) => return Ok((games, acks)),
                Err(error) => {
                    let retries = 1 + self.tally.retries.fetch_add(1, Ordering::Relaxed);
                    assert!(retries < MOST_RETRIES, "{}: {error}", self.name);
                }
            }
            tokio::time::sleep(backoff.next_delay()).await;
        }
    }

    fn count(&self, ack: &Ack, waiting: &mut VecDeque<(u64, u64, Instant)>) {
        assert!(ack.refused.is_empty(), "{}: {:?}", self.name, ack.refused);
        let mut latency = self.tally.latency.lock().expect("no actor panics while it counts");
        while let Some((_, positions, at)) =
            waiting.pop_front_if(|(sequence, ..)| *sequence <= ack.watermark)
        {
            self.tally.games.fetch_add(1, Ordering::Relaxed);
            self.tally.positions.fetch_add(positions, Ordering::Relaxed);
            latency.saturating_record(at.elapsed().as_micros() as u64);
        }
    }
}

/// The next tick; at once without a pace.
async fn tick(pace: &mut Option<Interval>) {
    match pace {
        Some(interval) => {
            interval.tick().await;
        }
        None => future::ready(()).await,
    }
}
