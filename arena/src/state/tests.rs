//! Candidates: arrival, succession, removal.

use ouro_net::Generation;
use ouro_proto::CheckpointStatus;
use ouro_rating::{ClusterResult, ClusterShape, GameResult, Gate, GateConfig, Ranking};

use super::*;
use crate::config::MatchConfig;
use crate::store::{EmbeddedStore, SmallDisk, WeightsError};

fn state(folder: &std::path::Path) -> ArenaState {
    let store = EmbeddedStore::in_memory().unwrap();
    crate::testing::state(folder, store, &MatchConfig::default()).0
}

fn publish(state: &ArenaState, generation: u32) -> Checkpoint {
    crate::testing::offer(state, generation).unwrap()
}

/// Promotes a generation over the champion.
fn promote(state: &ArenaState, generation: Generation) {
    let champion = state.store().champion().unwrap();
    let shape = ClusterShape { seats: 2 };
    let rule = GateConfig { games: 2, ..GateConfig::default() };
    let mut gate = Gate::new(rule, shape).unwrap();
    let won =
        |fingerprint| GameResult { ranking: Ranking::new(1.0, &[-1.0]), margin: 0.0, fingerprint };
    gate.fold(&ClusterResult { cluster: 0, games: vec![won(1), won(2)] });
    let report = Box::new(gate.report());
    let outcome = Outcome::Ruled { number: 0, champion, report };
    state.decide(generation, outcome, String::new()).unwrap();
}

#[test]
fn a_candidate_older_than_the_champion_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(folder.path());
    let [_, second] = [4, 5].map(|number| publish(&state, number));
    promote(&state, second.generation);
    assert_eq!(state.next_candidate().unwrap(), None);
    let decisions = state.store().decisions().unwrap();
    assert!(decisions[0].explanation.contains("older than the champion"), "{decisions:?}");
}

#[test]
fn only_the_newest_candidate_is_played_and_older_ones_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(folder.path());
    let mut events = state.events();
    assert_eq!(state.next_candidate().unwrap(), None);
    let published: Vec<Checkpoint> = (0..3).map(|number| publish(&state, number)).collect();
    assert_eq!(state.next_candidate().unwrap().as_ref(), Some(&published[2]));
    let mut dropped = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let ArenaEvent::Decided(Decision { generation, outcome, .. }) = event {
            assert!(matches!(outcome, Outcome::Dropped { .. }));
            dropped.push(generation.0);
        }
    }
    assert_eq!(dropped, [0, 1]);
    assert_eq!(state.next_candidate().unwrap().as_ref(), Some(&published[2]));
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
    assert!(state.candidates().read_weights(first.hash).is_ok());
    assert!(matches!(state.candidates().read_weights(second.hash), Err(WeightsError::Missing(_))));
    assert!(state.candidates().read_weights(third.hash).is_ok());
    let pool = state.pool().snapshots().borrow().clone();
    assert_eq!(pool.newest.as_ref().unwrap().generation, third.generation);
    assert_eq!(pool.champion.as_ref().unwrap().generation, first.generation);
    assert_eq!(pool.members[0].checkpoint.parent, None);
    assert_eq!(third.parent, Some(second.generation));
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
fn a_candidate_whose_failed_commit_was_applied_is_announced_once() {
    let mut happened = 0;
    for after in 0.. {
        let (folder, disk) = (tempfile::tempdir().unwrap(), SmallDisk::default());
        let (state, wake) =
            crate::testing::state(folder.path(), disk.store(), &MatchConfig::default());
        let mut events = state.events();
        disk.fail_sync(Some(after));
        let published = crate::testing::offer(&state, 0);
        disk.fail_sync(None);
        match &published {
            Ok(_) => {}
            Err(error) if error.is_exhausted() => {
                let rows = state.store().checkpoints().unwrap();
                happened += usize::from(!rows.is_empty());
                assert!(events.try_recv().is_err(), "no event before the commit is known");
            }
            Err(error) => panic!("{error}"),
        }
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
        if published.is_ok() {
            break;
        }
    }
    assert!(happened > 0);
}
