//! Matches on a disk that becomes full, on servers that are down, and after a restart.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use std::thread::JoinHandle;
use std::time::Instant;

use ouro_rating::{ClusterResult, GateConfig};
use ouro_service::{Conditions, ManualClock};
use ouro_testkit::redis::RedisServer;
use tokio::sync::broadcast;

use super::*;
use crate::event::ArenaEvent;
use crate::store::{
    Decision, EmbeddedStore, LOG_FILE, RedisAddress, RedisStore, StoredCluster, WeightsError,
    WeightsFolder, WeightsStore, replay,
};
use crate::testing::{full_state, offer, promote, state, stored_state};
use ouro_replay::disk::Disk as _;
use ouro_replay::testing::{Faults, MemoryDisk};

mod players;

/// A match runner on its thread, with its disk and state.
struct Running {
    disk: MemoryDisk,
    state: Arc<ArenaState>,
    /// The events since the start.
    events: broadcast::Receiver<ArenaEvent>,
    stop: CancellationToken,
    /// Cancelled when the thread ends, even by a panic.
    ended: CancellationToken,
    thread: JoinHandle<Result<(), ArenaError>>,
    _folder: tempfile::TempDir,
}

impl Running {
    /// Starts with space for `room` bytes, and with a candidate if `has_candidate`.
    fn start(room: Option<usize>, has_candidate: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let disk = MemoryDisk::new();
        let (state, wake) = state(folder.path(), &disk, &config());
        let events = state.events();
        if has_candidate {
            offer(&state, 0).unwrap();
        }
        leave_room(&disk, room);
        Self::launch(state, wake, events, disk, folder)
    }

    /// Starts with a candidate and with its results on a server, which has a fault from then on.
    fn start_on(server: &mut RedisServer, fault: impl FnOnce(&mut RedisServer)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = RedisAddress::new(server.url("arena"), "test");
        let store = Box::new(RedisStore::open(&address).unwrap().without_patience());
        let clock = Arc::new(ManualClock::new(Duration::from_secs(9)));
        let (state, wake) = stored_state(folder.path(), store, &config(), clock);
        let events = state.events();
        offer(&state, 0).unwrap();
        fault(server);
        Self::launch(state, wake, events, MemoryDisk::new(), folder)
    }

    fn launch(
        state: ArenaState,
        wake: Receiver<()>,
        events: broadcast::Receiver<ArenaEvent>,
        disk: MemoryDisk,
        folder: tempfile::TempDir,
    ) -> Self {
        let (state, stop) = (Arc::new(state), CancellationToken::new());
        let (config, workers) = (config(), None);
        let runner =
            MatchRunner { state: state.clone(), config, wake, stop: stop.clone(), workers };
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let thread = std::thread::spawn(move || {
            let _guard = guard;
            runner.run()
        });
        Self { disk, state, events, stop, ended, thread, _folder: folder }
    }

    fn is_decided(&self) -> bool {
        // A store on a full disk may be unreadable until there is space.
        self.state.store().decisions().is_ok_and(|decisions| !decisions.is_empty())
    }

    fn wait_until_decided(&mut self) {
        let decided = async {
            while !self.is_decided() {
                tokio::select! {
                    // A decision emits an event. If its commit failed but was applied, the
                    // recovery emits the event.
                    _ = self.events.recv() => {}
                    () = self.ended.cancelled() => panic!("the match runner gave up"),
                }
            }
        };
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(decided);
    }

    /// Blocks until the match runner has found the disk full.
    fn wait_until_paused(&self) {
        let mut conditions = self.state.conditions();
        let paused = async {
            tokio::select! {
                found = conditions.wait_for(|all| all.get(Condition::Matches).is_some()) => {
                    found.expect("the state lives");
                }
                () = self.ended.cancelled() => panic!("the match runner gave up"),
            }
        };
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(paused);
    }

    fn conditions(&self) -> Conditions<Condition> {
        self.state.conditions().borrow().clone()
    }

