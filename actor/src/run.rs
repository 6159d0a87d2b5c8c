//! One actor process: threads that play, tasks that talk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_proto::arena_client::{ArenaClient, ArenaError};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;
use tracing::{error, info};

use crate::pool_watch::watch_pool;
use crate::push::Pusher;
use crate::worker::{Played, WorkerSettings};
use crate::{ActorConfig, ActorError, Outbox, Roster, Worker};

/// How often a thread without a roster looks for one.
const IDLE: Duration = Duration::from_millis(50);

/// Counts that the threads of an actor share.
#[derive(Debug, Default)]
pub struct ActorCounters {
    games: AtomicU64,
    moves: AtomicU64,
}

impl ActorCounters {
    /// Games finished by this process.
    pub fn games(&self) -> u64 {
        self.games.load(Ordering::Relaxed)
    }

    /// Player moves in those games.
    pub fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }

    fn add(&self, played: &Played) {
        let moves: usize = played.record.plies.iter().map(Vec::len).sum();
        self.games.fetch_add(1, Ordering::Relaxed);
        self.moves.fetch_add(moves as u64, Ordering::Relaxed);
    }
}

/// A configured actor that has not started.
#[derive(Debug)]
pub struct Actor {
    config: ActorConfig,
    endpoint: Endpoint,
    counters: Arc<ActorCounters>,
}

impl Actor {
    /// Checks the configuration; nothing runs yet.
    pub fn new(config: ActorConfig) -> Result<Self, ActorError> {
        config.validate()?;
        struct Check;
        impl GameVisitor for Check {
            type Output = ();
            fn visit<G: Game>(self, _game: G) {}
        }
        config.game.visit(Check)?;
        let address = || ActorError::Config {
            field: "learner",
            value: config.learner.clone(),
            remedy: "give a URL such as http://127.0.0.1:50062".to_owned(),
        };
        let endpoint = Endpoint::from_shared(config.learner.clone()).map_err(|_| address())?;
        if endpoint.uri().host().is_none() {
            return Err(address());
        }
        Ok(Self { config, endpoint, counters: Arc::default() })
    }

    /// Counts of what this actor has played, for whoever shows progress.
    pub fn counters(&self) -> Arc<ActorCounters> {
        Arc::clone(&self.counters)
    }

    /// Plays and pushes until `stop`; then starts no game, flushes what is finished, and
    /// returns. Games in flight are lost.
    pub async fn run_until(self, stop: CancellationToken) -> Result<(), ActorError> {
        let Self { config, endpoint, counters } = self;
        let arena = ArenaClient::new(&config.arena).map_err(|error: ArenaError| {
            let remedy = error.to_string();
            ActorError::Config { field: "arena", value: config.arena.clone(), remedy }
        })?;
        let start = start();
        let (rosters, roster) = watch::channel(None);
        let (sender, games) = mpsc::channel(config.games_per_thread);
        // A worker that fails stops this actor, not the process around it.
        let halt = stop.child_token();
        let mut threads = Vec::with_capacity(config.threads);
        for index in 0..config.threads {
            let settings = WorkerSettings {
                games: config.games_per_thread,
                self_play_share: config.self_play_share,
                max_plies: config.max_plies,
                seed: config.seed ^ start,
                index: index as u64,
            };
            let line = Line {
                config: config.game.clone(),
                settings,
                roster: roster.clone(),
                games: sender.clone(),
                counters: Arc::clone(&counters),
                halt: halt.clone(),
            };
            let name = format!("play-{index}");
            let thread = thread::Builder::new().name(name).spawn(move || line.run());
            threads.push(thread.map_err(ActorError::Thread)?);
        }
        drop(sender);
        let pusher = Pusher {
            endpoint,
            name: config.name.clone(),
            epoch: None,
            config: config.game.clone(),
            outbox: Outbox::new(config.outbox_games),
            games,
            stop: halt.clone(),
        };
        let (pushed, ()) = tokio::join!(pusher.run(), watch_pool(arena, rosters, halt.clone()));
        let unanswered = pushed?;
        info!(unanswered, games = counters.games(), "actor drained");
        // Their channel is closed by now, so each ends after its current ply.
        let joined = tokio::task::spawn_blocking(move || {
            threads.into_iter().map(thread::JoinHandle::join).filter(Result::is_err).count()
        });
        match joined.await {
            Ok(0) if stop.is_cancelled() => Ok(()),
            Ok(0) => Err(ActorError::Worker),
            Ok(_) | Err(_) => Err(ActorError::Panicked),
        }
    }
}

/// A number that differs between two starts of the same actor.
fn start() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64 ^ u64::from(std::process::id()).rotate_left(48)
}

/// What one playing thread owns.
struct Line {
    config: GameConfig,
    settings: WorkerSettings,
    roster: watch::Receiver<Option<Arc<Roster>>>,
    games: mpsc::Sender<Played>,
    counters: Arc<ActorCounters>,
    halt: CancellationToken,
}

impl Line {
    fn run(self) {
        // Whatever ends a thread, a panic too, stops the actor: games must not stop unseen.
        let _halts = self.halt.clone().drop_guard();
        let config = self.config.clone();
        if let Err(error) = config.visit(self) {
            error!(%error, "the game's configuration stopped being valid");
        }
    }
}

impl GameVisitor for Line {
    type Output = ();

    fn visit<G: Game>(self, game: G) {
        let mut worker = Worker::new(game, self.config, self.settings);
        while !self.halt.is_cancelled() {
            let Some(roster) = self.roster.borrow().clone() else {
                thread::sleep(IDLE);
                continue;
            };
            match worker.tick(&roster) {
                Ok(finished) => {
                    for played in finished {
                        self.counters.add(&played);
                        if self.games.blocking_send(played).is_err() {
                            return;
                        }
                    }
                }
                Err(error) => {
                    error!(%error, "a playing thread stops");
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{config, roster};

    #[tokio::test]
    async fn a_playing_thread_that_panics_stops_its_actor() {
        let halt = CancellationToken::new();
        let (_rosters, roster) = watch::channel(Some(Arc::new(roster(1, &[]))));
        let (sender, _games) = mpsc::channel(1);
        let settings =
            WorkerSettings { games: 1, self_play_share: 1.0, max_plies: 9, seed: 1, index: 0 };
        let line = Line {
            config: config(),
            settings,
            roster,
            games: sender,
            counters: Arc::default(),
            halt: halt.clone(),
        };
        // Handing over a game blocks, which panics inside a runtime: a real panic, in the
        // middle of play.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| line.run()));
        assert!(ended.is_err());
        assert!(halt.is_cancelled());
    }
}
