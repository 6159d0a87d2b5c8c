//! Candidates: arrival, succession, removal.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ouro_proto::CheckpointStatus;
use ouro_rating::{ClusterResult, ClusterShape, GameResult, Ranking};
use ouro_replay::testing::{Faults, MemoryDisk};
use ouro_service::ManualClock;
use ouro_testkit::redis::RedisServer;

use super::*;
use crate::config::MatchConfig;
use crate::player_id::{MatchKey, PlayerId};
use crate::store::{
    LOG_FILE, MatchInfo, RedisAddress, RedisStore, StoredCluster, WeightsError, WeightsFolder,
};
use crate::testing::{offer_from, promote};

fn state(folder: &std::path::Path) -> ArenaState {
    crate::testing::state(folder, &MemoryDisk::new(), &MatchConfig::default()).0
}

fn publish(state: &ArenaState, generation: u32) -> Checkpoint {
    crate::testing::offer(state, generation).unwrap()
}

#[test]
fn a_candidate_older_than_the_champion_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(folder.path());
    let [_, second] = [4, 5].map(|number| publish(&state, number));
    promote(&state, second.generation);
    assert_eq!(state.next_candidate().unwrap(), None);
    let decisions = state.store().decisions().unwrap();
    let explanation = "generation-4 was dropped without a verdict: overtaken by generation-5.";
    assert_eq!(decisions[0].explanation, explanation);
}

#[test]
fn only_the_newest_candidate_is_played_and_older_ones_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(folder.path());
    let mut events = state.events();
    assert_eq!(state.next_candidate().unwrap(), None);
    let published: Vec<Checkpoint> = (0..3).map(|number| publish(&state, number)).collect();
    assert_eq!(state.next_candidate().unwrap().as_ref(), Some(&published[2]));
    let (mut dropped, mut overtaken) = (Vec::new(), Vec::new());
    while let Ok(event) = events.try_recv() {
        match event {
            ArenaEvent::Decided(decision) => {
                assert!(decision.is_overtaken());
                dropped.push(decision.generation.0);
            }
            ArenaEvent::Overtaken(_) => overtaken.push(event.to_string()),
            _ => {}
        }
    }
    assert_eq!(dropped, [0, 1]);
    // One sentence for all of them.
    let sentence = "2 candidates, generation-0 to generation-1, were dropped: overtaken by \
                    generation-2.";
    assert_eq!(overtaken, [sentence]);
    assert_eq!(state.next_candidate().unwrap().as_ref(), Some(&published[2]));
    assert!(events.try_recv().is_err());
}

#[test]
fn a_candidate_that_is_taken_while_it_arrives_counts_as_taken() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(folder.path());
    for generation in 0..100 {
        std::thread::scope(|scope| {
            scope.spawn(|| publish(&state, generation));
            while state.next_candidate().unwrap().is_none_or(|one| one.generation.0 < generation) {}
        });
        assert!(!state.candidates().has_arrival(), "generation {generation}");
    }
}

#[test]
fn weights_of_rejected_candidates_are_removed_except_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(folder.path());
    let [first, second, third] = [0, 1, 2].map(|number| publish(&state, number));
    promote(&state, first.generation);
    state.drop_candidate(second.generation, "test").unwrap();
    state.drop_candidate(third.generation, "test").unwrap();
    state.remove_unneeded(20).unwrap();
    assert!(state.read_weights(first.hash).is_ok());
    assert!(matches!(
        state.read_weights(second.hash),
        Err(CallError::Folder(WeightsError::Missing(_)))
    ));
    assert!(state.read_weights(third.hash).is_ok());
    let pool = state.pool().snapshots().borrow().clone();
    assert_eq!(pool.newest.as_ref().unwrap().generation, third.generation);
    assert_eq!(pool.champion.as_ref().unwrap().generation, first.generation);
    assert_eq!(pool.members[0].checkpoint.parent, None);
    assert_eq!(third.parent, Some(second.generation));
}

#[test]
fn the_parent_is_the_newest_stored_generation_up_to_the_announced_one() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(folder.path());
    let parent = |announced, generation| {
        offer_from(&state, announced, generation).unwrap().parent.map(|parent| parent.0)
    };
    assert_eq!(parent(None, 1), None);
    assert_eq!(parent(Some(1), 2), Some(1));
    assert_eq!(parent(Some(4), 5), Some(2), "3 and 4 were not published");
    assert_eq!(parent(None, 6), Some(5));
    assert_eq!(parent(Some(2), 7), Some(2), "the run resumed from 2");
    let own = offer_from(&state, Some(8), 8);
    assert!(matches!(own, Err(CallError::Parent { .. })), "{own:?}");
}