    fn end(self) -> (Decision, Vec<StoredCluster>) {
        self.stop.cancel();
        self.state.candidates().wake();
        self.thread.join().unwrap().unwrap();
        assert_eq!(self.state.conditions().borrow().describe(), None);
        let store = self.state.store();
        let replayed = replay(store).unwrap();
        assert_eq!(replayed.matches, store.matches().unwrap());
        assert_eq!(replayed.decisions, store.decisions().unwrap());
        // The in-memory index equals the store.
        let held: Vec<_> = self.state.matches().index().matches().cloned().collect();
        assert_eq!(held, replayed.matches);
        (store.decisions().unwrap().remove(0), store.results(0).unwrap())
    }
}

fn config() -> MatchConfig {
    MatchConfig {
        spare_share: 0.0,
        parallel: 4,
        gate: GateConfig { games: 40, ..GateConfig::default() },
        ..MatchConfig::default()
    }
}

/// Lets the disk take this many more bytes; `None` means no limit.
fn leave_room(disk: &MemoryDisk, room: Option<usize>) {
    let names = disk.names().unwrap();
    let used: usize =
        names.iter().filter_map(|name| disk.content(name)).map(|file| file.len()).sum();
    disk.set_faults(Faults { capacity: room.map(|room| used + room), ..Faults::default() });
}

/// Plays a candidate at the gate. The disk becomes full after `room` bytes, if given.
fn gate(room: Option<usize>) -> (Decision, Vec<StoredCluster>) {
    let mut running = Running::start(room, true);
    if room.is_some() {
        running.wait_until_paused();
        assert!(!running.is_decided());
        let conditions = running.conditions();
        assert_eq!(conditions.get(Condition::Candidates), None);
        let said = conditions.get(Condition::Matches).expect("matches wait");
        assert!(said.starts_with("no space for "), "{said}");
        assert!(said.ends_with("; free space there, and the arena resumes by itself"), "{said}");
        // Ratings can be read while matches are paused.
        assert_eq!(running.state.ratings().table().borrow().anchor, "random");
        leave_room(&running.disk, None);
        running.state.candidates().wake();
    }
    running.wait_until_decided();
    running.end()
}

#[test]
fn a_full_disk_pauses_a_match_and_changes_no_result() {
    let undisturbed = gate(None);
    assert!(undisturbed.1.len() >= 10, "{undisturbed:?}");
    for room in [0, 1_000, 10_000] {
        assert_eq!(gate(Some(room)), undisturbed, "{room} bytes of room");
    }
}

#[test]
fn a_server_that_is_down_pauses_a_match_and_changes_no_result() {
    let data = tempfile::tempdir().unwrap();
    let Some(mut server) = RedisServer::start(data.path()) else { return };
    let mut running = Running::start_on(&mut server, RedisServer::kill);
    running.wait_until_paused();
    let conditions = running.conditions();
    let said = conditions.get(Condition::Matches).expect("matches wait");
    assert!(
        said.starts_with("redis at 127.0.0.1:") && said.contains("resumes by itself"),
        "{said}"
    );
    server.start_again();
    running.state.candidates().wake();
    running.wait_until_decided();
    assert_eq!(running.end(), gate(None));
}

/// Sets the memory limit of a server; 0 means no limit.
fn limit_memory(admin: &mut redis::Connection, bytes: u32) {
    redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg(bytes).exec(admin).unwrap();
}

/// Number of scripts that a server has refused to start.
fn refused_scripts(admin: &mut redis::Connection) -> u64 {
    let statistics: String = redis::cmd("INFO").arg("commandstats").query(admin).unwrap();
    let line = statistics.lines().find(|line| line.starts_with("cmdstat_evalsha:"));
    let count = line.and_then(|line| line.split_once("rejected_calls=")?.1.split(',').next());
    count.map_or(0, |count| count.parse().unwrap())
}

