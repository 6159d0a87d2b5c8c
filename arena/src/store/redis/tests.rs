//! The store on a real Redis server: takeover, restarts, lost answers, damage, settings.
//!
//! Without `redis-server` on this machine the tests are skipped, unless all checks are required.

use std::time::Duration;

use ouro_game::GameConfig;
use ouro_net::{ContentHash, Generation, RunId};
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_replay::testing::MemoryDisk;
use ouro_testkit::redis::{PASSWORD, RedisServer};

use super::*;
use crate::store::conformance::{content, fill};
use crate::store::{EmbeddedStore, LogEntry, Store, copy};

mod losses;
mod takeover;
mod tls;
mod users;

/// Time over which commands are repeated while a server is stopped and continued.
const PATIENCE: Duration = Duration::from_secs(30);

/// A Redis server in a folder of its own.
pub(crate) struct Server {
    server: RedisServer,
    folder: tempfile::TempDir,
}

impl Server {
    /// Starts a server; `None` if none is installed.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Like [`start`](Self::start), with more settings.
    fn start_with(more: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let server = RedisServer::start_with(folder.path(), more)?;
        Some(Self { server, folder })
    }

    pub(crate) fn address_of(&self, name: &str) -> RedisAddress {
        RedisAddress::new(self.server.url("arena"), name)
    }

    /// Opens a store on the server.
    pub(crate) fn open(&self) -> RedisStore {
        RedisStore::open(&self.address_of("test")).unwrap()
    }

    /// Removes the last entry of the log, as if the server had lost the end of its file.
    pub(crate) fn lose_entry(&self) {
        let _: redis::Value = self.command(&["RPOP", "ouro:{test}:log"]);
    }

    /// Runs a command of the server as the user of the tests.
    fn command<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        self.command_as("admin", "any", words).unwrap()
    }

    /// Runs a command of the server as this user.
    fn command_as<T: redis::FromRedisValue>(
        &self,
        user: &str,
        password: &str,
        words: &[&str],
    ) -> Result<T, StoreError> {
        let url = format!("redis://{user}@{}", self.server.address());
        let password = Some(password.to_owned());
        let address = RedisAddress { password, ..RedisAddress::new(url, "any") };
        let mut connection = Connection::new(&address)?;
        connection.run(|redis| redis::cmd(words[0]).arg(&words[1..]).query(redis))
    }
}

fn run() -> Run {
    Run { game: GameConfig::by_name("tic_tac_toe").unwrap(), seed: 1 }
}

fn checkpoint(generation: u32) -> Checkpoint {
    Checkpoint {
        hash: ContentHash::of(&generation.to_le_bytes()),
        generation: Generation(generation),
        step: 1,
        size_bytes: 4,
        status: CheckpointStatus::Candidate,
        published_at: 1.5,
        parent: None,
    }
}

/// A store with a run and two checkpoints.
fn filled(server: &Server) -> RedisStore {
    let store = server.open();
    store.bind_run(&run(), RunId::of(b"run")).unwrap();
    for generation in 0..2 {
        store.add_checkpoint(&checkpoint(generation)).unwrap();
    }
    store
}

fn entries(store: &RedisStore) -> Vec<LogEntry> {
    store.log(0, usize::MAX).unwrap()
}

/// The entry that the arena with its files in `folder` remembers.
fn remembered(folder: &Path) -> Option<KnownEntry> {
    KnownFile::to_read(folder).read().unwrap()
}

#[test]
fn an_arena_that_another_has_replaced_can_write_no_more() {
    let Some(server) = Server::start() else { return };
    let first = filled(&server);
    let second = server.open();
    assert_eq!(entries(&second).len(), 3);
    let error = first.add_checkpoint(&checkpoint(2)).unwrap_err();
    assert!(matches!(error, StoreError::Fenced { .. }), "{error}");
    let game = GameKey { number: 0, cluster: 0, game: 0 };
    assert!(matches!(first.prune_games(&|key| key == game), Ok(0)));
    let reader = RedisStore::open_to_read(&server.address_of("test")).unwrap();
    assert!(matches!(reader.add_checkpoint(&checkpoint(2)), Err(StoreError::Fenced { .. })));
    assert_eq!(entries(&reader).len(), 3);
    second.add_checkpoint(&checkpoint(2)).unwrap();
    // Another run in the same server has keys of its own.
    let other = RedisStore::open(&server.address_of("other")).unwrap();
    assert!(entries(&other).is_empty());
    assert_eq!(entries(&server.open()).len(), 4);
}

