//! What cannot be seen from outside: the sums at edges after leaves in flight came back.

use ouro_game::connect_four::{self, ConnectFour, State};
use ouro_game::{Game, Rng};

use super::config::SearchConfig;
use super::config::{Objective, ValueScale};
use super::node_store::NodeKind;
use super::scheduler::Scheduler;
use super::search::Search;
use crate::evaluator::{Estimates, Evaluator, Leaf, Uniform};

fn searched<E: Evaluator<ConnectFour>>(
    game: &ConnectFour,
    state: &State,
    config: &SearchConfig,
    evaluator: &mut E,
) -> Search<ConnectFour> {
    let mut search = Search::new(config.clone(), game).expect("a valid configuration");
    search.start(game, state, Rng::new(5, "search"));
    Scheduler::new(64).run(game, std::slice::from_mut(&mut search), evaluator);
    search
}

/// Checks that edges to known values hold these values, and counts them.
fn count_exact_edges(search: &Search<ConnectFour>) -> u32 {
    let tree = &search.tree;
    let mut found = 0;
    for node in 0..tree.store.nodes.len() as u32 {
        let current = tree.store.node(node);
        if current.kind != NodeKind::Single {
            continue;
        }
        for edge in tree.store.edges_of(node) {
            let child = tree.store.nodes.get(edge.child as usize);
            if child.is_some_and(|child| child.is_exact && child.is_counted) {
                let value = tree.exact_step(node, edge.child, current.mover());
                let expected = f64::from(value) * f64::from(edge.visits);
                assert!((edge.sum - expected).abs() < 1e-3, "{edge:?} {expected}");
                assert_eq!(edge.pending, 0);
                found += 1;
            }
        }
    }
    found
}

#[test]
fn edges_that_are_proven_while_leaves_are_in_flight_hold_the_proven_value() {
    let config =
        SearchConfig { simulations: 4_000, leaves_in_flight: 16, ..SearchConfig::default() };
    let game = ConnectFour::new(connect_four::Config::default()).expect("a board");
    let count = |seed| {
        let mut rng = Rng::new(seed, "game");
        let mut late = game.initial(&mut rng);
        game.rollout(&mut late, 16, &mut Default::default(), &mut rng);
        count_exact_edges(&searched(&game, &late, &config, &mut Uniform))
    };
    let found: u32 = (0..10).map(count).sum();
    assert!(found > 100, "{found}");
}

/// Expects 5 after an even number of moves, 6 after an odd one.
#[derive(Debug)]
struct FiveOrSix;

impl Evaluator<ConnectFour> for FiveOrSix {
    fn evaluate(
        &mut self,
        game: &ConnectFour,
        leaves: &mut [Leaf<ConnectFour>],
        out: &mut Estimates,
    ) {
        for leaf in leaves {
            let odd = game.elapsed(&leaf.state) % 2;
            out.push_uniform().fill(5.0 + odd as f32);
        }
    }
}

#[test]
fn the_running_scale_learns_nothing_from_virtual_losses() {
    let game = ConnectFour::new(connect_four::Config::default()).expect("a board");
    let start = game.initial(&mut Rng::new(0, "test"));
    let config = SearchConfig {
        simulations: 300,
        leaves_in_flight: 8,
        virtual_value: -10.0,
        objective: Objective::Returns,
        value_scale: ValueScale::Running,
        ..SearchConfig::default()
    };
    let search = searched(&game, &start, &config, &mut FiveOrSix);
    assert_eq!(search.tree.scaling.seen(), (5.0, 6.0));
}