#[test]
fn a_server_without_memory_pauses_a_match_until_it_takes_writes() {
    let data = tempfile::tempdir().unwrap();
    let Some(mut server) = RedisServer::start(data.path()) else { return };
    let mut admin = redis::Client::open(server.url("admin")).unwrap().get_connection().unwrap();
    let mut running = Running::start_on(&mut server, |_| limit_memory(&mut admin, 1));
    running.wait_until_paused();
    let conditions = running.state.conditions();
    let said = running.conditions().get(Condition::Matches).expect("matches wait").to_owned();
    assert!(said.contains("maxmemory"), "{said}");
    // Each wake-up tries a write, which the server refuses.
    let start = Instant::now();
    while refused_scripts(&mut admin) < 3 {
        assert!(start.elapsed() < Duration::from_secs(60), "no write is tried");
        assert!(!conditions.has_changed().unwrap(), "matches stay paused");
        running.state.candidates().wake();
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!conditions.has_changed().unwrap(), "matches stay paused");
    assert!(running.state.store().matches().unwrap().is_empty());
    limit_memory(&mut admin, 0);
    running.state.candidates().wake();
    running.wait_until_decided();
    assert_eq!(running.end(), gate(None));
}

/// A folder of weights that is out of reach at times.
#[derive(Debug)]
struct Remote {
    folder: WeightsFolder,
    is_down: Arc<AtomicBool>,
}

impl Remote {
    fn reach(&self) -> Result<(), WeightsError> {
        if self.is_down.load(Ordering::SeqCst) {
            let (store, problem) = (self.name(), "no answer".to_owned());
            return Err(WeightsError::Unreachable { store, problem });
        }
        Ok(())
    }
}

impl WeightsStore for Remote {
    fn name(&self) -> String {
        "s3://bucket/run".to_owned()
    }

    fn write(&self, hash: ContentHash, bytes: &[u8]) -> Result<(), WeightsError> {
        self.reach()?;
        self.folder.write(hash, bytes)
    }

    fn read(&self, hash: ContentHash) -> Result<Vec<u8>, WeightsError> {
        self.reach()?;
        self.folder.read(hash)
    }

    fn hashes(&self) -> Result<Vec<ContentHash>, WeightsError> {
        self.reach()?;
        self.folder.hashes()
    }

    fn remove(&self, hash: ContentHash) -> Result<(), WeightsError> {
        self.reach()?;
        self.folder.remove(hash)
    }

    fn recover(&self) -> Result<(), WeightsError> {
        self.reach()
    }
}

#[test]
fn weights_out_of_reach_pause_a_match_and_change_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let (disk, is_down) = (MemoryDisk::new(), Arc::new(AtomicBool::new(false)));
    let weights = WeightsFolder::open(folder.path()).unwrap();
    let weights = Box::new(Remote { folder: weights, is_down: is_down.clone() });
    let store = Box::new(EmbeddedStore::on(disk.clone()).unwrap());
    let clock = Arc::new(ManualClock::new(Duration::from_secs(9)));
    let (state, wake) = full_state(weights, store, &config(), clock);
    let events = state.events();
    offer(&state, 0).unwrap();
    is_down.store(true, Ordering::SeqCst);
    let mut running = Running::launch(state, wake, events, disk, folder);
    running.wait_until_paused();
    let said = running.conditions().get(Condition::Matches).expect("matches wait").to_owned();
    let expected = "weights in s3://bucket/run cannot be read or written: no answer; the arena";
    assert!(said.contains(expected), "{said}");
    // The candidate is neither dropped nor set aside, and a new one is refused for now.
    assert!(!running.is_decided());
    assert!(running.state.weights().unreadable().is_empty());
    let refused = offer(&running.state, 1).unwrap_err();
    assert!(refused.is_passing(), "{refused}");
    assert_eq!(running.conditions().get(Condition::Candidates), Some(&*refused.to_string()));
    is_down.store(false, Ordering::SeqCst);
    running.state.candidates().wake();
    running.wait_until_decided();
    running.state.set_condition(Condition::Candidates, None);
    assert_eq!(running.end(), gate(None));
}

#[test]
fn a_stop_ends_the_wait_for_space() {
    let running = Running::start(Some(0), true);
    running.wait_until_paused();
    running.stop.cancel();
    running.state.candidates().wake();
    assert!(!running.is_decided());
    running.thread.join().unwrap().unwrap();
}

