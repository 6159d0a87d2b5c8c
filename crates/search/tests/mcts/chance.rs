//! Chance, rewards, discounts and forced steps, on a walk whose values are known.

use std::collections::BTreeMap;

use ouro_game::{Action, Game, Rng};
use ouro_search::mcts::{ChanceWidth, Objective, ValueScale};
use ouro_search::{Estimates, Evaluator, Leaf, Scheduler, Search, SearchConfig, Uniform};

use crate::decide;
use crate::walk::{Path, Walk};

const PATH: Path = Path { near: 1.0, forced: 3, outcomes: 7, skewed: false, tail: 20 };

fn config(discount: f32) -> SearchConfig {
    SearchConfig {
        objective: Objective::Returns,
        value_scale: ValueScale::Running,
        discount,
        simulations: 3_000,
        ..SearchConfig::default()
    }
}

/// Counts the leaves below each chance outcome and evaluates them as 0.
#[derive(Debug, Default)]
struct Counting(BTreeMap<u32, u32>);

impl Evaluator<Walk> for Counting {
    fn evaluate(&mut self, _game: &Walk, leaves: &mut [Leaf<Walk>], out: &mut Estimates) {
        for leaf in leaves {
            if let Some(outcome) = leaf.state.outcome {
                *self.0.entry(outcome).or_default() += 1;
            }
            out.push_uniform();
        }
    }
}

#[test]
fn equally_likely_outcomes_are_visited_equally_often() {
    let walk = Walk::new(Path { near: -1.0, ..PATH }).unwrap();
    let start = walk.initial(&mut Rng::new(1, "test"));
    for simulations in [100, 1_000, 3_000] {
        let mut counting = Counting::default();
        let config = SearchConfig { simulations, solver: false, ..config(1.0) };
        decide(&walk, &start, &config, &mut counting, 1);
        let counts: Vec<u32> = counting.0.values().copied().collect();
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert_eq!(counts.len(), 7);
        // The tail is too long to end within so few simulations: every visit is a new leaf.
        assert!(most - least <= 1, "{counts:?}");
    }
}

#[test]
fn the_order_of_chance_outcomes_is_random() {
    let walk = Walk::new(Path { near: -1.0, forced: 0, ..PATH }).unwrap();
    let start = walk.initial(&mut Rng::new(1, "test"));
    let mut first = BTreeMap::<u32, u32>::new();
    for seed in 0..700 {
        let mut counting = Counting::default();
        // The near end, then the far way once.
        decide(&walk, &start, &SearchConfig { simulations: 2, ..config(1.0) }, &mut counting, seed);
        let (&outcome, _) = counting.0.first_key_value().unwrap();
        *first.entry(outcome).or_default() += 1;
    }
    // Binomial(700, 1/7): 100 with deviation 9.3; 6 sigma.
    assert!(first.len() == 7 && first.values().all(|count| count.abs_diff(100) < 56), "{first:?}");
}

#[test]
fn unequal_outcomes_are_visited_in_proportion_to_their_probability() {
    let walk = Walk::new(Path { skewed: true, ..PATH }).unwrap();
    let start = walk.initial(&mut Rng::new(1, "test"));
    let mut counting = Counting::default();
    let config = SearchConfig { solver: false, ..config(1.0) };
    decide(&walk, &start, &config, &mut counting, 1);
    let total: u32 = counting.0.values().sum();
    for (&outcome, &count) in &counting.0 {
        let expected = if outcome == 0 { 0.5 } else { 0.5 / 6.0 };
        let sigma = (expected * (1.0 - expected) / f64::from(total)).sqrt();
        let seen = f64::from(count) / f64::from(total);
        assert!((seen - expected).abs() < 5.0 * sigma, "{outcome}: {seen}");
    }
}