#[test]
fn a_killed_server_loses_nothing_that_was_stored() {
    let Some(mut server) = Server::start() else { return };
    let store = filled(&server);
    for generation in 2..6 {
        server.server.restart();
        store.add_checkpoint(&checkpoint(generation)).unwrap();
    }
    let before = entries(&store);
    server.server.restart();
    assert_eq!(entries(&server.open()), before);
    assert_eq!(before.len(), 7);
}

#[test]
fn an_append_whose_answer_is_lost_counts_once() {
    let Some(mut server) = Server::start() else { return };
    let store = filled(&server);
    store.with_mut(|log| log.connection.set_patience(Duration::ZERO));
    // A stopped server reads nothing, and executes the command once it continues.
    server.server.signal("-STOP");
    let error = store.add_checkpoint(&checkpoint(2)).unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    server.server.signal("-CONT");
    store.with_mut(|log| log.connection.set_patience(PATIENCE));
    // The next step finds the entry of the lost answer. Repeating the step changes nothing.
    store.add_checkpoint(&checkpoint(3)).unwrap();
    store.add_checkpoint(&checkpoint(2)).unwrap();
    let generations: Vec<u32> =
        store.checkpoints().unwrap().iter().map(|row| row.generation.0).collect();
    assert_eq!(generations, [0, 1, 2, 3]);
    let stored = entries(&store);
    assert_eq!(entries(&server.open()), stored);
}

#[test]
fn what_a_lost_answer_stored_counts_after_a_recovery() {
    let Some(mut server) = Server::start() else { return };
    let store = filled(&server);
    store.with_mut(|log| log.connection.set_patience(Duration::ZERO));
    server.server.signal("-STOP");
    assert!(store.add_checkpoint(&checkpoint(2)).unwrap_err().is_passing());
    assert!(store.recover().unwrap_err().is_passing());
    server.server.signal("-CONT");
    store.with_mut(|log| log.connection.set_patience(PATIENCE));
    store.recover().unwrap();
    // Everything that is computed after a recovery includes the entry.
    assert_eq!(store.checkpoints().unwrap().len(), 3);
}

#[test]
fn a_server_without_memory_is_not_recovered_until_it_takes_writes() {
    let Some(server) = Server::start() else { return };
    let store = filled(&server).without_patience();
    let limit = |bytes: &str| server.command::<()>(&["CONFIG", "SET", "maxmemory", bytes]);
    limit("1");
    for _ in 0..2 {
        assert!(store.add_checkpoint(&checkpoint(2)).unwrap_err().is_passing());
        let error = store.recover().unwrap_err();
        assert!(error.is_passing() && error.to_string().contains("maxmemory"), "{error}");
    }
    // A check of the writer writes nothing, so it succeeds.
    store.check_writer().unwrap();
    // An arena can start meanwhile, and then waits for memory as well.
    drop(store);
    let store = server.open().without_patience();
    assert_eq!(store.bind_run(&run(), RunId::of(b"other")).unwrap(), RunId::of(b"run"));
    assert_eq!(store.prune_games(&|_| true).unwrap(), 0);
    assert!(store.recover().unwrap_err().is_passing());
    limit("0");
    store.recover().unwrap();
    store.add_checkpoint(&checkpoint(2)).unwrap();
    assert_eq!(entries(&server.open()).len(), 4);
    // An arena that was replaced does not take its epoch back.
    let next = server.open();
    assert!(matches!(store.recover(), Err(StoreError::Fenced { .. })));
    next.recover().unwrap();
    next.add_checkpoint(&checkpoint(3)).unwrap();
}

#[test]
fn an_append_that_arrives_after_it_was_given_up_counts() {
    let Some(server) = Server::start() else { return };
    let store = filled(&server);
    let text = serde_json::to_string(&LogEntry::CheckpointPublished(checkpoint(2))).unwrap();
    let late = format_line(3, &text);
    let _: redis::Value = server.command(&["RPUSH", "ouro:{test}:log", late.trim_end()]);
    let error = store.add_checkpoint(&checkpoint(3)).unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    store.add_checkpoint(&checkpoint(3)).unwrap();
    assert_eq!(store.checkpoints().unwrap().len(), 4);
    assert_eq!(entries(&server.open()), entries(&store));
}

