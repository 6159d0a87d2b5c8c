//! Arenas with workers: the same results as without, whatever the workers do.
//!
//! Without `redis-server` on this machine the tests are skipped, unless all checks are required.

use std::path::Path;
use std::time::Duration;

use ouro_arena::config::StoreConfig;
use ouro_arena::store::{
    Decision, EmbeddedStore, MatchInfo, MatchSums, RedisAddress, RedisStore, Store, StoredCluster,
    replay,
};
use ouro_arena::workers::{ArenaWorker, WorkerConfig, WorkerError};
use ouro_arena::{Arena, ArenaConfig};
use ouro_game::GameConfig;
use ouro_net::Generation;
use ouro_proto::Credential;
use ouro_rating::RatingTable;
use ouro_testkit::redis::RedisServer;
use redis::{Commands, Value};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::running::{MAX_BYTES, Running, clock, config, game, strong, uniform};

/// Everything that matches lead to.
#[derive(Debug, PartialEq)]
struct Facts {
    decisions: Vec<Decision>,
    matches: Vec<(MatchInfo, MatchSums)>,
    results: Vec<Vec<StoredCluster>>,
    ratings: RatingTable,
}

impl Facts {
    fn of(store: &dyn Store) -> Self {
        let matches = store.matches().unwrap();
        let results = matches.iter().map(|(info, _)| store.results(info.number).unwrap());
        // Every decision follows from the games of its match, which are in order.
        let ratings = replay(store).unwrap().table();
        Self { decisions: store.decisions().unwrap(), results: results.collect(), ratings, matches }
    }
}

/// A match takes long enough for workers to take part.
fn slow(folder: &Path, store: StoreConfig) -> ArenaConfig {
    let mut config = config(folder);
    config.matches.player = "mcts{sims=200,weights=self}".into();
    config.matches.opening_plies = Some(2);
    ArenaConfig { store, ..config }
}

/// Publishes three candidates, each after the games of the last, and stops the arena.
async fn play(config: ArenaConfig) -> RatingTable {
    play_with(config, 0).await
}

/// Like [`play`], once this many workers are active.
async fn play_with(config: ArenaConfig, workers: u32) -> RatingTable {
    let arena = Arena::bind(config, clock()).await.unwrap();
    let mut active = arena.workers();
    let mut arena = Running::run(arena);
    active.wait_for(|&active| active >= workers).await.unwrap();
    for (generation, weights) in [(0, uniform(0)), (1, strong(1)), (2, uniform(2))] {
        arena.publish(generation, weights).await;
        arena.idle_after(generation).await;
    }
    let ratings = arena.client.get_ratings().await.unwrap();
    arena.stop().await;
    ratings
}

/// The facts of an arena without workers.
async fn alone() -> Facts {
    let folder = tempfile::tempdir().unwrap();
    let ratings = play(slow(folder.path(), StoreConfig::Files)).await;
    let facts = Facts::of(&EmbeddedStore::open(folder.path()).unwrap());
    assert_eq!(facts.ratings, ratings);
    facts
}

