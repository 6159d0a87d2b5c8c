//! Conformance tests that run on each kind of store, then tests of stores in files.

use std::path::Path;

use ouro_game::record::Recorder;
use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Action, GameConfig};
use ouro_net::{ContentHash, Generation};
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_rating::{ClusterResult, ClusterShape, GameResult, Gate, GateConfig, Ranking};

use super::*;
use crate::player_id::{MatchKey, PlayerId};

fn checkpoint(generation: u32) -> Checkpoint {
    Checkpoint {
        hash: ContentHash::of(&generation.to_le_bytes()),
        generation: Generation(generation),
        step: u64::from(generation) * 100,
        size_bytes: 4,
        status: CheckpointStatus::Candidate,
        published_at: 1.5,
        parent: generation.checked_sub(1).map(Generation),
    }
}

/// A rule that one won pair satisfies.
fn rule() -> GateConfig {
    GateConfig { games: 2, ..GateConfig::default() }
}

const SHAPE: ClusterShape = ClusterShape { seats: 2 };

fn info(key: MatchKey) -> MatchInfo {
    let rule = (key.kind == crate::player_id::MatchKind::Gate).then(rule);
    let player = "net{weights=self}".to_owned();
    MatchInfo { number: 77, key, shape: SHAPE, rule, player, opened_at: 0.5 }
}

/// A pair with these results of the first player.
fn pair(cluster: u32, results: [f32; 2]) -> StoredCluster {
    let game = |index: usize| GameResult {
        ranking: Ranking::new(results[index], &[0.0]),
        margin: 0.25,
        fingerprint: 2 * u64::from(cluster) + index as u64,
    };
    StoredCluster { result: ClusterResult { cluster, games: vec![game(0), game(1)] }, counts: true }
}

/// Records a pair at the gate against the champion and decides by it.
fn ruled(store: &dyn Store, candidate: u32, champion: PlayerId, result: f32) -> Decision {
    let key = MatchKey::gate(Generation(candidate), champion.clone());
    let number = store.open_match(&info(key)).unwrap().number;
    let played = pair(0, [result; 2]);
    store.record(number, std::slice::from_ref(&played), &[]).unwrap();
    let mut gate = Gate::new(rule(), SHAPE).unwrap();
    gate.fold(&played.result);
    let report = Box::new(gate.report());
    let (generation, explanation) = (Generation(candidate), "in words".to_owned());
    let outcome = Outcome::Ruled { number, champion, report };
    Decision { generation, decided_at: 2.5, explanation, outcome }
}

fn dropped(generation: u32) -> Decision {
    let outcome = Outcome::Dropped { reason: "superseded".into() };
    let generation = Generation(generation);
    Decision { generation, decided_at: 1.0, explanation: String::new(), outcome }
}

fn generation(generation: u32) -> PlayerId {
    PlayerId::Generation(Generation(generation))
}

fn run(seed: u64) -> Run {
    Run { game: GameConfig::TicTacToe(tic_tac_toe::Config {}), seed }
}

fn a_store_belongs_to_one_run(store: &dyn Store) {
    store.bind_run(&run(1)).unwrap();
    store.bind_run(&run(1)).unwrap();
    let error = store.bind_run(&run(2)).unwrap_err();
    assert!(matches!(error, StoreError::OtherRun { .. }), "{error}");
    assert!(error.to_string().contains("seed 1"), "{error}");
}

fn a_generation_has_one_set_of_weights(store: &dyn Store) {
    for number in [1, 0, 2] {
        store.add_checkpoint(&checkpoint(number)).unwrap();
    }
    store.decide(&dropped(1)).unwrap();
    // Publishing again changes nothing and returns the stored state.
    let again = store.add_checkpoint(&checkpoint(1)).unwrap();
    assert_eq!(again.status, CheckpointStatus::Rejected);
    let other = Checkpoint { hash: ContentHash::of(b"other"), ..checkpoint(2) };
    assert!(matches!(store.add_checkpoint(&other), Err(StoreError::GenerationTaken { .. })));
    let generations: Vec<u32> =
        store.checkpoints().unwrap().iter().map(|row| row.generation.0).collect();
    assert_eq!(generations, [0, 1, 2]);
}

