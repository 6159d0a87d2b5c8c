//! Conformance tests that run on each kind of store, then tests of stores in files.

use ouro_game::record::Recorder;
use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Action, GameConfig};
use ouro_net::{ContentHash, Generation, RunId};
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_rating::{ClusterResult, ClusterShape, GameResult, Gate, GateConfig, Ranking};
use ouro_replay::testing::{Faults, MemoryDisk};

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
    let outcome =
        Outcome::Dropped { reason: "superseded".into(), overtaken_by: Some(Generation(9)) };
    let generation = Generation(generation);
    Decision { generation, decided_at: 1.0, explanation: String::new(), outcome }
}

fn generation(generation: u32) -> PlayerId {
    PlayerId::Generation(Generation(generation))
}

fn run(seed: u64) -> Run {
    Run { game: GameConfig::TicTacToe(tic_tac_toe::Config {}), seed }
}

/// Binds the run with this seed.
pub(super) fn start(store: &dyn Store, seed: u64) {
    store.bind_run(&run(seed), RunId::of(&seed.to_le_bytes())).unwrap();
}

/// Fills a store with entries of a run, and a kept game.
pub(super) fn fill(store: &dyn Store) {
    start(store, 1);
    a_generation_has_one_set_of_weights(store);
    games_are_kept_until_they_are_pruned(store);
}

/// All entries of a store, and its kept games.
pub(super) fn content(store: &dyn Store) -> (Vec<String>, Vec<String>) {
    let entries = store.log(0, usize::MAX).unwrap();
    let matches = store.matches().unwrap();
    let keys = matches.iter().flat_map(|(info, _)| store.game_keys(info.number).unwrap());
    let games = keys.map(|key| format!("{key:?} {:?}", store.game(key).unwrap()));
    (entries.iter().map(|entry| format!("{entry:?}")).collect(), games.collect())
}

