//! From visits to actions and policy targets.

use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::{Game, Rng};
use ouro_search::mcts::{
    FastSearch, FirstPlay, Gumbel, Noise, Objective, SeatResult, Temperature, ValueScale,
};
use ouro_search::{Estimates, Evaluator, Leaf, Rollout, SearchConfig, SearchResult, Uniform};

use crate::decide;

fn connect_four() -> ConnectFour {
    ConnectFour::new(connect_four::Config::default()).unwrap()
}

fn opening(config: &SearchConfig, seed: u64) -> SearchResult {
    let game = connect_four();
    let start = game.initial(&mut Rng::new(0, "test"));
    decide(&game, &start, config, &mut Rollout::new(), seed)
}

/// Nearly all prior on column 1, and value 0.
#[derive(Debug)]
struct Stubborn;

impl Evaluator<ConnectFour> for Stubborn {
    fn evaluate(
        &mut self,
        _game: &ConnectFour,
        leaves: &mut [Leaf<ConnectFour>],
        out: &mut Estimates,
    ) {
        for leaf in leaves {
            let (_, priors) = out.push(leaf.movers);
            priors[0] = 0.94;
            priors[1..].fill(0.01);
        }
    }
}

#[test]
fn moves_are_drawn_by_visits_to_the_power_of_one_over_the_temperature() {
    let config = SearchConfig {
        simulations: 60,
        temperature: Temperature::Constant { value: 0.5 },
        ..SearchConfig::default()
    };
    let first = opening(&config, 1);
    let seat = &first.seats[0];
    let squares: Vec<f32> = seat.visits.iter().map(|&visits| (visits as f32).powi(2)).collect();
    let chosen = seat.actions.iter().position(|&action| action == seat.action).unwrap();
    let expected = squares[chosen] / squares.iter().sum::<f32>();
    assert!((seat.probability - expected).abs() < 1e-5);
    // Different generators of one tree draw different moves.
    let drawn: std::collections::BTreeSet<_> =
        (0..40).map(|seed| opening(&config, seed).seats[0].action).collect();
    assert!(drawn.len() > 2, "{drawn:?}");
}

#[test]
fn noise_makes_the_root_visit_actions_with_a_low_prior() {
    let game = connect_four();
    let start = game.initial(&mut Rng::new(0, "test"));
    let config = SearchConfig { simulations: 200, ..SearchConfig::default() };
    let visited = |config: &SearchConfig, seed| {
        let decision = decide(&game, &start, config, &mut Stubborn, seed);
        decision.seats[0].visits[1..].iter().sum::<u32>()
    };
    let noisy = SearchConfig { noise: Some(Noise::default()), ..config.clone() };
    let without = visited(&config, 1);
    let with: u32 = (0..20).map(|seed| visited(&noisy, seed)).sum::<u32>() / 20;
    assert!(with > 2 * without, "{with} {without}");
}

