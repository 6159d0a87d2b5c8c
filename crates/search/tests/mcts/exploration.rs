//! Exploration at the root: noise and forced playouts stay out of what others learn from a search.

use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::{Game, PlayerSet, Rng};
use ouro_search::mcts::{Noise, Objective, Temperature};
use ouro_search::{
    Estimates, Evaluator, Leaf, Rollout, Scheduler, Search, SearchConfig, SearchResult, Uniform,
};

use crate::decide;
use crate::matrix::Matrix;

/// Equal priors for the first player, these for the second; values 0.
#[derive(Debug)]
struct SecondPriors([f32; 3]);

impl Evaluator<Matrix> for SecondPriors {
    fn evaluate(&mut self, _game: &Matrix, leaves: &mut [Leaf<Matrix>], out: &mut Estimates) {
        for leaf in leaves {
            let (_, priors) = out.push(leaf.movers);
            let (first, second) = priors.split_at_mut(3);
            first.fill(1.0 / 3.0);
            second.copy_from_slice(&self.0);
        }
    }
}

/// The settings of training, without proofs.
fn training(simulations: u32) -> SearchConfig {
    SearchConfig {
        simulations,
        noise: Some(Noise { total: 2.0, ..Noise::default() }),
        forced_playouts: Some(2.0),
        objective: Objective::Returns,
        temperature: Temperature::Constant { value: 1.0 },
        solver: false,
        ..SearchConfig::default()
    }
}

fn matrix(game: &Matrix, config: &SearchConfig, seed: u64) -> SearchResult {
    let state = game.initial(&mut Rng::new(0, "test"));
    decide(game, &state, config, &mut SecondPriors([0.90, 0.07, 0.03]), seed)
}

#[test]
fn plans_do_not_rely_on_moves_that_others_were_forced_to_try() {
    // The first row loses 0.3 to the first column, which the second player knows to be best, and wins
    // against its mistakes. The second row is safe, the third one bad.
    let payoffs = vec![vec![-0.3, 1.0, 1.0], vec![-0.2; 3], vec![-1.0; 3]];
    let game = Matrix::new(payoffs).unwrap();
    let gambles = (0..400).filter(|&seed| {
        let rows = &matrix(&game, &training(64), seed).seats[0].policy;
        rows[0] > rows[1]
    });
    let gambles = gambles.count();
    // 150 with noise alone; 326 if forced playouts counted for both players.
    assert!(gambles < 200, "{gambles} of 400");
}

#[test]
fn the_value_of_a_position_does_not_count_forced_visits_of_bad_actions() {
    // One good action and two bad ones, whatever the other player does.
    let game = Matrix::new(vec![vec![0.9; 3], vec![-0.2; 3], vec![-0.2; 3]]).unwrap();
    let values = (0..100).map(|seed| matrix(&game, &training(64), seed).values[0]);
    let mean = values.sum::<f32>() / 100.0;
    // 0.79 without exploration, 0.65 as the mean of all visits.
    assert!(mean > 0.75, "{mean}");
}

#[test]
fn values_of_alternating_moves_stay_opposed_without_forced_visits() {
    let game = ConnectFour::new(connect_four::Config::default()).unwrap();
    let start = game.initial(&mut Rng::new(0, "test"));
    let config = SearchConfig { objective: Objective::Outcome, solver: true, ..training(200) };
    for seed in 0..10 {
        let decision = decide(&game, &start, &config, &mut Rollout::new(), seed);
        let [first, second] = [decision.values[0], decision.values[1]];
        assert!((first + second).abs() < 1e-5 && first.abs() < 1.0, "{decision:?}");
    }
}

/// Visits of each player's actions at a root at which only `explorers` explore.
fn visits(explorers: PlayerSet) -> [Vec<u32>; 2] {
    let game = Matrix::new(vec![vec![0.9; 3], vec![-0.2; 3], vec![-0.2; 3]]).unwrap();
    let state = game.initial(&mut Rng::new(0, "test"));
    let mut search = Search::new(training(64), &game).unwrap();
    search.explore_for(explorers);
    search.start(&game, &state, Rng::new(3, "search"));
    let mut evaluator = SecondPriors([0.90, 0.07, 0.03]);
    Scheduler::new(1).run(&game, std::slice::from_mut(&mut search), &mut evaluator);
    let seats = search.decide(&game).seats;
    [0, 1].map(|seat: usize| seats[seat].visits.clone())
}

#[test]
fn only_players_that_learn_explore() {
    let total = |visits: &[Vec<u32>; 2], player: usize| visits[player].iter().sum::<u32>();
    let both = visits(PlayerSet::first(2));
    let first = visits(PlayerSet::one(0));
    let none = visits(PlayerSet::EMPTY);
    // Each forced playout of one player is no visit of the other.
    assert!(total(&both, 0) < 64 && total(&both, 1) < 64, "{both:?}");
    assert!(total(&first, 0) == 64 && total(&first, 1) < 64, "{first:?}");
    assert_eq!([total(&none, 0), total(&none, 1)], [64, 64]);
    // Without exploration, bad actions get fewer visits.
    let bad = |visits: &[Vec<u32>; 2]| visits[0][1..].iter().sum::<u32>();
    assert!(bad(&none) < bad(&first), "{none:?} {first:?}");
}

#[test]
fn a_player_that_loses_whatever_it_does_has_no_policy_to_learn() {
    // The second player loses in every cell, and a draw counts as a loss. The first one wins on the
    // diagonal only, so that the position is not proven.
    let game = Matrix::new(vec![vec![1.0, 0.0], vec![0.0, 1.0]]).unwrap();
    let state = game.initial(&mut Rng::new(0, "test"));
    let config = SearchConfig { simulations: 200, draw: -1.0, ..SearchConfig::default() };
    let decision = decide(&game, &state, &config, &mut Uniform, 1);
    assert!(!decision.proven, "{decision:?}");
    let lost = &decision.seats[1];
    assert_eq!(lost.policy, lost.prior);
    assert_eq!(lost.surprise(), 0.0);
    // It tries both in turn, so that the first player does not count on one of them.
    assert!(lost.visits[0].abs_diff(lost.visits[1]) < 10, "{lost:?}");
    assert!(decision.values[0] < 0.5, "{decision:?}");
}