#[test]
fn a_candidate_refused_for_lack_of_space_is_accepted_later() {
    let mut running = Running::start(Some(0), false);
    let refused = offer(&running.state, 0).unwrap_err();
    assert!(refused.is_passing(), "{refused}");
    assert!(refused.to_string().contains(LOG_FILE), "{refused}");
    // The condition of matches may be set, too: the match runner may also have found the disk full.
    assert_eq!(running.conditions().get(Condition::Candidates), Some(&*refused.to_string()));
    leave_room(&running.disk, None);
    offer(&running.state, 0).unwrap();
    assert_eq!(running.conditions().get(Condition::Candidates), None);
    running.wait_until_decided();
    running.end();
}

/// The match runner of an idle arena with its results on a server, and their address.
fn idle(server: &RedisServer, folder: &Path, clock: ManualClock) -> (MatchRunner, RedisAddress) {
    let address = RedisAddress::new(server.url("arena"), "test");
    let config = MatchConfig { spare_share: 0.0, ..MatchConfig::default() };
    let store = Box::new(RedisStore::open(&address).unwrap());
    let (state, wake) = stored_state(folder, store, &config, Arc::new(clock));
    let (state, stop) = (Arc::new(state), CancellationToken::new());
    (MatchRunner { state, config, wake, stop, workers: None }, address)
}

fn assert_fenced(ended: Result<(), ArenaError>) {
    assert!(matches!(ended, Err(ArenaError::Store(StoreError::Fenced { .. }))), "{ended:?}");
}

#[test]
fn an_idle_arena_that_was_replaced_ends_with_the_next_publication() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(server) = RedisServer::start(data.path()) else { return };
    let clock = ManualClock::new(Duration::from_secs(9));
    let (runner, address) = idle(&server, folder.path(), clock);
    let state = Arc::clone(&runner.state);
    let thread = std::thread::spawn(move || runner.run());
    let _successor = RedisStore::open(&address).unwrap();
    // The sender tries again, and may then reach the successor.
    assert!(matches!(offer(&state, 0), Err(CallError::Stopping)));
    assert_fenced(thread.join().unwrap());
}

#[test]
fn an_idle_arena_that_was_replaced_ends_without_a_publication() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(server) = RedisServer::start(data.path()) else { return };
    let clock = ManualClock::new(Duration::from_secs(9));
    clock.advance(IDLE);
    let (runner, address) = idle(&server, folder.path(), clock);
    let _successor = RedisStore::open(&address).unwrap();
    assert_fenced(runner.run());
}

#[test]
fn interrupted_games_for_a_rating_are_completed_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let gate = GateConfig { games: 40, ..GateConfig::default() };
    let config = MatchConfig { spare_share: 0.0, gate, ..MatchConfig::default() };
    let (state, _) = state(folder.path(), &MemoryDisk::new(), &config);
    let (state, stop) = (Arc::new(state), CancellationToken::new());
    offer(&state, 0).unwrap();
    let candidate = state.next_candidate().unwrap().unwrap();
    // The sender of wake-ups is dropped, so the runner ends when no work is left.
    let runner = || {
        let (state, config, stop) = (state.clone(), config.clone(), stop.clone());
        let wake = std::sync::mpsc::sync_channel(1).1;
        MatchRunner { state, config, wake, stop, workers: None }
    };
    let interrupted = runner();
    let engine = interrupted.engine(candidate.hash).unwrap();
    assert_eq!(interrupted.play_gate(candidate.generation, &engine).unwrap(), MatchEnd::Complete);
    assert_eq!(*state.candidates().idle_after().borrow(), None);
    // At the second start no games are left to play.
    for _ in 0..2 {
        runner().run().unwrap();
        assert_eq!(*state.candidates().idle_after().borrow(), Some(candidate.generation));
        for anchor in &state.checked().anchors {
            // `random` was the champion.
            let games = match &**anchor {
                "random" => config.champion_games,
                _ => config.anchor_games,
            };
            let anchor = PlayerId::Anchor(anchor.clone());
            let key = MatchKey::rating(candidate.generation.into(), anchor);
            assert_eq!(state.matches().index().clusters(&key) * 2, games);
        }
    }
    // Games at the gate are not rated, and the table states differences to the champion.
    let table = state.ratings().table().borrow().clone();
    let row = table.ratings.iter().find(|row| row.player == "generation-0").unwrap();
    let anchors = state.checked().anchors.len() as u32 - 1;
    assert!(row.games <= config.champion_games + anchors * config.anchor_games, "{row:?}");
    assert_eq!(table.champion, Some(state.store().champion().unwrap().to_string()));
    assert!(table.ratings.iter().all(|row| row.to_champion.is_some()));
}

