//! Stored matches whose players cannot be built. The arena continues without these matches.

use super::*;

/// A player that the networks of these tests cannot be: they estimate returns, in which a draw has no worth.
const UNPLAYABLE: &str = "mcts{sims=2,weights=self,draw=-0.5}";

/// A match runner whose networks play as `player`. It ends when no work is left.
fn runner(state: &Arc<ArenaState>, player: &str) -> MatchRunner {
    let config = MatchConfig { player: player.to_owned(), ..config() };
    // The sender of wake-ups is dropped.
    let wake = std::sync::mpsc::sync_channel(1).1;
    let (state, stop) = (Arc::clone(state), CancellationToken::new());
    MatchRunner { state, config, wake, stop, workers: None }
}

#[test]
fn a_stored_match_whose_player_cannot_be_built_drops_its_candidate_alone() {
    let folder = tempfile::tempdir().unwrap();
    let state = Arc::new(state(folder.path(), &MemoryDisk::new(), &config()).0);
    let first = offer(&state, 0).unwrap().generation;
    // An earlier process opened the match, and the settings were corrected since.
    let key = MatchKey::gate(first, state.store().champion().unwrap());
    runner(&state, UNPLAYABLE).open(key, true).unwrap();
    runner(&state, &config().player).run().unwrap();
    let decisions = state.store().decisions().unwrap();
    let [Decision { outcome: Outcome::Dropped { reason, .. }, .. }] = &decisions[..] else {
        panic!("{decisions:?}")
    };
    assert!(reason.contains("option draw is \"-0.5\""), "{reason}");
    let second = offer(&state, 1).unwrap().generation;
    runner(&state, &config().player).run().unwrap();
    let last = state.store().decisions().unwrap().pop().unwrap();
    assert_eq!(last.generation, second);
    assert!(matches!(last.outcome, Outcome::Ruled { .. }), "{last:?}");
}

/// A match runner, and the key of a rating match that was opened with a player that cannot be built: the
/// match of a promoted generation against `random`. There are `anchors` besides.
fn promoted(folder: &Path, anchors: &[&str]) -> (MatchRunner, MatchKey) {
    let anchors = Some(anchors.iter().map(|&name| name.to_owned()).collect());
    let config = MatchConfig { anchors, ..config() };
    let state = Arc::new(state(folder, &MemoryDisk::new(), &config).0);
    let generation = offer(&state, 0).unwrap().generation;
    promote(&state, generation);
    // It is no arrival any more.
    state.next_candidate().unwrap();
    state.update_ratings().unwrap();
    let key = MatchKey::rating(generation.into(), PlayerId::random());
    runner(&state, UNPLAYABLE).open(key.clone(), false).unwrap();
    (runner(&state, &config.player), key)
}

#[test]
fn a_rating_goes_on_with_the_next_opponent_if_a_player_cannot_be_built() {
    let folder = tempfile::tempdir().unwrap();
    let (runner, key) = promoted(folder.path(), &["minimax{depth=1}"]);
    let generation = key.first.generation().unwrap();
    runner.rate(generation, Opponents::All).unwrap();
    let clusters = |key: &MatchKey| runner.state.matches().index().clusters(key);
    let other = PlayerId::Anchor("minimax{depth=1}".into());
    let other = MatchKey::rating(generation.into(), other);
    assert_eq!((clusters(&key), 2 * clusters(&other)), (0, config().anchor_games));
}

#[test]
fn spare_games_leave_out_a_match_whose_players_cannot_be_built() {
    let folder = tempfile::tempdir().unwrap();
    let (runner, key) = promoted(folder.path(), &[]);
    let mut unplayable = BTreeSet::new();
    assert!(runner.play_spare_games(&mut unplayable).unwrap());
    assert!(unplayable.iter().eq([&key]), "{unplayable:?}");
    // No other two players are left.
    assert!(!runner.play_spare_games(&mut unplayable).unwrap());
}
