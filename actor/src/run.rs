//! One actor: threads that play, and tasks that communicate with the arena and the learner.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::Generation;
use ouro_proto::arena_client::{ArenaClient, ArenaError};
use ouro_service::{Background, BoxFuture, identity};
use ouro_settings::SettingError;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;
use tracing::{error, info};

use crate::cache::Cache;
use crate::config::{ActorConfig, DrainConfig, check};
use crate::counters::ActorCounters;
use crate::dead_letters::DeadLetters;
use crate::error::ActorError;
use crate::loader::Loader;
use crate::metrics::ActorSource;
use crate::outbox::Outbox;
use crate::pool_watch::PoolWatcher;
use crate::push::{Progress, Pusher, over_tcp};
use crate::roster::Roster;
use crate::send_log::SendLog;
use crate::waves::{Wave, Waves};
use crate::worker::{FinishedGame, TreeLimits, Worker, WorkerError, WorkerSettings};

/// What the actor calls itself at the learner.
const PROGRAM: &str = concat!("ouro-actor/", env!("CARGO_PKG_VERSION"));

/// Polling interval of a thread that has no games or no roster.
const IDLE: Duration = Duration::from_millis(50);
/// How often a game of a wave is played until there is something to learn from it. Even if a game has
/// a full search with a probability of a quarter only, one in 10,000 has none in as many attempts.
const ATTEMPTS: u32 = 32;

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
    /// The drain starts no game. It finishes or drops running games (see [`DrainConfig`]) and
    /// pushes the finished games.
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
        let mut threads = Vec::with_capacity(config.threads);
        for index in 0..config.threads {
            let settings = config.worker(seed, index);
            let line = Line {
                config: Arc::clone(&game),
                settings,
                roster: roster.clone(),
                games: sender.clone(),
                counters: Arc::clone(&counters),
                halt: halt.clone(),
                drain: config.drain.clone(),
                waves: waves.take(),
            };
            let name = format!("play-{index}");
            threads.push(Background::thread(name, move || line.run())?);
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
            progress: Progress::default(),
        };
        let watcher = PoolWatcher {
            arena,
            loader: Loader::new(config.game.clone(), cache),
            rosters,
            run,
            hints,
            counters: Arc::clone(&counters),
            stop: halt.clone(),
        };
        let (pushed, watched) = tokio::join!(pusher.run(), watcher.run());
        watched?;
        let unanswered = pushed?;
        info!(unanswered, games = counters.games(), "actor drained");
        // The channel of games is closed now, so each thread ends after its current batch.
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

/// The state of one playing thread.
struct Line {
    config: Arc<GameConfig>,
    settings: WorkerSettings,
    roster: watch::Receiver<Option<Arc<Roster>>>,
    games: mpsc::Sender<FinishedGame>,
    counters: Arc<ActorCounters>,
    halt: CancellationToken,
    drain: DrainConfig,
    /// The waves to play; `None` plays without waves.
    waves: Option<Receiver<Wave>>,
}

impl Line {
    fn run(self) {
        // Any end of a thread, including a panic, stops the actor. Otherwise the actor would
        // continue with fewer games and no error.
        let _halts = self.halt.clone().drop_guard();
        let config = self.config.clone();
        if let Err(error) = config.visit(self) {
            error!(%error, "the game's configuration stopped being valid");
        }
    }

    fn play<G: Game>(&self, worker: &mut Worker<G>) -> Result<(), WorkerError> {
        if let Some(TreeLimits { trees, nodes, bytes }) = worker.limits() {
            let (thread, mib) = (self.settings.index, bytes.div_ceil(1 << 20));
            info!(thread, trees, nodes, mib, "most that search trees can take");
        }
        match &self.waves {
            Some(waves) => self.play_waves(worker, waves),
            None => self.play_on(worker),
        }
    }