/// A server for the results of an arena in this process.
struct Home {
    server: RedisServer,
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        Some(Self { server: RedisServer::start(folder.path())?, folder })
    }

    fn store(&self, user: &str) -> StoreConfig {
        StoreConfig::Redis {
            url: self.server.url(user),
            name: "test".into(),
            password_file: None,
            tls: Box::default(),
        }
    }

    fn connection(&self) -> redis::Connection {
        redis::Client::open(self.server.url("admin")).unwrap().get_connection().unwrap()
    }

    /// Starts a worker once the arena's address is known.
    fn worker(&self, arena: &str, game: GameConfig) -> Worker {
        let worker = ArenaWorker::new(WorkerConfig {
            arena: arena.to_owned(),
            credential: Credential::None,
            tls: None,
            store: self.store("worker"),
            game,
            parallel: 16,
            max_weights_bytes: MAX_BYTES,
            grace: Duration::from_secs(60),
        });
        let stop = CancellationToken::new();
        Worker { task: tokio::spawn(worker.unwrap().run_until(stop.clone())), stop }
    }

    /// The facts of the arena that used this server.
    fn facts(&self) -> Facts {
        let address = RedisAddress::new(self.server.url("arena"), "test");
        Facts::of(&RedisStore::open_to_read(&address).unwrap())
    }

    /// What has passed through the queue, and what is left in it.
    fn traffic(&self) -> Traffic {
        let (jobs, results) = ("ouro:{test}:jobs", "ouro:{test}:results");
        let left =
            |key| redis::cmd("XLEN").arg(key).query::<usize>(&mut self.connection()).unwrap();
        // The number of each session was an entry, too.
        let issued = self.added(jobs) - self.sessions(jobs);
        Traffic { issued, delivered: self.added(results), left: left(jobs) + left(results) }
    }

    /// Number of entries that a stream has ever had.
    fn added(&self, key: &str) -> i64 {
        match self.info(key, "entries-added") {
            None => 0,
            Some(Value::Int(added)) => added,
            other => panic!("{other:?}"),
        }
    }

    /// Number of sessions in which an arena has issued jobs, or could have.
    fn sessions(&self, jobs: &str) -> i64 {
        match self.info(jobs, "last-generated-id") {
            None => 0,
            Some(Value::BulkString(id)) => {
                let id = String::from_utf8(id).unwrap();
                id.split_once('-').unwrap().0.parse().unwrap()
            }
            other => panic!("{other:?}"),
        }
    }

    /// A field of `XINFO STREAM`; `None` without such a stream or field.
    fn info(&self, key: &str, name: &str) -> Option<Value> {
        let mut info = redis::cmd("XINFO");
        info.arg("STREAM").arg(key);
        let mut info: Vec<Value> = info.query(&mut self.connection()).unwrap_or_default();
        let at = info.iter().position(|value| *value == Value::BulkString(name.into()))?;
        Some(info.swap_remove(at + 1))
    }
}

/// The queue after a run.
#[derive(Debug, PartialEq)]
struct Traffic {
    /// Jobs that the arena has issued.
    issued: i64,
    /// Results that workers have delivered.
    delivered: i64,
    /// Jobs and results that are left.
    left: usize,
}

/// A worker in this process.
struct Worker {
    task: JoinHandle<Result<(), WorkerError>>,
    stop: CancellationToken,
}