#[test]
fn weights_that_were_removed_are_not_stored_again() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(folder.path());
    let [first, second] = [0, 1].map(|number| publish(&state, number));
    for rejected in [&first, &second] {
        state.drop_candidate(rejected.generation, "test").unwrap();
    }
    state.remove_unneeded(20).unwrap();
    assert_eq!(publish(&state, 0).status, CheckpointStatus::Rejected);
    let missing = state.read_weights(first.hash);
    assert!(matches!(missing, Err(CallError::Folder(WeightsError::Missing(_)))));
    // Actors play the newest weights, so a lost file of them is stored.
    std::fs::remove_file(folder.path().join(format!("{}.safetensors", second.hash))).unwrap();
    publish(&state, 1);
    assert!(state.read_weights(second.hash).is_ok());
}

/// Weights of an arena that is replaced when it lists them. Its successor stores weights first.
#[derive(Debug)]
struct Replaced {
    folder: WeightsFolder,
    address: RedisAddress,
}

/// What the successor stores.
const NEW: &[u8] = b"new";

impl WeightsStore for Replaced {
    fn name(&self) -> String {
        self.folder.name()
    }

    fn write(&self, hash: ContentHash, bytes: &[u8]) -> Result<(), WeightsError> {
        self.folder.write(hash, bytes)
    }

    fn read(&self, hash: ContentHash) -> Result<Vec<u8>, WeightsError> {
        self.folder.read(hash)
    }

    fn hashes(&self) -> Result<Vec<ContentHash>, WeightsError> {
        RedisStore::open(&self.address).unwrap();
        self.folder.write(ContentHash::of(NEW), NEW)?;
        self.folder.hashes()
    }

    fn remove(&self, hash: ContentHash) -> Result<(), WeightsError> {
        self.folder.remove(hash)
    }
}

/// A clock that stands still.
fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Duration::from_secs(9)))
}

#[test]
fn an_arena_that_was_replaced_removes_no_weights_of_its_successor() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(server) = RedisServer::start(data.path()) else { return };
    let address = RedisAddress::new(server.url("arena"), "test");
    let store = Box::new(RedisStore::open(&address).unwrap());
    let folder = WeightsFolder::open(folder.path()).unwrap();
    let weights = Box::new(Replaced { folder: folder.clone(), address });
    let config = MatchConfig::default();
    let (state, _) = crate::testing::full_state(weights, store, &config, clock());
    let refused = state.remove_unneeded(20).unwrap_err();
    assert!(matches!(refused, CallError::Store(StoreError::Fenced { .. })), "{refused}");
    assert_eq!(folder.read(ContentHash::of(NEW)).unwrap(), NEW);
}

#[test]
fn a_decision_whose_answer_is_lost_is_announced_once_by_the_recovery() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(mut server) = RedisServer::start(data.path()) else { return };
    let address = RedisAddress::new(server.url("arena"), "test");
    let store = Box::new(RedisStore::open(&address).unwrap().without_patience());
    let config = MatchConfig::default();
    let (state, _) = crate::testing::stored_state(folder.path(), store, &config, clock());
    let candidate = publish(&state, 0);
    let mut events = state.events();
    // A stopped server reads nothing, and executes the command once it continues.
    server.signal("-STOP");
    let lost = state.drop_candidate(candidate.generation, "test").unwrap_err();
    assert!(lost.is_passing(), "{lost}");
    server.signal("-CONT");
    for _ in 0..2 {
        while let Err(error) = state.recover() {
            assert!(error.is_passing(), "{error}");
        }
    }
    let events = std::iter::from_fn(|| events.try_recv().ok());
    let decided = events.filter(|event| matches!(event, ArenaEvent::Decided(_))).count();
    assert_eq!((decided, state.figures().dropped.load(Ordering::Relaxed)), (1, 1));
}

#[test]
fn a_cluster_that_is_recorded_again_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(folder.path());
    let key = MatchKey::rating(publish(&state, 0).generation.into(), PlayerId::random());
    let number = open_match(&state, key);
    for clusters in [0..2, 1..3] {
        let played: Vec<StoredCluster> = clusters.map(pair).collect();
        state.matches().record(number, &played, &[]).unwrap();
    }
    let held: Vec<_> = state.matches().index().matches().cloned().collect();
    assert_eq!(held[0].1.clusters, 3);
    assert_eq!(held, state.store().matches().unwrap());
    assert_eq!(state.figures().rating_games.load(Ordering::Relaxed), 6);
}

