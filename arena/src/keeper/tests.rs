//! Candidates in and out.

use ouro_proto::Checkpoint;
use ouro_rating::{ClusterResult, ClusterShape, GameResult, Gate, GateConfig, Ranking};

use super::*;
use crate::config::MatchConfig;
use crate::store::{EmbeddedStore, SmallDisk};

fn keeper(folder: &std::path::Path) -> Keeper {
    let store = EmbeddedStore::in_memory().unwrap();
    crate::testing::keeper(folder, store, &MatchConfig::default()).0
}

fn publish(keeper: &Keeper, generation: u32) -> Checkpoint {
    crate::testing::offer(keeper, generation).unwrap()
}

/// Lets a generation win against whoever is champion.
fn promote(keeper: &Keeper, generation: Generation) {
    let champion = keeper.store().champion().unwrap();
    let shape = ClusterShape { seats: 2 };
    let rule = GateConfig { games: 2, ..GateConfig::default() };
    let mut gate = Gate::new(rule, shape).unwrap();
    let won =
        |fingerprint| GameResult { ranking: Ranking::new(1.0, &[-1.0]), margin: 0.0, fingerprint };
    gate.fold(&ClusterResult { cluster: 0, games: vec![won(1), won(2)] });
    let report = Box::new(gate.report());
    let outcome = Outcome::Ruled { number: 0, champion, report };
    keeper.decide(generation, outcome, String::new()).unwrap();
}

#[test]
fn a_candidate_older_than_the_champion_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let keeper = keeper(folder.path());
    let [_, second] = [4, 5].map(|number| publish(&keeper, number));
    promote(&keeper, second.generation);
    assert_eq!(keeper.next_candidate().unwrap(), None);
    let decisions = keeper.store().decisions().unwrap();
    assert!(decisions[0].explanation.contains("older than the champion"), "{decisions:?}");
}

#[test]
fn only_the_newest_candidate_is_played_and_the_overtaken_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let keeper = keeper(folder.path());
    let mut events = keeper.events();
    assert_eq!(keeper.next_candidate().unwrap(), None);
    let published: Vec<Checkpoint> = (0..3).map(|number| publish(&keeper, number)).collect();
    assert_eq!(keeper.next_candidate().unwrap().as_ref(), Some(&published[2]));
    let mut dropped = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let ArenaEvent::Decided(Decision { generation, outcome, .. }) = event {
            assert!(matches!(outcome, Outcome::Dropped { .. }));
            dropped.push(generation.0);
        }
    }
    assert_eq!(dropped, [0, 1]);
    assert_eq!(keeper.next_candidate().unwrap().as_ref(), Some(&published[2]));
}

#[test]
fn weights_of_the_rejected_are_removed_except_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let keeper = keeper(folder.path());
    let [first, second, third] = [0, 1, 2].map(|number| publish(&keeper, number));
    promote(&keeper, first.generation);
    keeper.drop_candidate(second.generation, "test").unwrap();
    keeper.drop_candidate(third.generation, "test").unwrap();
    keeper.tidy(20).unwrap();
    assert!(keeper.read_weights(first.hash).is_ok());
    assert!(matches!(keeper.read_weights(second.hash), Err(WeightsError::Missing(_))));
    assert!(keeper.read_weights(third.hash).is_ok());
    let pool = keeper.snapshots().borrow().clone();
    assert_eq!(pool.newest.as_ref().unwrap().generation, third.generation);
    assert_eq!(pool.champion.as_ref().unwrap().generation, first.generation);
    assert_eq!(pool.members[0].checkpoint.parent, None);
    assert_eq!(third.parent, Some(second.generation));
}

#[test]
fn the_arena_rests_after_a_generation_only_when_none_waits() {
    let folder = tempfile::tempdir().unwrap();
    let keeper = keeper(folder.path());
    let rested = keeper.rested();
    let after = |keeper: &Keeper| {
        keeper.rest().unwrap();
        rested.borrow().map(|generation| generation.0)
    };
    assert_eq!(after(&keeper), None);
    let first = publish(&keeper, 0);
    assert_eq!(after(&keeper), None);
    promote(&keeper, first.generation);
    assert_eq!(after(&keeper), Some(0));
    // One that arrives between the evaluator's look and its rest is not passed over.
    let second = publish(&keeper, 1);
    assert_eq!(after(&keeper), Some(0));
    keeper.drop_candidate(second.generation, "test").unwrap();
    assert_eq!(after(&keeper), Some(1));
}

#[test]
fn a_candidate_whose_commit_failed_and_happened_all_the_same_is_news_once() {
    let mut happened = 0;
    for after in 0.. {
        let (folder, disk) = (tempfile::tempdir().unwrap(), SmallDisk::default());
        let (keeper, wake) =
            crate::testing::keeper(folder.path(), disk.store(), &MatchConfig::default());
        let mut events = keeper.events();
        disk.fail_sync(Some(after));
        let published = crate::testing::offer(&keeper, 0);
        disk.fail_sync(None);
        match &published {
            Ok(_) => {}
            Err(error) if error.is_no_space() => {
                let rows = keeper.store().checkpoints().unwrap();
                happened += usize::from(!rows.is_empty());
                assert!(events.try_recv().is_err(), "nothing is told of what may not be");
            }
            Err(error) => panic!("{error}"),
        }
        // Sent again, and once more because that answer was lost.
        for _ in 0..2 {
            assert_eq!(publish(&keeper, 0).status, CheckpointStatus::Candidate);
        }
        assert!(keeper.has_news());
        wake.try_recv().expect("the evaluator is woken");
        assert!(matches!(events.try_recv(), Ok(ArenaEvent::Published(_))));
        assert!(events.try_recv().is_err(), "told once");
        assert!(keeper.snapshots().borrow().newest.is_some());
        assert!(keeper.next_candidate().unwrap().is_some());
        publish(&keeper, 0);
        assert!(!keeper.has_news(), "the evaluator has it");
        if published.is_ok() {
            break;
        }
    }
    assert!(happened > 0);
}