fn a_decision_is_one_step_that_checks_the_champion(store: &dyn Store) {
    for number in 0..4 {
        store.add_checkpoint(&checkpoint(number)).unwrap();
    }
    assert_eq!(store.champion().unwrap(), PlayerId::random());
    let first = ruled(store, 1, PlayerId::random(), 1.0);
    store.decide(&first).unwrap();
    // A client that lost the answer repeats the decision. Nothing changes.
    store.decide(&first).unwrap();
    assert!(matches!(
        store.decide(&ruled(store, 2, PlayerId::random(), 1.0)),
        Err(StoreError::ChampionChanged { actual, .. }) if actual == generation(1)
    ));
    let second = ruled(store, 2, generation(1), 1.0);
    store.decide(&second).unwrap();
    let unknown = ruled(store, 9, generation(2), 1.0);
    assert!(matches!(store.decide(&unknown), Err(StoreError::Unknown(Generation(9)))));
    store.decide(&ruled(store, 3, generation(2), -1.0)).unwrap();
    store.decide(&dropped(3)).unwrap();
    let other = ruled(store, 3, generation(2), 1.0);
    assert!(matches!(store.decide(&other), Err(StoreError::Decided(Generation(3)))));
    assert!(matches!(store.decide(&dropped(2)), Err(StoreError::Decided(_))));
    assert!(matches!(store.decide(&dropped(9)), Err(StoreError::Unknown(_))));

    let statuses: Vec<_> = store.checkpoints().unwrap().iter().map(|row| row.status).collect();
    use CheckpointStatus::{Candidate, Champion, Pool, Rejected};
    assert_eq!(statuses, [Candidate, Pool, Champion, Rejected]);
    assert_eq!(store.champion().unwrap(), generation(2));
    let promotions = [first.promotion().unwrap(), second.promotion().unwrap()];
    assert_eq!(store.promotions().unwrap(), promotions);
    assert_eq!(store.decisions().unwrap()[..2], [first, second]);
}

fn results_count_once_however_often_they_are_reported(store: &dyn Store) {
    let gate = store.open_match(&info(MatchKey::gate(Generation(3), generation(1)))).unwrap();
    let rating = MatchKey::rating(generation(3), PlayerId::random());
    let rating = store.open_match(&info(rating)).unwrap();
    assert_eq!((gate.number, rating.number), (0, 1));
    // Opening the match again after a restart returns the same match.
    assert_eq!(store.open_match(&MatchInfo { opened_at: 9.0, ..gate.clone() }).unwrap(), gate);

    let first = [pair(0, [1.0, -1.0]), pair(1, [0.0, 1.0])];
    assert_eq!(store.record(0, &first, &[]).unwrap(), 2);
    assert_eq!(store.record(0, &first, &[]).unwrap(), 0);
    let repeated = StoredCluster { counts: false, ..pair(2, [1.0, 1.0]) };
    assert_eq!(store.record(0, &[pair(1, [-1.0; 2]), repeated.clone()], &[]).unwrap(), 1);
    assert_eq!(store.record(1, &[pair(0, [1.0; 2])], &[]).unwrap(), 1);
    let unknown = store.record(2, &first, &[]);
    assert!(matches!(unknown, Err(StoreError::UnknownMatch(2))));

    assert_eq!(store.results(0).unwrap(), [first[0].clone(), first[1].clone(), repeated]);
    let matches = store.matches().unwrap();
    let infos: Vec<&MatchInfo> = matches.iter().map(|(info, _)| info).collect();
    assert_eq!(infos, [&gate, &rating]);
    let sums = &matches[0].1;
    assert_eq!((sums.clusters, sums.counted, sums.games), (3, 2, 4));
    let score = sums.score();
    assert_eq!((score.wins, score.draws, score.losses), (2, 1, 1));
}