    /// Runs one tick of the worker and adds to the counters. Returns `None` if `is_over` ended the tick
    /// early.
    fn tick<G: Game>(
        &self,
        worker: &mut Worker<G>,
        roster: &Roster,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<FinishedGame>>, WorkerError> {
        let before = worker.stats();
        let finished = worker.tick_unless(roster, is_over)?;
        self.counters.add(&before, &worker.stats());
        for game in finished.iter().flatten() {
            self.counters.finished(&game.trajectory, roster.newest.generation);
        }
        Ok(finished)
    }

    /// Plays until the actor halts and drains, or the receiver of games is dropped.
    fn play_on<G: Game>(&self, worker: &mut Worker<G>) -> Result<(), WorkerError> {
        let until = OnceCell::new();
        let is_over = || self.is_drained(&until);
        while !is_over() {
            if self.halt.is_cancelled() {
                worker.close();
                if worker.running() == 0 {
                    return Ok(());
                }
            }
            let Some(roster) = self.roster.borrow().clone() else {
                thread::sleep(IDLE);
                continue;
            };
            for game in self.tick(worker, &roster, &is_over)?.into_iter().flatten() {
                if self.games.blocking_send(game).is_err() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Whether the thread must end now: at the halt, or `drain.seconds` later if running games are
    /// finished. The first call after the halt stores that moment in `until`.
    fn is_drained(&self, until: &OnceCell<Instant>) -> bool {
        if !self.halt.is_cancelled() {
            return false;
        }
        let grace = if self.drain.finish_games { self.drain.grace() } else { Duration::ZERO };
        Instant::now() >= *until.get_or_init(|| Instant::now() + grace)
    }

    /// Plays waves until the actor halts or the receiver of games is dropped. A halt drops an
    /// incomplete wave.
    fn play_waves<G: Game>(
        &self,
        worker: &mut Worker<G>,
        waves: &Receiver<Wave>,
    ) -> Result<(), WorkerError> {
        while let Some((numbers, roster)) = self.next_wave(waves) {
            let Some(wave) = self.play_wave(worker, numbers, &roster)? else { return Ok(()) };
            for game in wave.into_values() {
                if self.games.blocking_send(game).is_err() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The games of a wave by number; `None` once the actor halts.
    ///
    /// The number of a game is also its position in the journal, so every number needs a game. A game
    /// that has nothing to learn from is played again with another seed.
    fn play_wave<G: Game>(
        &self,
        worker: &mut Worker<G>,
        numbers: Range<u64>,
        roster: &Roster,
    ) -> Result<Option<BTreeMap<u64, FinishedGame>>, WorkerError> {
        let mut wave = BTreeMap::new();
        for attempt in 0..ATTEMPTS {
            let missing: Vec<u64> =
                numbers.clone().filter(|number| !wave.contains_key(number)).collect();
            for run in missing.chunk_by(|before, after| before + 1 == *after) {
                worker.play_only(run[0]..run[0] + run.len() as u64, attempt);
                while !worker.is_done() {
                    let finished = self.tick(worker, roster, &|| self.halt.is_cancelled())?;
                    let Some(finished) = finished else { return Ok(None) };
                    wave.extend(finished.into_iter().map(|game| (game.number, game)));
                }
            }
        }
        match numbers.clone().find(|number| !wave.contains_key(number)) {
            Some(number) => Err(WorkerError::NothingToLearn { number, attempts: ATTEMPTS }),
            None => Ok(Some(wave)),
        }
    }

    /// Waits for the next wave and a roster to play it; `None` once the actor halts.
    fn next_wave(&self, waves: &Receiver<Wave>) -> Option<(Range<u64>, Arc<Roster>)> {
        let mut wave: Option<Wave> = None;
        while !self.halt.is_cancelled() {
            let Some(Wave { numbers, revision }) = &wave else {
                match waves.recv_timeout(IDLE) {
                    Ok(asked) => wave = Some(asked),
                    Err(RecvTimeoutError::Timeout) => {}
                    // The sender of waves is dropped, so the actor is about to halt.
                    Err(RecvTimeoutError::Disconnected) => thread::sleep(IDLE),
                }
                continue;
            };
            let roster = self.roster.borrow().clone();
            match roster.filter(|roster| roster.revision >= Some(*revision)) {
                Some(roster) => return Some((numbers.clone(), roster)),
                None => thread::sleep(IDLE),
            }
        }
        None
    }
}

impl GameVisitor for Line {
    type Output = ();

    fn visit<G: Game>(self, game: G) {
        let worker = Worker::new(game, Arc::clone(&self.config), self.settings.clone());
        if let Err(error) = worker.and_then(|mut worker| self.play(&mut worker)) {
            error!(%error, "a playing thread stops");
        }
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::tic_tac_toe::TicTacToe;
    use ouro_settings::{DemonstrationConfig, exploring};

    use super::*;
    use crate::testing::{config, roster, settings};

    #[tokio::test]
    async fn a_playing_thread_that_panics_stops_its_actor() {
        let halt = CancellationToken::new();
        let (_rosters, roster) = watch::channel(Some(Arc::new(roster(1, &[]))));
        let (sender, _games) = mpsc::channel(1);
        let line = Line {
            config: Arc::new(config()),
            settings: settings(1),
            roster,
            games: sender,
            counters: Arc::default(),
            halt: halt.clone(),
            drain: DrainConfig { finish_games: false, seconds: 10.0 },
            waves: None,
        };
        // A blocking send inside a runtime panics, so the thread panics during play.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| line.run()));
        assert!(ended.is_err());
        assert!(halt.is_cancelled());
    }

    #[test]
    fn a_wave_has_every_number_even_if_some_games_have_nothing_to_learn() {
        // No game of tic-tac-toe ends in four plies, and only networks estimate an outcome.
        let shown = |players: &[&str]| WorkerSettings {
            max_plies: 4,
            search: Some(exploring(8, 2)),
            demonstrations: DemonstrationConfig {
                players: players.iter().map(|&player| player.to_owned()).collect(),
                share: 1.0,
                ..DemonstrationConfig::default()
            },
            ..settings(3)
        };
        let play = |settings: WorkerSettings| {
            let (_rosters, rosters) = watch::channel(None);
            let line = Line {
                config: Arc::new(config()),
                settings: settings.clone(),
                roster: rosters,
                games: mpsc::channel(1).0,
                counters: Arc::default(),
                halt: CancellationToken::new(),
                drain: DrainConfig { finish_games: false, seconds: 10.0 },
                waves: None,
            };
            let mut worker =
                Worker::new(TicTacToe::default(), Arc::new(config()), settings).unwrap();
            let wave = line.play_wave(&mut worker, 5..45, &roster(1, &[]));
            wave.map(|wave| wave.expect("no halt"))
        };
        let either = shown(&["minimax{depth=2,weights=self}", "minimax{depth=2}"]);
        let mut once =
            Worker::new(TicTacToe::default(), Arc::new(config()), either.clone()).unwrap();
        once.play_only(5..45, 0);
        let mut kept = 0;
        while !once.is_done() {
            kept += once.tick(&roster(1, &[])).unwrap().len();
        }
        assert!((20..40).contains(&kept), "{kept} of 40 games have something to learn");
        let wave = play(either.clone()).unwrap();
        assert!(wave.keys().copied().eq(5..45));
        let trajectories = |wave: BTreeMap<u64, FinishedGame>| -> Vec<_> {
            wave.into_values().map(|game| game.trajectory).collect()
        };
        assert_eq!(trajectories(play(either).unwrap()), trajectories(wave));
        let error = play(shown(&["minimax{depth=9}"])).unwrap_err();
        let expected = "game 5 had nothing to learn from in 32 attempts";
        assert!(error.to_string().starts_with(expected), "{error}");
    }

    #[test]
    fn a_wave_is_played_by_the_roster_asked_for_and_handed_over_in_order() {
        let halt = CancellationToken::new();
        let at =
            |revision, generation| Some(Arc::new(Roster { revision, ..roster(generation, &[]) }));
        let (rosters, roster) = watch::channel(at(Some(6), 1));
        let (sender, mut games) = mpsc::channel(1);
        let (orders, waves) = std::sync::mpsc::channel();
        let line = Line {
            config: Arc::new(config()),
            settings: settings(3),
            roster,
            games: sender,
            counters: Arc::default(),
            halt: halt.clone(),
            drain: DrainConfig { finish_games: false, seconds: 10.0 },
            waves: Some(waves),
        };
        let playing = thread::spawn(move || line.run());
        orders.send(Wave { numbers: 4..11, revision: 7 }).unwrap();
        // Neither an earlier revision nor an incomplete roster is used.
        rosters.send_replace(at(None, 2));
        rosters.send_replace(at(Some(7), 3));
        for number in 4..11 {
            let game = games.blocking_recv().unwrap();
            assert_eq!(game.number, number);
            let seats = &game.trajectory.seats;
            assert!(seats.iter().all(|seat| seat.generation == Some(Generation(3))));
        }
        // The sender of waves is dropped; the thread then runs until the halt.
        drop(orders);
        halt.cancel();
        playing.join().unwrap();
        assert!(games.blocking_recv().is_none());
    }
}