fn a_store_belongs_to_one_run(store: &dyn Store) {
    let [first, second] = [b"a", b"b"].map(|seed| RunId::of(seed));
    assert_eq!(store.bind_run(&run(1), first).unwrap(), first);
    assert_eq!(store.bind_run(&run(1), second).unwrap(), first);
    let error = store.bind_run(&run(2), second).unwrap_err();
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

/// Before, the last decision was that with the latest time, also after the clock was set back.
fn the_last_decisions_are_the_last_of_the_log_whatever_their_times(store: &dyn Store) {
    assert_eq!(store.last_decisions(9).unwrap(), []);
    let decisions = [(2, 9.0), (0, 5.0), (1, 1.0)]
        .map(|(generation, decided_at)| Decision { decided_at, ..dropped(generation) });
    for number in 0..3 {
        store.add_checkpoint(&checkpoint(number)).unwrap();
    }
    decisions.iter().for_each(|decision| store.decide(decision).unwrap());
    // A repeated decision stays where it is.
    store.decide(&decisions[0]).unwrap();
    let [first, second, third] = decisions;
    assert_eq!(store.last_decisions(1).unwrap(), std::slice::from_ref(&third));
    assert_eq!(store.last_decisions(9).unwrap(), [third, second, first]);
    assert_eq!(store.last_decisions(0).unwrap(), []);
}

fn results_count_once_however_often_they_are_reported(store: &dyn Store) {
    let gate = store.open_match(&info(MatchKey::gate(Generation(3), generation(1)))).unwrap();
    let rating = MatchKey::rating(generation(3), PlayerId::random());
    let rating = store.open_match(&info(rating)).unwrap();
    assert_eq!((gate.number, rating.number), (0, 1));
    // Opening the match again after a restart returns the same match.
    assert_eq!(store.open_match(&MatchInfo { opened_at: 9.0, ..gate.clone() }).unwrap(), gate);

    let first = [pair(0, [1.0, -1.0]), pair(1, [0.0, 1.0])];
    let times = || format!("{:?}", store.append_times());
    let before = times();
    assert_eq!(store.record(0, &first, &[]).unwrap(), 2);
    assert_ne!(times(), before, "results are most of the appends, so their times count");
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
    assert!(error.starts_with("entry 16: cluster 1 of match 3"), "{error}");
}

fn a_damaged_champion_falls_back_and_comes_back(store: &dyn Store) {
    use CheckpointStatus::{Candidate, Champion, Pool, Rejected, SetAside};
    let statuses =
        || -> Vec<_> { store.checkpoints().unwrap().iter().map(|row| row.status).collect() };
    for number in 0..5 {
        store.add_checkpoint(&checkpoint(number)).unwrap();
    }
    store.decide(&ruled(store, 0, PlayerId::random(), 1.0)).unwrap();
    store.decide(&ruled(store, 1, generation(0), 1.0)).unwrap();
    store.decide(&ruled(store, 2, generation(1), -1.0)).unwrap();
    for other in [2, 3, 9] {
        let refused = store.set_aside(Generation(other), "damaged", 1.0);
        assert!(matches!(refused, Err(StoreError::NotInPool(_))), "{refused:?}");
    }
    assert!(store.set_aside(Generation(1), "damaged", 1.0).unwrap());
    assert!(!store.set_aside(Generation(1), "damaged", 2.0).unwrap());
    assert_eq!(store.champion().unwrap(), generation(0));
    assert_eq!(statuses(), [Champion, SetAside, Rejected, Candidate, Candidate]);
    // Without a promotion in between, the member is champion again.
    assert!(store.restore(Generation(1), 3.0).unwrap());
    assert!(!store.restore(Generation(1), 3.0).unwrap());
    assert_eq!(statuses(), [Pool, Champion, Rejected, Candidate, Candidate]);
    // After a promotion it is a member like others.
    store.set_aside(Generation(1), "damaged", 4.0).unwrap();
    store.decide(&ruled(store, 3, generation(0), 1.0)).unwrap();
    assert_eq!(statuses(), [Pool, SetAside, Rejected, Champion, Candidate]);
    store.restore(Generation(1), 5.0).unwrap();
    assert_eq!(statuses(), [Pool, Pool, Rejected, Champion, Candidate]);
    // Without any member that can play, candidates meet `random`.
    for member in [0, 1, 3] {
        store.set_aside(Generation(member), "damaged", 6.0).unwrap();
    }
    assert_eq!(store.champion().unwrap(), PlayerId::random());
    let replayed = replay(store).unwrap();
    assert_eq!(replayed.checkpoints, store.checkpoints().unwrap());
}

/// Runs each test on an empty store in memory, in a folder and in Redis.
macro_rules! conformance {
    ($($claim:ident),* $(,)?) => {
        /// Every test, for one that needs them all.
        pub(super) const CLAIMS: &[fn(&dyn Store)] = &[$($claim),*];
        mod in_memory {
            $(#[test]
            fn $claim() {
                super::$claim(&super::EmbeddedStore::on(super::MemoryDisk::new()).unwrap());
            })*
        }
        mod in_a_folder {
            $(#[test]
            fn $claim() {
                let folder = tempfile::tempdir().unwrap();
                super::$claim(&super::EmbeddedStore::open(folder.path()).unwrap());
            })*
        }
        mod in_redis {
            $(#[test]
            fn $claim() {
                if let Some(server) = crate::store::redis::tests::Server::start() {
                    super::$claim(&server.open());
                }
            })*
        }
    };
}

conformance!(
    a_store_belongs_to_one_run,
    a_generation_has_one_set_of_weights,
    a_decision_is_one_step_that_checks_the_champion,
    the_last_decisions_are_the_last_of_the_log_whatever_their_times,
    results_count_once_however_often_they_are_reported,
    games_are_kept_until_they_are_pruned,
    the_log_replays_to_what_the_store_holds,
    a_damaged_champion_falls_back_and_comes_back,
);

/// A store of a run with one promotion.
fn filled(disk: &MemoryDisk) -> EmbeddedStore<MemoryDisk> {
    let store = EmbeddedStore::on(disk.clone()).unwrap();
    store.bind_run(&run(1), RunId::of(b"run")).unwrap();
    store.add_checkpoint(&checkpoint(0)).unwrap();
    store.decide(&ruled(&store, 0, PlayerId::random(), 1.0)).unwrap();
    store
}

#[test]
fn everything_stored_survives_reopening() {
    let disk = MemoryDisk::new();
    let store = filled(&disk);
    store.add_checkpoint(&checkpoint(1)).unwrap();
    store.set_aside(Generation(0), "damaged", 1.0).unwrap();
    // The disk as a killed process leaves it.
    let copy = EmbeddedStore::on(disk.after_kill()).unwrap();
    assert_eq!(copy.checkpoints().unwrap(), store.checkpoints().unwrap());
    assert_eq!(copy.decisions().unwrap(), store.decisions().unwrap());
    assert_eq!(copy.last_decisions(9).unwrap(), store.last_decisions(9).unwrap());
    assert_eq!(copy.promotions().unwrap(), store.promotions().unwrap());
    assert_eq!(copy.matches().unwrap(), store.matches().unwrap());
    assert_eq!(copy.champion().unwrap(), PlayerId::random());
    assert_eq!(copy.results(0).unwrap().len(), 1);
    let other = copy.bind_run(&run(2), RunId::of(b"other"));
    assert!(matches!(other, Err(StoreError::OtherRun { .. })));
}

#[test]
fn a_second_process_is_refused_while_the_store_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let _open = EmbeddedStore::open(folder.path()).unwrap();
    let refused = EmbeddedStore::open(folder.path());
    assert!(matches!(refused, Err(StoreError::Locked { .. })));
}