#[test]
fn a_server_that_lost_entries_is_refused_until_the_loss_is_accepted() {
    let Some(server) = Server::start() else { return };
    let (folder, address) = (tempfile::tempdir().unwrap(), server.address_of("test"));
    drop(filled(&server));
    let store = RedisStore::open_in(&address, folder.path()).unwrap();
    store.add_checkpoint(&checkpoint(2)).unwrap();
    for lost in [3, 2] {
        server.lose_entry();
        for refused in [
            store.add_checkpoint(&checkpoint(4)).err(),
            RedisStore::open_in(&address, folder.path()).err(),
            RedisStore::open_to_read_in(&address, folder.path()).err(),
        ] {
            let error = refused.expect("an entry is lost");
            assert!(matches!(error, StoreError::LostEntry { entry: 3, .. }), "{lost}: {error}");
            assert!(error.to_string().contains("store.known to continue without"), "{error}");
        }
    }
    // Another entry in the place of a lost one is a loss as well.
    let other = RedisStore::open(&address).unwrap();
    other.add_checkpoint(&checkpoint(8)).unwrap();
    other.add_checkpoint(&checkpoint(9)).unwrap();
    assert!(RedisStore::open_in(&address, folder.path()).is_err());
    std::fs::remove_file(folder.path().join("store.known")).unwrap();
    let store = RedisStore::open_in(&address, folder.path()).unwrap();
    assert_eq!(store.checkpoints().unwrap().len(), 3);
}

#[test]
fn entries_that_are_lost_during_a_start_are_missed() {
    let Some(server) = Server::start() else { return };
    let (folder, address) = (tempfile::tempdir().unwrap(), server.address_of("test"));
    drop(filled(&server));
    drop(RedisStore::open_in(&address, folder.path()).unwrap());
    let known = remembered(folder.path());
    assert!(known.is_some());
    let claimed = RedisLog::claim(&address, Some(folder.path()), None);
    server.lose_entry();
    let error = RedisStore::load(claimed.unwrap()).unwrap_err();
    assert!(matches!(error, StoreError::LostEntry { .. }), "{error}");
    assert_eq!(remembered(folder.path()), known);
}

#[test]
fn a_loss_that_includes_the_epoch_of_the_arena_is_named_as_a_loss() {
    let Some(server) = Server::start() else { return };
    let store = filled(&server);
    server.lose_entry();
    let _: redis::Value = server.command(&["DECR", "ouro:{test}:writer"]);
    let error = store.add_checkpoint(&checkpoint(2)).unwrap_err();
    assert!(matches!(error, StoreError::LostEntry { .. }), "{error}");
}

#[test]
fn a_start_that_a_damaged_entry_ends_forgets_no_stored_entry() {
    let Some(server) = Server::start() else { return };
    let (folder, address) = (tempfile::tempdir().unwrap(), server.address_of("test"));
    drop(filled(&server));
    let store = RedisStore::open_in(&address, folder.path()).unwrap();
    // More entries than are read at once.
    let last = CHUNK as u32 + 9;
    for number in 2..=last {
        store.add_checkpoint(&checkpoint(number)).unwrap();
    }
    let entries = store.with(|log| log.entries);
    drop(store);
    let known = remembered(folder.path());
    assert!(known.is_some());
    let damaged = (entries - 2).to_string();
    let _: redis::Value = server.command(&["LSET", "ouro:{test}:log", &damaged, "00000000 1 {}"]);
    let error = RedisStore::open_in(&address, folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::DamagedEntry { .. }), "{error}");
    assert_eq!(remembered(folder.path()), known);
}

#[test]
fn a_changed_or_missing_entry_is_named() {
    let Some(server) = Server::start() else { return };
    drop(filled(&server));
    for command in [
        ["LSET", "ouro:{test}:log", "1", "00000000 1 {}"],
        ["LREM", "ouro:{test}:log", "1", "00000000 1 {}"],
    ] {
        let _: redis::Value = server.command(&command);
        let error = RedisStore::open(&server.address_of("test")).unwrap_err();
        assert!(matches!(error, StoreError::DamagedEntry { entry: 1, .. }), "{error}");
        assert!(error.to_string().contains("ouro:{test}:log"), "{error}");
    }
}