#[test]
fn the_arena_is_idle_only_when_no_candidate_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(folder.path());
    let idle_after = state.candidates().idle_after();
    let after = |state: &ArenaState| {
        state.candidates().set_idle().unwrap();
        idle_after.borrow().map(|generation| generation.0)
    };
    assert_eq!(after(&state), None);
    let first = publish(&state, 0);
    assert_eq!(after(&state), None);
    promote(&state, first.generation);
    assert_eq!(after(&state), Some(0));
    // A candidate that arrives after the match runner's last check keeps the arena busy.
    let second = publish(&state, 1);
    assert_eq!(after(&state), Some(0));
    state.drop_candidate(second.generation, "test").unwrap();
    assert_eq!(after(&state), Some(1));
}

#[test]
fn a_candidate_that_a_full_disk_refused_is_announced_once_it_is_stored() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), MemoryDisk::new());
    let (state, wake) = crate::testing::state(folder.path(), &disk, &MatchConfig::default());
    let mut events = state.events();
    let used = disk.content(LOG_FILE).unwrap().len();
    for room in [0, 1, 50] {
        disk.set_faults(Faults { capacity: Some(used + room), ..Faults::default() });
        let refused = crate::testing::offer(&state, 0).unwrap_err();
        assert!(refused.is_passing(), "{refused}");
        assert_eq!(state.store().checkpoints().unwrap(), []);
        assert!(events.try_recv().is_err(), "no event before the candidate is stored");
    }
    disk.set_faults(Faults::default());
    // Publishes twice, like a client that lost the first answer.
    for _ in 0..2 {
        assert_eq!(publish(&state, 0).status, CheckpointStatus::Candidate);
    }
    assert!(state.candidates().has_arrival());
    wake.try_recv().expect("the match runner is woken");
    assert!(matches!(events.try_recv(), Ok(ArenaEvent::Published(_))));
    assert!(events.try_recv().is_err(), "announced once");
    assert!(state.pool().snapshots().borrow().newest.is_some());
    assert!(state.next_candidate().unwrap().is_some());
    publish(&state, 0);
    assert!(!state.candidates().has_arrival(), "the match runner has it");
}

/// Changes one byte of the weights file of a checkpoint, or changes it back.
fn flip(folder: &std::path::Path, checkpoint: &Checkpoint) {
    let path = folder.join(format!("{}.safetensors", checkpoint.hash));
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

/// Before, the arena took the champion for playable and asked for its weights without end.
#[test]
fn a_candidate_whose_weights_were_lost_is_set_aside_once_it_is_the_champion() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), MemoryDisk::new());
    let state = crate::testing::state(folder.path(), &disk, &MatchConfig::default()).0;
    let first = publish(&state, 0);
    promote(&state, first.generation);
    let second = publish(&state, 1);
    flip(folder.path(), &second);
    state.read_weights(second.hash).expect_err("it is damaged");
    promote(&state, second.generation);
    state.read_weights(second.hash).expect_err("it is still damaged");
    assert_eq!(state.store().champion().unwrap(), PlayerId::from(first.generation));
}

#[test]
fn a_damaged_champion_is_set_aside_requested_and_restored_by_a_copy() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), MemoryDisk::new());
    let open = || crate::testing::state(folder.path(), &disk, &MatchConfig::default()).0;
    let state = open();
    let [first, second] = [0, 1].map(|number| {
        let published = publish(&state, number);
        promote(&state, published.generation);
        published
    });
    let pool = |state: &ArenaState| state.pool().snapshots().borrow().clone();
    flip(folder.path(), &second);
    assert!(state.read_weights(second.hash).is_err());
    let snapshot = pool(&state);
    assert_eq!(snapshot.champion.as_ref().unwrap().generation, first.generation);
    assert_eq!(snapshot.members.len(), 1);
    assert_eq!(snapshot.missing[0].hash, second.hash);
    let reason = state.weights().unreadable().remove(&second.generation).unwrap();
    assert!(reason.contains(&second.hash.to_string()) && reason.contains("damaged"), "{reason}");
    // It stays set aside after a restart, because the file is still damaged.
    drop(state);
    let state = open();
    assert_eq!(pool(&state).missing.len(), 1);
    assert_eq!(state.store().champion().unwrap(), first.generation.into());
    // Anybody who has the weights publishes them again.
    assert_eq!(publish(&state, 1).generation, second.generation);
    let snapshot = pool(&state);
    assert_eq!((snapshot.missing.len(), snapshot.members.len()), (0, 2));
    assert_eq!(state.store().champion().unwrap(), second.generation.into());
    assert!(state.read_weights(second.hash).is_ok());
    // An operator may put the file back instead, before a start.
    flip(folder.path(), &first);
    assert!(state.read_weights(first.hash).is_err());
    assert_eq!(pool(&state).members.len(), 1);
    drop(state);
    flip(folder.path(), &first);
    let state = open();
    assert_eq!((pool(&state).missing.len(), pool(&state).members.len()), (0, 2));
}