#[test]
fn a_sample_of_too_many_outcomes_is_searched_evenly() {
    let walk = Walk::new(Path { outcomes: 5_000, ..PATH }).unwrap();
    let start = walk.initial(&mut Rng::new(1, "test"));
    let chance = ChanceWidth { enumerate: 100, sample: 20, ignore: false };
    let mut counting = Counting::default();
    decide(&walk, &start, &SearchConfig { chance, ..config(1.0) }, &mut counting, 1);
    let counts: Vec<u32> = counting.0.values().copied().collect();
    let total: u32 = counts.iter().sum();
    assert_eq!(counts.len(), 20);
    // Of 20 draws from 5,000 outcomes few repeat; repeated ones get twice the visits.
    assert!(counts.iter().all(|&count| count.abs_diff(total / 20) < total / 15), "{counts:?}");
}

#[test]
fn values_are_discounted_by_the_elapsed_time() {
    for (discount, forced) in [(1.0, 3), (0.9, 0), (0.9, 3), (0.5, 5)] {
        let walk = Walk::new(Path { forced, tail: 0, ..PATH }).unwrap();
        let start = walk.initial(&mut Rng::new(1, "test"));
        let decision = decide(&walk, &start, &config(discount), &mut Uniform, 1);
        // Chance is worth 3 on average, `forced + 1` time steps away.
        let far = 3.0 * discount.powi(forced as i32 + 1);
        let best = far.max(1.0);
        assert!(decision.proven);
        assert!((decision.values[0] - best).abs() < 1e-5, "{discount} {forced}: {decision:?}");
        assert_eq!(decision.seats[0].action, Action(u32::from(far > 1.0)));
    }
}

#[test]
fn collapsing_forced_steps_changes_no_value_and_saves_the_nodes() {
    for discount in [1.0, 0.97, 0.6] {
        let walk = Walk::new(Path { near: 0.0, tail: 3, ..PATH }).unwrap();
        let start = walk.initial(&mut Rng::new(1, "test"));
        let searched = [false, true].map(|collapse| {
            let collapse_forced = Some(collapse);
            let config = SearchConfig { collapse_forced, ..config(discount) };
            let mut search = Search::new(config, &walk).unwrap();
            search.start(&walk, &start, Rng::new(1, "search"));
            Scheduler::new(1).run(&walk, std::slice::from_mut(&mut search), &mut Uniform);
            (search.decide(&walk), search.nodes())
        });
        let [(plain, plain_nodes), (collapsed, collapsed_nodes)] = searched;
        assert!(plain.proven && collapsed.proven);
        let difference = (plain.values[0] - collapsed.values[0]).abs();
        assert!(difference < 1e-6, "{plain:?} {collapsed:?}");
        assert_eq!(plain.seats[0].action, collapsed.seats[0].action);
        assert_eq!(plain_nodes, collapsed_nodes + 3);
    }
}

#[test]
fn a_kept_tree_lies_beyond_forced_moves_until_they_are_played() {
    let walk = Walk::new(Path { near: 0.0, ..PATH }).unwrap();
    let mut state = walk.initial(&mut Rng::new(1, "test"));
    let config = SearchConfig { collapse_forced: Some(true), simulations: 300, ..config(0.9) };
    let mut search = Search::new(config, &walk).unwrap();
    let mut scheduler = Scheduler::new(1);
    search.start(&walk, &state, Rng::new(1, "search"));
    let mut values = Vec::new();
    let mut chance = Rng::new(2, "chance");
    for ply in 0..7 {
        scheduler.run(&walk, std::slice::from_mut(&mut search), &mut Uniform);
        let decision = search.decide(&walk);
        values.push(decision.values[0]);
        let forced = (1..=3).contains(&ply);
        assert_eq!(decision.seats[0].actions.len(), if forced { 1 } else { 2 });
        assert_eq!(decision.simulations, if forced { 0 } else { 300 });
        let joint = [decision.seats[0].action];
        walk.advance(&mut state, &joint, &mut chance).unwrap();
        // The step into chance leads to one of its outcomes, which the tree knows as well; the
        // forced walk ends before it.
        assert!(search.advance(&walk, &joint, &state), "ply {ply}: {state:?}");
    }
    // Every forced step brings the same reward nearer.
    assert!((values[1] * 0.9 - values[0]).abs() < 0.2, "{values:?}");
}