#[test]
fn a_server_that_would_lose_results_is_refused_with_the_setting() {
    for (setting, value) in [
        ("appendonly", "no"),
        ("appendfsync", "everysec"),
        ("no-appendfsync-on-rewrite", "yes"),
        ("aof-load-truncated", "yes"),
        ("maxmemory-policy", "allkeys-lru"),
    ] {
        let Some(server) = Server::start_with(&[&format!("--{setting}"), value]) else { return };
        let error = RedisStore::open(&server.address_of("test")).unwrap_err().to_string();
        assert!(error.contains(&format!("{setting} is \"{value}\"")), "{error}");
        assert!(error.contains(&format!("CONFIG SET {setting}")), "{error}");
    }
}

#[test]
fn a_wrong_password_and_a_missing_server_are_errors_without_the_password() {
    let Some(server) = Server::start() else { return };
    let address = |password: Option<&str>| RedisAddress {
        password: password.map(str::to_owned),
        ..server.address_of("test")
    };
    RedisStore::open(&address(Some(PASSWORD))).unwrap();
    let refused = |address: &RedisAddress| RedisStore::open(address).unwrap_err().to_string();
    let error = refused(&address(Some("secret")));
    assert!(error.contains("redis at 127.0.0.1") && !error.contains("secret"), "{error}");
    assert!(
        error.ends_with("correct deploy.store and the file deploy.store_password_file"),
        "{error}"
    );
    let nobody = format!("redis://{}", server.server.address());
    let error = refused(&RedisAddress { url: nobody, ..address(None) });
    assert!(error.ends_with("set deploy.store_password_file"), "{error}");
    let unknown = RedisAddress { url: "http://x".to_owned(), ..address(Some("secret")) };
    assert!(matches!(RedisStore::open(&unknown), Err(StoreError::Server { .. })));
}

#[test]
fn a_run_is_copied_from_files_to_redis_and_back() {
    let Some(server) = Server::start() else { return };
    let store = || EmbeddedStore::on(MemoryDisk::new()).unwrap();
    let (files, redis, back) = (store(), server.open(), store());
    fill(&files);
    let there = copy(&files, &redis).unwrap();
    drop(redis);
    // The copy is what a start finds.
    let redis = server.open();
    assert_eq!(copy(&redis, &back).unwrap(), there);
    assert_eq!(content(&back), content(&files));
    assert_eq!(back.texts(0, usize::MAX).unwrap(), files.texts(0, usize::MAX).unwrap());
}

#[test]
fn a_start_without_its_server_does_not_promise_to_resume() {
    let (store, problem) = ("redis at x:1".to_owned(), "Connection refused".to_owned());
    let error = at_start(StoreError::Unreachable { store, problem }).to_string();
    assert!(error.ends_with("start the server, or correct deploy.store"), "{error}");
    assert!(!error.contains("resumes"), "{error}");
}

#[test]
fn the_report_of_a_server_names_what_it_may_lose_and_counts_workers() {
    let Some(server) = Server::start() else { return };
    filled(&server);
    let report = ServerReport::ask(&server.address_of("test")).unwrap();
    assert!(report.problems.is_empty() && report.has_log, "{report:?}");
    assert_eq!((&*report.last_write, &*report.last_rewrite), ("ok", "ok"));
    assert!(report.version.split('.').count() == 3 && report.memory_bytes > 0, "{report:?}");
    assert_eq!((report.entries, report.workers, report.jobs_waiting), (3, 0, 0));
    let now: (u64, u64) = server.command(&["TIME"]);
    for (worker, age) in [("here", 1), ("gone", 60)] {
        let at = (now.0 - age).to_string();
        let _: redis::Value = server.command(&["ZADD", "ouro:{test}:workers", &at, worker]);
    }
    let jobs = "ouro:{test}:jobs";
    let _: redis::Value = server.command(&["XGROUP", "CREATE", jobs, "workers", "$", "MKSTREAM"]);
    for id in ["1-1", "1-2", "1-3"] {
        let _: redis::Value = server.command(&["XADD", jobs, id, "job", "{}"]);
    }
    let read = ["XREADGROUP", "GROUP", "workers", "here", "COUNT", "1", "STREAMS", jobs, ">"];
    let _: redis::Value = server.command(&read);
    let report = ServerReport::ask(&server.address_of("test")).unwrap();
    assert_eq!((report.workers, report.jobs_waiting, report.jobs_played), (1, 2, 1));

    let Some(forgetful) = Server::start_with(&["--appendonly", "no"]) else { return };
    let report = ServerReport::ask(&forgetful.address_of("test")).unwrap();
    assert!(!report.has_log && report.problems.len() == 1, "{report:?}");
    assert!(report.problems[0].contains("CONFIG SET appendonly yes"), "{report:?}");
}
