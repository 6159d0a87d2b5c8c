//! What every store must do, run on each of them; then what only a file can do.

use ouro_game::{GameConfig, tic_tac_toe};
use ouro_proto::CheckpointStatus;

use super::*;
use crate::gate::GameOutcome;

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

fn promotion(generation: u32, beat: PlayerId) -> Promotion {
    let score = Score { wins: 8, draws: 1, losses: 1 };
    Promotion { generation: Generation(generation), beat, score, promoted_at: 2.5 }
}

fn pair(pair: u32, outcomes: [GameOutcome; 2]) -> PairResult {
    PairResult { pair, outcomes, fingerprint: u64::from(pair) }
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
    store.reject(Generation(1)).unwrap();
    // Publishing again changes nothing, and tells how it stands.
    let again = store.add_checkpoint(&checkpoint(1)).unwrap();
    assert_eq!(again.status, CheckpointStatus::Rejected);
    let other = Checkpoint { hash: ContentHash::of(b"other"), ..checkpoint(2) };
    assert!(matches!(store.add_checkpoint(&other), Err(StoreError::GenerationTaken { .. })));
    let generations: Vec<u32> =
        store.checkpoints().unwrap().iter().map(|row| row.generation.0).collect();
    assert_eq!(generations, [0, 1, 2]);
}

fn a_promotion_is_one_step_that_checks_the_champion(store: &dyn Store) {
    for number in 0..4 {
        store.add_checkpoint(&checkpoint(number)).unwrap();
    }
    assert_eq!(store.champion().unwrap(), PlayerId::Random);
    store.promote(&promotion(1, PlayerId::Random)).unwrap();
    // Repeated, because its answer was lost: nothing changes.
    store.promote(&promotion(1, PlayerId::Random)).unwrap();
    assert!(matches!(
        store.promote(&promotion(2, PlayerId::Random)),
        Err(StoreError::ChampionChanged { actual, .. }) if actual == generation(1)
    ));
    store.promote(&promotion(2, generation(1))).unwrap();
    assert!(matches!(
        store.promote(&promotion(9, generation(2))),
        Err(StoreError::Unknown(Generation(9)))
    ));
    store.reject(Generation(3)).unwrap();
    store.reject(Generation(3)).unwrap();
    assert!(matches!(
        store.promote(&promotion(3, generation(2))),
        Err(StoreError::Decided(Generation(3)))
    ));
    assert!(matches!(store.reject(Generation(2)), Err(StoreError::Decided(_))));
    assert!(matches!(store.reject(Generation(9)), Err(StoreError::Unknown(_))));

    let statuses: Vec<_> = store.checkpoints().unwrap().iter().map(|row| row.status).collect();
    use CheckpointStatus::{Candidate, Champion, Pool, Rejected};
    assert_eq!(statuses, [Candidate, Pool, Champion, Rejected]);
    assert_eq!(store.champion().unwrap(), generation(2));
    assert_eq!(
        store.promotions().unwrap(),
        [promotion(1, PlayerId::Random), promotion(2, generation(1))]
    );
}

fn results_count_once_however_often_they_are_reported(store: &dyn Store) {
    use GameOutcome::{Draw, Loss, Win};
    let id = MatchId { candidate: Generation(3), opponent: generation(1) };
    let first = [pair(0, [Win, Loss]), pair(1, [Draw, Win])];
    assert_eq!(store.record(id, &first).unwrap(), 2);
    assert_eq!(store.record(id, &first).unwrap(), 0);
    assert_eq!(store.record(id, &[pair(1, [Loss, Loss]), pair(2, [Win, Win])]).unwrap(), 1);
    let anchor = MatchId { opponent: PlayerId::Random, ..id };
    assert_eq!(store.record(anchor, &[pair(0, [Win, Win])]).unwrap(), 1);

    assert_eq!(store.results(id).unwrap(), [first[0], first[1], pair(2, [Win, Win])]);
    assert_eq!(
        store.scores().unwrap(),
        [
            (anchor, Score { wins: 2, draws: 0, losses: 0 }),
            (id, Score { wins: 4, draws: 1, losses: 1 })
        ]
    );
}

/// Runs each claim on an empty store in memory and on one in a file.
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
    a_promotion_is_one_step_that_checks_the_champion,
    results_count_once_however_often_they_are_reported,
);

#[test]
fn everything_committed_is_there_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena.redb");
    let id = MatchId { candidate: Generation(0), opponent: PlayerId::Random };
    {
        let store = EmbeddedStore::open(&path).unwrap();
        store.bind_run(&run(1)).unwrap();
        store.add_checkpoint(&checkpoint(0)).unwrap();
        store.record(id, &[pair(0, [GameOutcome::Win; 2])]).unwrap();
        store.promote(&promotion(0, PlayerId::Random)).unwrap();
    }
    // A copy of the file taken while the store is open is what a killed process leaves.
    let store = EmbeddedStore::open(&path).unwrap();
    store.add_checkpoint(&checkpoint(1)).unwrap();
    let copy = folder.path().join("copy.redb");
    std::fs::copy(&path, &copy).unwrap();
    let copy = EmbeddedStore::open(&copy).unwrap();
    assert_eq!(copy.checkpoints().unwrap(), store.checkpoints().unwrap());
    assert_eq!(copy.checkpoints().unwrap().len(), 2);
    assert_eq!(copy.champion().unwrap(), generation(0));
    assert_eq!(copy.results(id).unwrap().len(), 1);
    assert!(matches!(copy.bind_run(&run(2)), Err(StoreError::OtherRun { .. })));
}

#[test]
fn a_second_process_is_told_that_the_store_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena.redb");
    let _open = EmbeddedStore::open(&path).unwrap();
    assert!(matches!(EmbeddedStore::open(&path), Err(StoreError::Locked { .. })));
}

#[test]
fn a_file_that_is_something_else_is_refused_in_one_line() {
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
fn a_start_that_was_killed_before_the_store_was_whole_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena.redb");
    let unfinished = folder.path().join("arena.redb.new");
    std::fs::write(&unfinished, vec![0; 8192]).unwrap();
    EmbeddedStore::open(&path).unwrap().add_checkpoint(&checkpoint(0)).unwrap();
    assert!(!unfinished.exists());
    // A leftover beside a store that is whole does not touch it.
    std::fs::write(&unfinished, vec![0; 8192]).unwrap();
    assert_eq!(EmbeddedStore::open(&path).unwrap().checkpoints().unwrap().len(), 1);
}

#[test]
fn a_store_of_a_newer_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena.redb");
    EmbeddedStore::open(&path).unwrap().set_schema(SCHEMA_VERSION + 1);
    assert!(matches!(EmbeddedStore::open(&path), Err(StoreError::Schema { found: 2 })));
}