impl Worker {
    async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

/// An address for an arena that workers know before it starts.
fn reserve(config: &mut ArenaConfig) -> String {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    config.address = free.local_addr().unwrap();
    format!("http://{}", config.address)
}

/// Waits until the server knows this many workers.
async fn registered(home: &Home, workers: usize) {
    let mut connection = home.connection();
    while connection.zcard::<_, usize>("ouro:{test}:workers").unwrap() < workers {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_change_no_decision_result_or_rating() {
    let Some(home) = Home::new() else { return };
    let mut config = slow(home.folder.path(), home.store("arena"));
    let arena = reserve(&mut config);
    let workers = [home.worker(&arena, game()), home.worker(&arena, game())];
    play_with(config, 2).await;
    for worker in workers {
        worker.stop().await;
    }
    let Traffic { delivered, left, .. } = home.traffic();
    assert!(delivered > 20, "workers have played {delivered} clusters");
    assert_eq!(left, 0, "jobs and results are cleared");
    assert_eq!(home.facts(), alone().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_workers_the_arena_issues_no_job() {
    let Some(home) = Home::new() else { return };
    play(slow(home.folder.path(), home.store("arena"))).await;
    assert_eq!(home.traffic(), Traffic { issued: 0, delivered: 0, left: 0 });
    assert_eq!(home.facts(), alone().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_of_another_game_hand_every_job_back() {
    let Some(home) = Home::new() else { return };
    let mut config = slow(home.folder.path(), home.store("arena"));
    let arena = reserve(&mut config);
    let worker = home.worker(&arena, GameConfig::by_name("connect_four").unwrap());
    play_with(config, 1).await;
    worker.stop().await;
    let Traffic { issued, delivered, left } = home.traffic();
    assert!(issued > 0, "the arena has issued jobs");
    assert_eq!((delivered, left), (0, 0));
    assert_eq!(home.facts(), alone().await);
}

/// Streams with their entries, as `XREADGROUP` returns them.
type Read = Option<Vec<(String, Vec<(String, Vec<String>)>)>>;

/// Takes jobs as a worker would and answers with wrong results, each under a new name, until `stop`
/// is cancelled.
fn deceive(mut connection: redis::Connection, stop: &CancellationToken) {
    let (jobs, results) = ("ouro:{test}:jobs", "ouro:{test}:results");
    for number in 0.. {
        if stop.is_cancelled() {
            return;
        }
        let now: Vec<u64> = redis::cmd("TIME").query(&mut connection).unwrap();
        let _: () = connection.zadd("ouro:{test}:workers", "evil", now[0]).unwrap();
        let mut command = redis::cmd("XREADGROUP");
        command.arg(&["GROUP", "workers", "evil", "COUNT", "1"]);
        command.arg(&["BLOCK", "50", "STREAMS", jobs, ">"]);
        // A call fails before the first session, and if a new one begins meanwhile.
        let read: Read = command.query(&mut connection).unwrap_or_default();
        let entries = read.into_iter().flatten().flat_map(|(_, entries)| entries);
        for (id, _) in entries {
            let cluster = id.split_once('-').unwrap().1.parse::<u32>().unwrap() - 1;
            let games = match number % 3 {
                0 => "not JSON".to_owned(),
                1 => format!("{{\"number\":0,\"cluster\":{cluster},\"games\":[]}}"),
                _ => "[".repeat(100_000),
            };
            let name = format!("evil-{number}");
            let mut pipe = redis::pipe();
            let mut add = |job: &str, games: &str| {
                let fields = ["job", job, "worker", &name, "games", games];
                pipe.cmd("XADD").arg(results).arg("*").arg(&fields).ignore();
            };
            add(&id, &games);
            add("x", "a result without a job");
            add(&id, "a second result of the job");
            pipe.cmd("XADD").arg(&[results, "*", "no", "result"]).ignore();
            pipe.query::<()>(&mut connection).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_results_are_refused_and_change_nothing() {
    let Some(home) = Home::new() else { return };
    let stop = CancellationToken::new();
    let evil = std::thread::spawn({
        let (connection, stop) = (home.connection(), stop.clone());
        move || deceive(connection, &stop)
    });
    registered(&home, 1).await;
    play(slow(home.folder.path(), home.store("arena"))).await;
    stop.cancel();
    evil.join().unwrap();
    assert!(home.traffic().delivered > 40, "it has lied");
    assert_eq!(home.facts(), alone().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stops_finishes_or_hands_back_its_jobs() {
    let Some(home) = Home::new() else { return };
    let mut config = slow(home.folder.path(), home.store("arena"));
    let address = reserve(&mut config);
    let (first, second) = (home.worker(&address, game()), home.worker(&address, game()));
    registered(&home, 2).await;
    let mut arena = Running::start_with(config).await;
    arena.publish(0, uniform(0)).await;
    arena.idle_after(0).await;
    arena.client.publish(Generation(1), 10, strong(1)).await.unwrap();
    // One worker stops while the match is played, and leaves the list at once.
    first.stop().await;
    assert_eq!(home.connection().zcard::<_, usize>("ouro:{test}:workers").unwrap(), 1);
    arena.idle_after(1).await;
    arena.publish(2, uniform(2)).await;
    arena.idle_after(2).await;
    arena.stop().await;
    second.stop().await;
    assert_eq!(home.facts(), alone().await);
}