#[test]
fn a_disk_that_runs_full_during_a_write_loses_nothing() {
    let mut refused = 0;
    // The space grows until the whole write fits.
    for room in 0.. {
        let disk = MemoryDisk::new();
        let store = EmbeddedStore::on(disk.clone()).unwrap();
        store.add_checkpoint(&checkpoint(0)).unwrap();
        let key = MatchKey::gate(Generation(0), PlayerId::random());
        let number = store.open_match(&info(key)).unwrap().number;
        let results = [pair(0, [1.0; 2])];
        let used = disk.content(LOG_FILE).unwrap().len();
        disk.set_faults(Faults { capacity: Some(used + 7 * room), ..Faults::default() });
        let recorded = store.record(number, &results, &[]);
        let held = store.results(number).unwrap();
        match &recorded {
            Ok(1) => assert_eq!(held, results),
            Err(StoreError::Exhausted { path, .. }) => {
                refused += 1;
                assert_eq!(path, LOG_FILE);
                assert_eq!(held, []);
                assert!(matches!(store.recover(), Err(StoreError::Exhausted { .. })));
            }
            other => panic!("{room}: {other:?}"),
        }
        disk.set_faults(Faults::default());
        store.recover().unwrap();
        store.record(number, &results, &[]).unwrap();
        store.decide(&ruled(&store, 0, PlayerId::random(), 1.0)).unwrap();
        let replayed = replay(&EmbeddedStore::on(disk.after_kill()).unwrap()).unwrap();
        assert_eq!(replayed.matches, store.matches().unwrap());
        assert_eq!(replayed.matches[0].1.clusters, 1);
        assert_eq!(replayed.promotions, store.promotions().unwrap());
        assert_eq!(disk.content("space.probe"), None);
        if recorded.is_ok() {
            break;
        }
    }
    assert!(refused > 20, "{refused} places in a write");
}

#[test]
fn a_failure_other_than_a_full_disk_is_reported_every_time() {
    let disk = MemoryDisk::new();
    let store = filled(&disk);
    disk.set_faults(Faults { sync_fails: true, ..Faults::default() });
    for generation in 1..4 {
        let error = store.add_checkpoint(&checkpoint(generation)).unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
    assert_eq!(store.checkpoints().unwrap().len(), 1);
}

#[test]
fn each_changed_byte_of_the_log_is_named_with_its_entry_and_the_remedy() {
    let disk = MemoryDisk::new();
    drop(filled(&disk));
    let content = disk.content(LOG_FILE).unwrap();
    for byte in 0..content.len() - 1 {
        let mut changed = content.clone();
        changed[byte] ^= 1 << (byte % 8);
        let disk = disk.copy();
        disk.put(LOG_FILE, &changed);
        // An inverted bit can turn a byte of the last entry into the mark of an interrupted write.
        let Err(error) = EmbeddedStore::on(disk.clone()) else {
            assert!(disk.content("results.log.cut-0").is_some(), "{byte}");
            continue;
        };
        assert!(matches!(error, StoreError::Damaged { .. }), "{byte}: {error}");
        let text = error.to_string();
        assert!(text.contains(LOG_FILE) && text.contains("ouro repair"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
}

#[test]
fn a_file_that_is_no_log_is_refused_in_one_line() {
    for content in [b"not a log\n".to_vec(), vec![0xa5; 1 << 16], b"\n\n\n".to_vec()] {
        let disk = MemoryDisk::new();
        disk.put(LOG_FILE, &[&content[..], b"\n"].concat());
        let error = EmbeddedStore::on(disk).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { entry: 0, .. }), "{error}");
    }
}

#[test]
fn an_intact_entry_that_contradicts_the_others_is_refused() {
    let disk = MemoryDisk::new();
    drop(filled(&disk));
    let twice = serde_json::to_string(&LogEntry::CheckpointPublished(checkpoint(0))).unwrap();
    for (text, problem) in [
        (&*twice, "published more than once"),
        ("{\"new\":1}", "unknown variant"),
        ("{\"a\\nb\":1}", "unknown variant `a\\nb`"),
    ] {
        let disk = disk.copy();
        let mut content = disk.content(LOG_FILE).unwrap();
        let number = content.iter().filter(|&&byte| byte == b'\n').count() as u64;
        content.extend(line_file::format_line(number, text).bytes());
        disk.put(LOG_FILE, &content);
        let error = EmbeddedStore::on(disk).unwrap_err();
        assert!(matches!(&error, StoreError::Contradiction { entry, .. } if *entry == number));
        assert!(error.to_string().contains(problem), "{error}");
    }
}

#[test]
fn a_log_of_another_version_is_refused_with_the_remedy() {
    for (version, remedy) in
        [(SCHEMA_VERSION + 1, "use a newer program"), (1, "use an older program or another data")]
    {
        let text = format!("{{\"run_started\":{{\"version\":{version},\"more\":1}}}}");
        let disk = MemoryDisk::new();
        disk.put(LOG_FILE, line_file::format_line(0, &text).as_bytes());
        let error = EmbeddedStore::on(disk).unwrap_err();
        assert!(matches!(error, StoreError::Schema { found } if found == version), "{error}");
        assert!(error.to_string().contains(remedy), "{error}");
    }
}