#[test]
fn the_prior_of_a_result_is_the_evaluators_without_noise_and_surprise_is_the_divergence_from_it() {
    let game = connect_four();
    let start = game.initial(&mut Rng::new(0, "test"));
    let config = SearchConfig {
        simulations: 200,
        noise: Some(Noise { share: 0.9, ..Noise::default() }),
        ..SearchConfig::default()
    };
    let decision = decide(&game, &start, &config, &mut Stubborn, 3);
    let seat = &decision.seats[0];
    assert!((seat.prior[0] - 0.94).abs() < 1e-5, "{:?}", seat.prior);
    assert!((seat.prior.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    let expected: f32 = seat
        .policy
        .iter()
        .zip(&seat.prior)
        .filter(|(share, _)| **share > 0.0)
        .map(|(share, prior)| share * (share / prior).ln())
        .sum();
    assert!(expected > 0.1 && (seat.surprise() - expected).abs() < 1e-4, "{}", seat.surprise());
    // Equal policies have no surprise.
    let calm = SeatResult { policy: seat.prior.clone(), ..seat.clone() };
    assert_eq!(calm.surprise(), 0.0);
}

#[test]
fn forced_playouts_are_made_and_kept_out_of_the_target() {
    let game = connect_four();
    // Column 4 wins; noise and forced playouts spread visits over the rest.
    let state = game.position("112233").unwrap();
    let forced = SearchConfig {
        simulations: 600,
        noise: Some(Noise::default()),
        forced_playouts: Some(2.0),
        solver: false,
        ..SearchConfig::default()
    };
    let plain = SearchConfig { forced_playouts: None, ..forced.clone() };
    for seed in 0..10 {
        let decision = decide(&game, &state, &forced, &mut Rollout::new(), seed);
        let unforced = decide(&game, &state, &plain, &mut Rollout::new(), seed);
        let seat = &decision.seats[0];
        let total: u32 = seat.visits.iter().sum();
        assert_eq!(total, 600);
        assert!(seat.visits[3] < unforced.seats[0].visits[3], "{seat:?}");
        for (column, (&visits, &share)) in seat.visits.iter().zip(&seat.policy).enumerate() {
            // The share removed from other actions goes to the best.
            let plain = visits as f32 / total as f32;
            assert!(if column == 3 { share > plain } else { share <= plain }, "{seat:?}");
        }
        let target = unforced.seats[0].policy[3];
        assert!(seat.policy[3] > target - 0.05, "{seat:?} {target}");
    }
}

#[test]
fn fast_searches_are_shorter_and_marked_as_not_full() {
    let config = SearchConfig {
        simulations: 100,
        fast: Some(FastSearch { full_share: 0.25, simulations: 15 }),
        ..SearchConfig::default()
    };
    let full = (0..400)
        .filter(|&seed| {
            let decision = opening(&config, seed);
            assert_eq!(decision.simulations, if decision.full { 100 } else { 15 });
            decision.full
        })
        .count();
    // Binomial(400, 1/4): 100 with deviation 8.7; 6 sigma.
    assert!(full.abs_diff(100) < 52, "{full}");
}

#[test]
fn sequential_halving_spreads_its_simulations_as_planned() {
    let gumbel = Gumbel { considered: 4, ..Gumbel::default() };
    let config = SearchConfig { simulations: 16, gumbel: Some(gumbel), ..SearchConfig::default() };
    for seed in 0..20 {
        let mut visits = opening(&config, seed).seats[0].visits.clone();
        visits.sort_unstable();
        assert_eq!(visits, [0, 0, 0, 2, 2, 6, 6]);
    }
}

#[test]
fn sequential_halving_finds_what_wins_with_few_simulations() {
    let game = connect_four();
    // Column 4 wins, which the priors do not show.
    let state = game.position("112233").unwrap();
    let config = SearchConfig {
        simulations: 7,
        gumbel: Some(Gumbel::default()),
        solver: false,
        ..SearchConfig::default()
    };
    for seed in 0..30 {
        let decision = decide(&game, &state, &config, &mut Uniform, seed);
        let seat = &decision.seats[0];
        assert_eq!(seat.action.0, 3);
        assert!(seat.policy[3] > 0.9 && seat.probability == seat.policy[3], "{seat:?}");
    }
}

#[test]
fn without_simulations_sequential_halving_samples_the_prior() {
    let game = connect_four();
    let start = game.initial(&mut Rng::new(0, "test"));
    let gumbel = Gumbel { considered: 1, ..Gumbel::default() };
    let config = SearchConfig { simulations: 1, gumbel: Some(gumbel), ..SearchConfig::default() };
    let first = (0..400)
        .filter(|&seed| decide(&game, &start, &config, &mut Stubborn, seed).seats[0].action.0 == 0)
        .count();
    // Binomial(400, 0.94): 376 with deviation 4.7; 5 sigma.
    assert!(first.abs_diff(376) < 24, "{first}");
}

/// All prior on column 1, and value 0.
#[derive(Debug)]
struct Blind;

impl Evaluator<ConnectFour> for Blind {
    fn evaluate(
        &mut self,
        _game: &ConnectFour,
        leaves: &mut [Leaf<ConnectFour>],
        out: &mut Estimates,
    ) {
        for leaf in leaves {
            out.push(leaf.movers).1[0] = 1.0;
        }
    }
}

#[test]
fn a_prior_of_zero_forbids_no_move() {
    let game = connect_four();
    // Column 4 wins.
    let state = game.position("112233").unwrap();
    let config = SearchConfig {
        simulations: 100,
        first_play: FirstPlay::Constant { value: 1.0 },
        solver: false,
        ..SearchConfig::default()
    };
    let gumbel = SearchConfig { gumbel: Some(Gumbel::default()), ..config.clone() };
    let noisy = Noise { share: 1.0, total: 1e-3 };
    let noisy = SearchConfig { noise: Some(noisy), ..config.clone() };
    for config in [config, gumbel, noisy] {
        for seed in 0..10 {
            let decision = decide(&game, &state, &config, &mut Blind, seed);
            let seat = &decision.seats[0];
            assert!(seat.visits[3] > 0, "{seat:?}");
            if config.gumbel.is_none() {
                assert_eq!(seat.action.0, 3, "{seat:?}");
            }
        }
    }
}

/// Most prior on column 1, and a far higher value in the first position than in all others.
#[derive(Debug)]
struct Disappointed;

impl Evaluator<ConnectFour> for Disappointed {
    fn evaluate(
        &mut self,
        game: &ConnectFour,
        leaves: &mut [Leaf<ConnectFour>],
        out: &mut Estimates,
    ) {
        for leaf in leaves {
            let (values, priors) = out.push(leaf.movers);
            let moves = game.elapsed(&leaf.state);
            values.fill(if moves == 0 { 1_000.0 } else { moves as f32 });
            priors[0] = 0.94;
            priors[1..].fill(0.01);
        }
    }
}

/// Good for the first player up to the second move and bad from the third on.
#[derive(Debug)]
struct Deceptive;

impl Evaluator<ConnectFour> for Deceptive {
    fn evaluate(
        &mut self,
        game: &ConnectFour,
        leaves: &mut [Leaf<ConnectFour>],
        out: &mut Estimates,
    ) {
        for leaf in leaves {
            let value = if game.elapsed(&leaf.state) <= 2 { 0.9 } else { -0.9 };
            out.push_uniform().copy_from_slice(&[value, -value]);
        }
    }
}

#[test]
fn a_choice_of_sequential_halving_is_never_too_improbable_for_training() {
    let game = connect_four();
    let start = game.initial(&mut Rng::new(0, "test"));
    let gumbel = Some(Gumbel::default());
    let config = SearchConfig { simulations: 200, gumbel, ..SearchConfig::default() };
    for seed in 0..20 {
        // The actions left to the end have the most visits, so their values are the worst.
        let seat = &decide(&game, &start, &config, &mut Deceptive, seed).seats[0];
        let most = seat.policy.iter().copied().fold(0.0, f32::max);
        assert!(seat.probability < 1e-10 * most, "{seat:?}");
        // The learner refuses a game with less, `LEAST_PROBABILITY` of the crate `ouro-replay`.
        assert!(seat.probability >= 1e-30, "{seat:?}");
    }
}

#[test]
fn on_a_running_scale_first_play_is_no_better_than_the_best_value_seen() {
    let game = connect_four();
    let start = game.initial(&mut Rng::new(0, "test"));
    let config = SearchConfig {
        simulations: 10,
        exploration: 10.0,
        objective: Objective::Returns,
        value_scale: ValueScale::Running,
        ..SearchConfig::default()
    };
    let visits = decide(&game, &start, &config, &mut Disappointed, 1).seats[0].visits.clone();
    assert_eq!(visits, [10, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_finished_game_has_the_values_of_its_outcome() {
    let game = connect_four();
    let over = game.position("1122334").unwrap();
    let decision = decide(&game, &over, &SearchConfig::default(), &mut Uniform, 1);
    assert!(decision.proven && decision.seats.is_empty());
    assert_eq!(decision.values, [1.0, -1.0]);
}