#[test]
fn after_a_restart_only_linking_games_are_completed_before_a_candidate() {
    let folder = tempfile::tempdir().unwrap();
    let (state, wake) = state(folder.path(), &MemoryDisk::new(), &config());
    let (state, stop) = (Arc::new(state), CancellationToken::new());
    let promoted = offer(&state, 0).unwrap().generation;
    promote(&state, promoted);
    offer(&state, 1).unwrap();
    // As after a restart, the waiting candidate is no arrival.
    state.next_candidate().unwrap();
    let runner = MatchRunner { state: state.clone(), config: config(), wake, stop, workers: None };
    let games = |opponent: &PlayerId| {
        let key = MatchKey::rating(promoted.into(), opponent.clone());
        state.matches().index().clusters(&key) * 2
    };
    // The second time no games are left to play.
    for _ in 0..2 {
        runner.resume().unwrap();
        for anchor in state.checked().anchors.iter().cloned().map(PlayerId::Anchor) {
            // `random` was the champion.
            let is_link = anchor == PlayerId::random();
            assert_eq!(games(&anchor), if is_link { config().champion_games } else { 0 });
        }
    }
}

#[test]
fn the_games_that_link_a_promoted_generation_are_completed_though_a_candidate_arrives() {
    let folder = tempfile::tempdir().unwrap();
    let (state, wake) = state(folder.path(), &MemoryDisk::new(), &config());
    let (state, stop) = (Arc::new(state), CancellationToken::new());
    offer(&state, 0).unwrap();
    let generation = state.next_candidate().unwrap().unwrap().generation;
    let runner = MatchRunner { state: state.clone(), config: config(), wake, stop, workers: None };
    offer(&state, 1).unwrap();
    let key = MatchKey::rating(generation.into(), PlayerId::random());
    for (precedence, end, clusters) in [
        (Precedence::Candidate, MatchEnd::Interrupted, 0),
        (Precedence::Rating, MatchEnd::Complete, 6),
    ] {
        assert_eq!(runner.rating_games(key.clone(), 12, precedence).unwrap(), end);
        assert_eq!(state.matches().index().clusters(&key), clusters);
    }
}

#[test]
fn a_rating_match_that_lost_clusters_continues_after_its_last_one() {
    let folder = tempfile::tempdir().unwrap();
    let (state, wake) = state(folder.path(), &MemoryDisk::new(), &config());
    let (state, stop) = (Arc::new(state), CancellationToken::new());
    let generation = offer(&state, 0).unwrap().generation;
    let runner = MatchRunner { state: state.clone(), config: config(), wake, stop, workers: None };
    let key = MatchKey::rating(generation.into(), PlayerId::random());
    let number = runner.open(key.clone(), false).unwrap().number;
    // As after a repair that lost clusters 1 and 2.
    let stored = [0, 3].map(|cluster| {
        let result = ClusterResult { cluster, games: Vec::new() };
        StoredCluster { result, counts: true }
    });
    state.matches().record(number, &stored, &[]).unwrap();
    assert_eq!(runner.rating_games(key, 4, Precedence::Rating).unwrap(), MatchEnd::Complete);
    let results = state.store().results(number).unwrap();
    let clusters: Vec<u32> = results.iter().map(|played| played.result.cluster).collect();
    assert_eq!(clusters, [0, 3, 4, 5]);
    let held = state.matches().index().get(number).cloned();
    assert_eq!(held.as_ref(), state.store().matches().unwrap().first());
}
