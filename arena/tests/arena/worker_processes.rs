//! `ouro-arena` with two `ouro-arena worker` processes, of which everything is killed in turn.
//!
//! Without `redis-server` on this machine the test is skipped, unless all checks are required.
#![cfg(unix)]

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ouro_arena::store::{
    EmbeddedStore, MatchSums, Outcome, RedisAddress, RedisStore, Store, StoredCluster,
    WeightsFolder, replay, verify,
};
use ouro_net::Generation;
use ouro_proto::ArenaClient;
use ouro_proto::arena_client::ArenaError;
use ouro_proto::matches::{GateState, MatchKind};
use ouro_rating::RatingTable;
use ouro_testkit::network::{tic_tac_toe, tiny, weights};
use ouro_testkit::process::{Ended, Process, run};
use ouro_testkit::redis::RedisServer;

/// Time limit of every wait.
const PATIENCE: Duration = Duration::from_secs(120);
/// Interval between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// A match at the gate takes seconds, so something can be killed in its middle.
const SETTINGS: &str = r#"
preset = "tictactoe"
seed = 5
[net]
kind = "conv"
channels = 2
layers = 1
hidden = 4
[arena]
player = "mcts{sims=4000,weights=self}"
anchor_games = 8
champion_games = 8
spare_share = 0.0
match_share = 1.0
parallel = 8
[arena.gate]
games = 240
sequential = false
[deploy]
log = "text"
drain_seconds = 0.5
"#;

/// What matches lead to, without times.
#[derive(Debug, PartialEq)]
struct Facts {
    decisions: Vec<(Generation, Outcome, String)>,
    matches: Vec<(String, MatchSums)>,
    results: Vec<Vec<StoredCluster>>,
    ratings: RatingTable,
}

impl Facts {
    fn of(store: &dyn Store, weights: &Path) -> Self {
        verify(store, &WeightsFolder::open(weights).unwrap()).unwrap();
        let (decisions, matches) = (store.decisions().unwrap(), store.matches().unwrap());
        let decisions =
            decisions.into_iter().map(|one| (one.generation, one.outcome, one.explanation));
        let results = matches.iter().map(|(info, _)| store.results(info.number).unwrap()).collect();
        let ratings = replay(store).unwrap().table();
        let matches = matches.into_iter().map(|(info, sums)| (info.key.to_string(), sums));
        Self { decisions: decisions.collect(), matches: matches.collect(), results, ratings }
    }
}

/// A folder with settings, and the address of its arena.
struct Home {
    folder: tempfile::TempDir,
    arena: SocketAddr,
    /// URLs of the server for the arena and for workers.
    store: Option<[String; 2]>,
}

