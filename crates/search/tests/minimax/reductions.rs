//! Late move reductions: fewer nodes, and games that are decided in the same way.

use ouro_game::battlesnake::{Ruleset, Small};
use ouro_search::minimax::UNDECIDED;
use ouro_search::{AreaControl, Limits, MinimaxResult, Paranoid, Query, Searcher};

use crate::positions::{board, compare, positions};

/// Searches positions of a small board to `turns`, and returns pairs of results: the full search first.
fn both(snakes: u8, count: usize, turns: u32) -> Vec<[MinimaxResult; 2]> {
    let game = board(7, snakes, Ruleset::Standard);
    compare(&game, [Paranoid::new(), Paranoid::new().with_reductions()], count, turns)
}

#[test]
fn a_search_of_two_turns_reduces_nothing() {
    for [full, reduced] in both(2, 100, 2) {
        assert_eq!(full, reduced);
    }
}

#[test]
fn eight_turns_take_less_than_half_of_the_nodes() {
    let nodes = both(2, 40, 8)
        .iter()
        .fold([0, 0], |sum, [full, reduced]| [sum[0] + full.nodes, sum[1] + reduced.nodes]);
    println!("full {} nodes, reduced {}", nodes[0], nodes[1]);
    assert!(2 * nodes[1] < nodes[0], "{nodes:?}");
}

#[test]
fn a_result_does_not_depend_on_the_searches_before_it() {
    let game = board(7, 2, Ruleset::Standard);
    let new = || Paranoid::new().with_reductions();
    let mut used = new();
    for (state, player) in positions(&game, 50, 4).iter().zip([0, 1].into_iter().cycle()) {
        let query = Query { game: &game, state, player, limits: Limits::turns(7) };
        let result = |searcher: &mut Paranoid<Small>| {
            searcher.search(query, &mut AreaControl::default()).unwrap()
        };
        assert_eq!(result(&mut used), result(&mut new()));
    }
}

#[test]
fn what_is_decided_is_decided_in_the_full_search_too() {
    let mut decided = 0;
    for (snakes, turns) in [(2, 5), (2, 7), (3, 4)] {
        for [full, reduced] in both(snakes, 120, turns) {
            if reduced.value.abs() > UNDECIDED {
                decided += 1;
                assert!(full.value * reduced.value.signum() > UNDECIDED, "{full:?} {reduced:?}");
            }
        }
    }
    assert!(decided > 10, "{decided} positions are decided");
}