fn games_are_kept_until_they_are_pruned(store: &dyn Store) {
    let rating = MatchKey::rating(generation(3), PlayerId::random());
    let number = store.open_match(&info(rating)).unwrap().number;
    let game = TicTacToe::default();
    let mut recorder = Recorder::new(&game, 5);
    recorder.advance(&game, &[Action(4), Action(0)]).unwrap();
    let stored = StoredGame {
        record: recorder.into_record(run(1).game),
        players: vec![PlayerId::random(), generation(3)],
        outcomes: vec![0.0, -0.0],
        scores: vec![0.5, 1.0],
        truncated: true,
    };
    let keys: Vec<GameKey> = (0..3).map(|cluster| GameKey { number, cluster, game: 1 }).collect();
    let games: Vec<_> = keys.iter().map(|&key| (key, stored.clone())).collect();
    store.record(number, &[pair(0, [1.0; 2])], &games).unwrap();
    assert_eq!(store.game_keys(number).unwrap(), keys);
    assert_eq!(store.game(keys[1]).unwrap(), Some(stored));
    assert_eq!(store.prune_games(&|key| key.cluster == 2).unwrap(), 2);
    assert_eq!(store.game_keys(number).unwrap(), keys[2..]);
    assert_eq!(store.game(keys[1]).unwrap(), None);
    assert_eq!(store.results(number).unwrap().len(), 1);
}

fn the_log_replays_to_what_the_store_holds(store: &dyn Store) {
    for number in 0..4 {
        store.add_checkpoint(&checkpoint(number)).unwrap();
    }
    store.decide(&ruled(store, 0, PlayerId::random(), 1.0)).unwrap();
    store.decide(&ruled(store, 1, generation(0), -1.0)).unwrap();
    store.decide(&dropped(2)).unwrap();
    store.decide(&ruled(store, 3, generation(0), 1.0)).unwrap();
    let rating = store.open_match(&info(MatchKey::rating(generation(1), generation(0)))).unwrap();
    store.record(rating.number, &[pair(0, [1.0, 0.0])], &[]).unwrap();
    let replayed = replay(store).unwrap();
    assert_eq!(replayed.checkpoints, store.checkpoints().unwrap());
    assert_eq!(replayed.decisions, store.decisions().unwrap());
    assert_eq!(replayed.promotions, store.promotions().unwrap());
    assert_eq!(replayed.matches, store.matches().unwrap());
    // Four checkpoints published; three matches opened, played and decided; one candidate dropped;
    // one rating match opened and played.
    assert_eq!(store.log(0, 100).unwrap().len(), 4 + 3 * 3 + 1 + 2);
    assert_eq!(store.log(14, 1).unwrap().len(), 1);
    // A repetition that is marked as counting is detected.
    let again = ClusterResult { cluster: 1, ..pair(0, [1.0, 0.0]).result };
    store.record(rating.number, &[StoredCluster { result: again, counts: true }], &[]).unwrap();
    let error = replay(store).unwrap_err().to_string();
    assert!(error.starts_with("line 16: cluster 1 of match 3"), "{error}");
}

/// Runs each test on an empty store in memory and on an empty store in a file.
macro_rules! conformance {
    ($($claim:ident),* $(,)?) => {
        mod in_memory {
            $(#[test]
            fn $claim() {
                super::$claim(&super::EmbeddedStore::in_memory().unwrap());
            })*
        }
        mod in_a_file {
            $(#[test]
            fn $claim() {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("arena.redb");
                super::$claim(&super::EmbeddedStore::open(&path).unwrap());
            })*
        }
    };
}

conformance!(
    a_store_belongs_to_one_run,
    a_generation_has_one_set_of_weights,
    a_decision_is_one_step_that_checks_the_champion,
    results_count_once_however_often_they_are_reported,
    games_are_kept_until_they_are_pruned,
    the_log_replays_to_what_the_store_holds,
);

#[test]
fn everything_committed_survives_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena.redb");
    {
        let store = EmbeddedStore::open(&path).unwrap();
        store.bind_run(&run(1)).unwrap();
        store.add_checkpoint(&checkpoint(0)).unwrap();
        store.decide(&ruled(&store, 0, PlayerId::random(), 1.0)).unwrap();
    }
    // A copy of the file, taken while the store is open, equals the file that a killed process
    // leaves.
    let store = EmbeddedStore::open(&path).unwrap();
    store.add_checkpoint(&checkpoint(1)).unwrap();
    let copy = folder.path().join("copy.redb");
    std::fs::copy(&path, &copy).unwrap();
    let copy = EmbeddedStore::open(&copy).unwrap();
    assert_eq!(copy.checkpoints().unwrap(), store.checkpoints().unwrap());
    assert_eq!(copy.checkpoints().unwrap().len(), 2);
    assert_eq!(copy.champion().unwrap(), generation(0));
    assert_eq!(copy.results(0).unwrap().len(), 1);
    assert!(matches!(copy.bind_run(&run(2)), Err(StoreError::OtherRun { .. })));
}

