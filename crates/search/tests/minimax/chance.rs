//! Chance nodes inside a search, and random trees.

use ouro_game::Action;
use ouro_search::{Limits, MaxN, MinimaxResult, OutcomeOnly, Paranoid, Plain, Query, Searcher};
use proptest::prelude::*;

use crate::tree::Node::{self, Chance, Choice, End};
use crate::tree::Tree;

fn search(searcher: &mut impl Searcher<Tree>, game: &Tree, turns: u32) -> MinimaxResult {
    let query = Query { game, state: &0, player: 0, limits: Limits::turns(turns) };
    searcher.search(query, &mut OutcomeOnly).unwrap()
}

/// A sure 0.3, or a win with this weight against a loss with weight 1.
fn gamble(weight: f64) -> Tree {
    Tree::of(
        1,
        vec![
            Choice(0, vec![1, 2]),
            End(vec![0.3]),
            Chance(vec![(weight, 3), (1.0, 4)]),
            End(vec![1.0]),
            End(vec![-1.0]),
        ],
    )
}

#[test]
fn a_chance_node_is_worth_its_expectation() {
    for (weight, action, value) in [(1.0, 0, 0.3), (3.0, 1, 0.5), (1.8, 0, 0.3), (1.9, 1, 0.310)] {
        let game = gamble(weight);
        let searches = [
            search(&mut Plain::new(), &game, 9),
            search(&mut Paranoid::new(), &game, 9),
            search(&mut MaxN::new(), &game, 9),
        ];
        for found in searches {
            assert_eq!(found.action, Action(action), "{weight}");
            assert!((found.value - value).abs() < 1e-3, "{found:?}");
            assert!(found.complete);
        }
    }
}

/// Trees of up to `depth` levels with many equal results, as children of a list of nodes.
fn trees(players: usize) -> impl Strategy<Value = Tree> {
    #[derive(Clone, Debug)]
    enum Sketch {
        Choice(usize, Vec<Sketch>),
        Chance(Vec<(u8, Sketch)>),
        End(Vec<i8>),
    }
    fn grow(sketch: &Sketch, nodes: &mut Vec<Node>) -> usize {
        let place = nodes.len();
        nodes.push(End(Vec::new()));
        nodes[place] = match sketch {
            Sketch::Choice(player, children) => {
                Choice(*player, children.iter().map(|child| grow(child, nodes)).collect())
            }
            Sketch::Chance(children) => {
                let grown = children.iter().map(|(weight, child)| {
                    let child = grow(child, nodes);
                    (f64::from(*weight), child)
                });
                Chance(grown.collect())
            }
            Sketch::End(results) => {
                End(results.iter().map(|&result| f32::from(result) / 2.0).collect())
            }
        };
        place
    }
    let leaf = prop::collection::vec(-2_i8..=2, players).prop_map(Sketch::End);
    let inner = move |inside: BoxedStrategy<Sketch>| {
        prop_oneof![
            5 => (0..players, prop::collection::vec(inside.clone(), 1..=4))
                .prop_map(|(player, children)| Sketch::Choice(player, children)),
            1 => prop::collection::vec((1_u8..4, inside), 1..=3).prop_map(Sketch::Chance),
        ]
        .boxed()
    };
    let below = leaf.prop_recursive(5, 400, 4, inner);
    prop::collection::vec(below, 1..=4).prop_map(move |children| {
        let mut nodes = Vec::new();
        grow(&Sketch::Choice(0, children), &mut nodes);
        Tree::of(players, nodes)
    })
}

proptest! {
    #[test]
    fn alpha_beta_finds_what_plain_minimax_finds(
        game in (1_usize..=4).prop_flat_map(trees),
        turns in 1_u32..7,
    ) {
        let (plain, paranoid) =
            (search(&mut Plain::new(), &game, turns), search(&mut Paranoid::new(), &game, turns));
        prop_assert_eq!(plain.action, paranoid.action);
        prop_assert_eq!(plain.value, paranoid.value);
        prop_assert!((-1.0..=1.0).contains(&plain.value));
    }

    #[test]
    fn a_searcher_finds_the_same_again_and_after_other_searches(
        first in trees(3),
        second in trees(2),
    ) {
        let mut used = Paranoid::new();
        let before = search(&mut used, &first, 6);
        search(&mut used, &second, 6);
        prop_assert_eq!(&before, &search(&mut used, &first, 6));
        let mut used = MaxN::new();
        let before = search(&mut used, &first, 6);
        search(&mut used, &second, 6);
        prop_assert_eq!(&before, &search(&mut used, &first, 6));
    }
}
