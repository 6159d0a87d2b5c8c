//! Best-reply search: at most one opponent leaves its first action in each turn.

use ouro_game::battlesnake::{Ruleset, Small};
use ouro_search::{MinimaxResult, Paranoid};

use crate::positions::{board, compare};

/// Searches all positions to `turns` with both, and returns pairs of results: paranoid first.
fn both(snakes: u8, count: usize, turns: u32) -> Vec<[MinimaxResult; 2]> {
    both_in(&board(11, snakes, Ruleset::Standard), count, turns)
}

fn both_in(game: &Small, count: usize, turns: u32) -> Vec<[MinimaxResult; 2]> {
    compare(game, [Paranoid::new(), Paranoid::best_reply()], count, turns)
}

#[test]
fn with_a_single_opponent_nothing_changes() {
    for [paranoid, best_reply] in both(2, 100, 4) {
        assert_eq!(paranoid, best_reply);
    }
}

#[test]
fn fewer_replies_are_never_worse_for_the_searching_player() {
    let mut better = 0;
    for (snakes, turns) in [(3, 1), (3, 3), (4, 1), (4, 2), (4, 3)] {
        for [paranoid, best_reply] in both(snakes, 30, turns) {
            assert!(best_reply.value >= paranoid.value, "{best_reply:?} and {paranoid:?}");
            better += u32::from(best_reply.value > paranoid.value);
        }
    }
    assert!(better > 20, "{better} of 150 values are higher");
}

#[test]
fn among_four_snakes_it_visits_less_than_a_tenth_of_the_nodes() {
    let nodes = both(4, 60, 4).iter().fold([0, 0], |sum, [paranoid, best_reply]| {
        [sum[0] + paranoid.nodes, sum[1] + best_reply.nodes]
    });
    println!("paranoid {} nodes, best reply {}", nodes[0], nodes[1]);
    assert!(10 * nodes[1] < nodes[0], "{nodes:?}");
}

#[test]
fn a_win_against_single_replies_does_not_end_the_search() {
    let game = board(7, 3, Ruleset::Constrictor);
    let won: Vec<_> = both_in(&game, 200, 7).into_iter().map(|[_, found]| found).collect();
    let won = won.iter().filter(|found| found.value > 0.99 && !found.complete);
    assert!(won.clone().count() > 0, "no position is won");
    assert!(won.clone().all(|found| found.turns == 7), "{:?}", won.collect::<Vec<_>>());
}