#[test]
fn a_second_process_is_refused_while_the_store_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena.redb");
    let _open = EmbeddedStore::open(&path).unwrap();
    assert!(matches!(EmbeddedStore::open(&path), Err(StoreError::Locked { .. })));
}

#[test]
fn a_disk_that_runs_full_during_a_write_loses_nothing() {
    let mut refused = 0;
    // The space grows until the whole write fits.
    for room in (0..).map(|step| 509 * step) {
        let disk = SmallDisk::default();
        let store = disk.store();
        store.add_checkpoint(&checkpoint(0)).unwrap();
        let key = MatchKey::gate(Generation(0), PlayerId::random());
        let number = store.open_match(&info(key)).unwrap().number;
        let results = [pair(0, [1.0; 2])];
        disk.leave_room(Some(room));
        let recorded = store.record(number, &results, &[]);
        let held = store.results(number);
        match &recorded {
            Ok(1) => assert_eq!(held.unwrap(), results),
            Err(StoreError::Exhausted { folder, .. }) => {
                refused += 1;
                assert_eq!(folder, Path::new("small"));
                // Reopening may need more space than is free. Otherwise reads return the old state.
                let says_so = matches!(&held, Err(StoreError::Exhausted { .. }));
                assert!(says_so || held.is_ok_and(|rows| rows.is_empty()), "{room}");
                assert!(matches!(store.recover(), Err(StoreError::Exhausted { .. })));
                assert_eq!(disk.opened(), 2, "opened again at once, and then no more");
            }
            other => panic!("{room}: {other:?}"),
        }
        disk.leave_room(None);
        store.recover().unwrap();
        store.record(number, &results, &[]).unwrap();
        store.decide(&ruled(&store, 0, PlayerId::random(), 1.0)).unwrap();
        let replayed = replay(&store).unwrap();
        assert_eq!(replayed.matches, store.matches().unwrap());
        assert_eq!(replayed.matches[0].1.clusters, 1);
        assert_eq!(replayed.promotions, store.promotions().unwrap());
        if recorded.is_ok() {
            break;
        }
    }
    assert!(refused > 20, "{refused} places in a write");
}

#[test]
fn a_failure_other_than_a_full_disk_is_reported_every_time() {
    let disk = SmallDisk::default();
    let store = disk.store();
    disk.damage(std::io::ErrorKind::PermissionDenied);
    for generation in 0..3 {
        let error = store.add_checkpoint(&checkpoint(generation)).unwrap_err();
        assert!(matches!(error, StoreError::Database(_)), "{error}");
        assert!(error.to_string().ends_with("permission denied"), "{error}");
    }
    assert_eq!(disk.opened(), 1, "opening it again would not help");
}

#[test]
fn a_file_that_is_no_store_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena.redb");
    for content in [b"not a database".to_vec(), vec![0; 8192], vec![0xa5; 1 << 20]] {
        std::fs::write(&path, content).unwrap();
        let error = EmbeddedStore::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
}

#[test]
fn a_start_killed_before_the_store_was_complete_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena.redb");
    let unfinished = folder.path().join("arena.redb.new");
    std::fs::write(&unfinished, vec![0; 8192]).unwrap();
    EmbeddedStore::open(&path).unwrap().add_checkpoint(&checkpoint(0)).unwrap();
    assert!(!unfinished.exists());
    // A leftover beside a complete store does not affect it.
    std::fs::write(&unfinished, vec![0; 8192]).unwrap();
    assert_eq!(EmbeddedStore::open(&path).unwrap().checkpoints().unwrap().len(), 1);
}

#[test]
fn a_store_of_another_version_is_refused_with_the_remedy() {
    for (version, remedy) in
        [(SCHEMA_VERSION + 1, "use a newer program"), (1, "use an older program or another data")]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("arena.redb");
        EmbeddedStore::open(&path).unwrap().set_schema(version);
        let error = EmbeddedStore::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Schema { found } if found == version), "{error}");
        assert!(error.to_string().contains(remedy), "{error}");
    }
}