impl Home {
    fn new(server: Option<&RedisServer>) -> Self {
        let store = server.map(|server| [server.url("arena"), server.url("worker")]);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("run.toml"), SETTINGS).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        Self { folder, arena: free.local_addr().unwrap(), store }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouro-arena"));
        command.args(arguments).current_dir(self.folder.path());
        command.env("OURO_ARENA", self.arena.to_string());
        if let Some([arena, worker]) = &self.store {
            let is_worker = arguments.first() == Some(&"worker");
            command.env("OURO_STORE", if is_worker { worker } else { arena });
        }
        command
    }

    fn arena(&self) -> Process {
        Process::start(self.command(&["--web", "off"]).stderr(Stdio::null()))
    }

    fn worker(&self) -> Process {
        Process::start_piped(&mut self.command(&["worker"]))
    }

    async fn client(&self) -> ArenaClient {
        let mut client = ArenaClient::new(&format!("http://{}", self.arena)).unwrap();
        let start = Instant::now();
        while client.list_checkpoints().await.is_err() {
            assert!(start.elapsed() < PATIENCE, "the arena does not answer");
            tokio::time::sleep(LOOK).await;
        }
        client
    }

    async fn publish(&self, generation: u32) {
        let file = weights(&tic_tac_toe(), tiny(), generation, 10, generation.into());
        let file = file.to_safetensors().into();
        self.client().await.publish(Generation(generation), 10, file).await.unwrap();
    }

    /// Waits until the match of a candidate has some games.
    async fn in_match(&self, generation: u32) {
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < PATIENCE, "the match of {generation} does not start");
            let gate = self.client().await.get_gate(Some(Generation(generation))).await;
            if let Ok(gate) = gate
                && gate.games.0 > 0
            {
                assert_eq!(gate.state, GateState::InProgress, "the match is too fast");
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until a candidate has played the gate and all games that rate it.
    async fn settled(&self, generation: u32) {
        let start = Instant::now();
        while !self.is_settled(generation).await.unwrap_or(false) {
            assert!(start.elapsed() < PATIENCE, "the matches of {generation} do not end");
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn is_settled(&self, generation: u32) -> Result<bool, ArenaError> {
        let (mut client, name) = (self.client().await, format!("generation-{generation}"));
        let gate = client.get_gate(Some(Generation(generation))).await?;
        let mut complete = 0;
        for row in client.list_matches(Some(&name), None, 100).await? {
            let is_own = row.first == name && row.kind == MatchKind::Rating;
            complete += usize::from(is_own && client.get_match(row.number).await?.1.len() == 8);
        }
        // `random`, minimax of three depths, and the champion, which may be `random`.
        let has_champion = gate.champion.is_some_and(|(name, _)| name != "random");
        Ok(gate.state != GateState::InProgress && complete == 4 + usize::from(has_champion))
    }
}

fn stop(mut process: Process) -> Ended {
    process.signal("-TERM");
    process.end_within(Duration::from_secs(20))
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_of_workers_server_and_arena_change_no_result() {
    let data = tempfile::tempdir().unwrap();
    let Some(mut server) = RedisServer::start(data.path()) else { return };
    let home = Home::new(Some(&server));
    let mut arena = home.arena();
    let (mut first, second) = (home.worker(), home.worker());

    home.publish(0).await;
    home.in_match(0).await;
    first.kill();
    home.settled(0).await;

    let third = home.worker();
    home.publish(1).await;
    home.in_match(1).await;
    server.restart();
    home.settled(1).await;

    home.publish(2).await;
    home.in_match(2).await;
    arena.kill();
    let arena = home.arena();
    home.settled(2).await;

    for worker in [second, third] {
        let ended = stop(worker);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stderr.contains("taking jobs"), "{}", ended.stderr);
        assert!(ended.stderr.contains("played"), "it has helped: {}", ended.stderr);
        assert!(ended.stderr.contains("jobs are finished or handed back"), "{}", ended.stderr);
    }
    assert_eq!(stop(arena).code, Some(0));
    let address = RedisAddress::new(server.url("arena"), "ouro");
    let weights = home.folder.path().join("arena/weights");
    let helped = Facts::of(&RedisStore::open_to_read(&address).unwrap(), &weights);

    // The same candidates in an arena without faults and without workers.
    let home = Home::new(None);
    let arena = home.arena();
    for generation in 0..3 {
        home.publish(generation).await;
        home.settled(generation).await;
    }
    assert_eq!(stop(arena).code, Some(0));
    let folder = home.folder.path().join("arena");
    let alone = Facts::of(&EmbeddedStore::open(&folder).unwrap(), &folder.join("weights"));
    assert_eq!(helped, alone);
    assert_eq!(alone.decisions.len(), 3);
}

#[tokio::test]
async fn a_worker_says_whether_it_is_healthy_and_waits_for_its_servers() {
    let data = tempfile::tempdir().unwrap();
    let Some(mut server) = RedisServer::start(data.path()) else { return };
    let home = Home::new(Some(&server));
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = free.local_addr().unwrap().to_string();
    drop(free);
    let check = || run(&mut home.command(&["worker", "--listen", &listen, "healthcheck"]));
    check().assert_refused(69, &["no server answers"]);
    let mut flags = home.command(&["worker", "--listen", &listen]);
    let worker = Process::start_piped(&mut flags);
    let start = Instant::now();
    while check().code != Some(0) {
        assert!(start.elapsed() < PATIENCE, "the worker is not healthy");
    }
    server.restart();
    assert_eq!(check().code, Some(0));
    let ended = stop(worker);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[test]
fn a_worker_with_bad_settings_ends_with_one_line() {
    let data = tempfile::tempdir().unwrap();
    let home = Home::new(None);
    let worker = |arguments: &[&str]| {
        let mut all = vec!["worker"];
        all.extend(arguments);
        run(&mut home.command(&all))
    };
    worker(&[]).assert_refused(64, &["deploy.store is not set", "redis://HOST:PORT"]);
    worker(&["--store", "http://x"]).assert_refused(64, &["deploy.store", "redis://"]);
    worker(&["--config", "none.toml"]).assert_refused(64, &["none.toml"]);
    worker(&["--listen", "x"]).assert_refused(64, &["--listen"]);
    worker(&["healthcheck"]).assert_refused(64, &["--listen is missing"]);
    worker(&["--web", "off"]).assert_refused(64, &["--web"]);
    let Some(server) = RedisServer::start(data.path()) else { return };
    let wrong = format!("redis://nobody:secret@{}", server.address());
    let ended = worker(&["--store", &wrong]);
    assert_eq!(ended.code, Some(69), "{}", ended.stderr);
    assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
}