#[test]
fn a_member_is_requested_although_the_answer_that_set_it_aside_was_lost() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(mut server) = RedisServer::start(data.path()) else { return };
    let address = RedisAddress::new(server.url("arena"), "test");
    let store = Box::new(RedisStore::open(&address).unwrap().without_patience());
    let config = MatchConfig::default();
    let (state, _) = crate::testing::stored_state(folder.path(), store, &config, clock());
    let pool = || state.pool().snapshots().borrow().clone();
    let member = publish(&state, 0);
    promote(&state, member.generation);
    flip(folder.path(), &member);
    // A stopped server reads nothing, and executes the command once it continues.
    server.signal("-STOP");
    let lost = state.read_weights(member.hash).unwrap_err();
    assert!(lost.is_passing(), "{lost}");
    server.signal("-CONT");
    while let Err(error) = state.recover() {
        assert!(error.is_passing(), "{error}");
    }
    assert_eq!(pool().champion, None);
    assert_eq!(pool().missing.iter().map(|row| row.hash).collect::<Vec<_>>(), [member.hash]);
    publish(&state, 0);
    assert!(pool().missing.is_empty());
    assert_eq!(pool().champion.as_ref().unwrap().generation, member.generation);
}

#[test]
fn a_copy_of_a_dropped_candidate_is_requested_only_while_it_is_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(folder.path());
    let missing = || {
        let pool = state.pool().snapshots().borrow().clone();
        pool.missing.iter().map(|row| row.generation.0).collect::<Vec<_>>()
    };
    let candidate = publish(&state, 0);
    flip(folder.path(), &candidate);
    assert!(state.read_weights(candidate.hash).is_err());
    assert_eq!(missing(), [0]);
    state.drop_candidate(candidate.generation, "test").unwrap();
    assert_eq!(missing(), [0], "actors play the newest weights");
    publish(&state, 1);
    assert_eq!(missing(), [0_u32; 0]);
}

/// Opens a match for ratings and returns its number.
fn open_match(state: &ArenaState, key: MatchKey) -> u32 {
    let info = MatchInfo {
        number: 0,
        key,
        shape: ClusterShape { seats: 2 },
        rule: None,
        player: String::new(),
        opened_at: 0.0,
    };
    state.matches().open(&info).unwrap().number
}

/// A pair that the first player won.
fn pair(cluster: u32) -> StoredCluster {
    let game =
        |fingerprint| GameResult { ranking: Ranking::new(1.0, &[-1.0]), margin: 0.0, fingerprint };
    let games = vec![game(u64::from(2 * cluster)), game(u64::from(2 * cluster + 1))];
    StoredCluster { result: ClusterResult { cluster, games }, counts: true }
}

/// A clock that advances by 10 ms with each reading.
#[derive(Debug, Default)]
struct SlowClock(AtomicU64);

impl Clock for SlowClock {
    fn unix(&self) -> Duration {
        Duration::from_secs(9)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(10 * self.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[test]
fn slow_fits_take_their_share_of_the_time_and_no_result_is_forgotten() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), MemoryDisk::new());
    let clock = Arc::new(SlowClock::default());
    let config = MatchConfig::default();
    let (state, _) = crate::testing::timed_state(folder.path(), &disk, &config, clock);
    let published = publish(&state, 0);
    let key = MatchKey::rating(published.generation.into(), PlayerId::random());
    let number = open_match(&state, key);
    let play = |cluster| state.matches().record(number, &[pair(cluster)], &[]).unwrap();
    let rated = || state.ratings().table().borrow().games;
    // A fit takes 10 ms here, so the next one is due 90 ms later, which is nine readings.
    let fits = (0..40).filter(|&cluster| {
        play(cluster);
        let before = rated();
        state.refresh_ratings().unwrap();
        rated() > before
    });
    let fits = fits.count();
    assert!((3..=8).contains(&fits), "{fits} fits in 40 matches");
    state.complete_ratings().unwrap();
    assert_eq!(rated(), 80);
    assert!(!state.ratings().is_stale());
}
