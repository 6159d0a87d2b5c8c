//! Simultaneous moves: matrix games with known equilibria.

use ouro_game::{Game, Rng};
use ouro_search::mcts::{KNOWN_PER_STEP, MAX_SIMULATIONS, Objective, Simultaneous};
use ouro_search::{Estimates, Evaluator, Leaf, Scheduler, Search, SearchConfig, Uniform};

use crate::decide;
use crate::matrix::{Matrix, exploitability, matrices};

/// How exploitable the two policies are after so many simulations.
fn gap(payoffs: &[Vec<f32>], simultaneous: Simultaneous, simulations: u32) -> f32 {
    let game = Matrix::new(payoffs.to_vec()).unwrap();
    let state = game.initial(&mut Rng::new(0, "test"));
    let config =
        SearchConfig { simulations, simultaneous, solver: false, ..SearchConfig::default() };
    let decision = decide(&game, &state, &config, &mut Uniform, 5);
    exploitability(payoffs, &decision.seats[0].policy, &decision.seats[1].policy)
}

#[test]
fn the_average_strategy_of_regret_matching_approaches_an_equilibrium() {
    let matching = Simultaneous::RegretMatching { exploration: 0.5 };
    for (name, payoffs) in matrices() {
        let gaps = [100, 1_000, 10_000, 100_000].map(|count| gap(&payoffs, matching, count));
        // Regrets of n plays are of order sqrt(n), so the gap is of order 1/sqrt(n).
        assert!(gaps[2] < 0.06 && gaps[3] < 0.02, "{name}: {gaps:?}");
        assert!(gaps[3] < gaps[0], "{name}: {gaps:?}");
    }
}

#[test]
fn decoupled_search_mixes_where_every_pure_strategy_loses() {
    for (name, payoffs) in matrices() {
        let gap = gap(&payoffs, Simultaneous::Decoupled, 10_000);
        // A pure strategy in matching pennies can be exploited by 2.
        assert!(gap < 0.7, "{name}: {gap}");
    }
}

#[test]
fn a_saddle_point_is_proven_and_played() {
    // The second row and the first column: a row of at least 0.2 against a column of at most
    // 0.2, though 0.9 beckons elsewhere.
    let payoffs = vec![vec![-0.5, 0.9, 0.0], vec![0.2, 0.3, 0.8], vec![0.1, -0.9, 1.0]];
    let game = Matrix::new(payoffs).unwrap();
    let state = game.initial(&mut Rng::new(0, "test"));
    let config = SearchConfig { simulations: 2_000, ..SearchConfig::default() };
    let decision = decide(&game, &state, &config, &mut Uniform, 1);
    assert!(decision.proven);
    assert_eq!(decision.values, [0.2, -0.2]);
    let chosen: Vec<u32> = decision.seats.iter().map(|seat| seat.action.0).collect();
    assert_eq!(chosen, [1, 0]);
}

#[test]
fn what_a_draw_is_worth_decides_between_a_draw_and_a_risk() {
    // The first row draws for certain. The others win or lose by chance.
    let payoffs = vec![vec![0.0, 0.0], vec![1.0, -1.0], vec![-1.0, 1.0]];
    let game = Matrix::new(payoffs).unwrap();
    let state = game.initial(&mut Rng::new(0, "test"));
    let drawing_share = |draw: f32| {
        let config = SearchConfig { simulations: 2_000, draw, ..SearchConfig::default() };
        decide(&game, &state, &config, &mut Uniform, 1).seats[0].policy[0]
    };
    let [feared, liked] = [-0.5, 0.5].map(drawing_share);
    assert!(feared < 0.1 && liked > 0.9, "{feared} {liked}");
}

#[test]
fn a_move_that_wins_against_every_reply_is_proven_and_played() {
    let payoffs = vec![vec![0.0, -1.0], vec![1.0, 1.0], vec![1.0, 0.5]];
    let game = Matrix::new(payoffs).unwrap();
    let state = game.initial(&mut Rng::new(0, "test"));
    let config = SearchConfig { simulations: 2_000, ..SearchConfig::default() };
    let decision = decide(&game, &state, &config, &mut Uniform, 1);
    assert!(decision.proven);
    assert_eq!(decision.values, [1.0, -1.0]);
    assert_eq!(decision.seats[0].action.0, 1);
    assert_eq!(decision.seats[0].policy, [0.0, 1.0, 0.0]);
}

#[test]
fn a_move_that_only_draws_against_a_reply_is_no_proven_win() {
    let config = SearchConfig { simulations: 200, draw: 1.0, ..SearchConfig::default() };
    let search = |payoffs: [[f32; 2]; 2]| {
        let game = Matrix::new(payoffs.map(|row| row.to_vec()).to_vec()).unwrap();
        let state = game.initial(&mut Rng::new(0, "test"));
        decide(&game, &state, &config, &mut Uniform, 1)
    };
    // The first row is worth 1 to its player in both columns. The second player loses or draws.
    for row in [[1.0, 0.0], [0.0, 1.0]] {
        let decision = search([row, [-1.0, -1.0]]);
        assert!(!decision.proven, "{decision:?}");
    }
    let decision = search([[1.0, 1.0], [0.0, -1.0]]);
    assert!(decision.proven && decision.values == [1.0, -1.0], "{decision:?}");
}

/// The second player prefers its first action, and all values are 0.
#[derive(Debug)]
struct FirstColumn;

impl Evaluator<Matrix> for FirstColumn {
    fn evaluate(&mut self, game: &Matrix, leaves: &mut [Leaf<Matrix>], out: &mut Estimates) {
        for leaf in leaves {
            let (_, priors) = out.push(leaf.movers);
            let (rows, columns) = priors.split_at_mut(game.action_count());
            rows.fill(1.0);
            columns.fill(0.01);
            columns[0] = 0.99;
        }
    }
}

#[test]
fn a_loser_prefers_the_action_that_loses_to_one_reply_only() {
    // Every row wins against the first column, but only the third against the second column.
    let mut payoffs = vec![vec![1.0, -1.0]; 6];
    payoffs[2] = vec![1.0, 1.0];
    let game = Matrix::new(payoffs).unwrap();
    let state = game.initial(&mut Rng::new(0, "test"));
    let config = SearchConfig { simulations: 2_000, ..SearchConfig::default() };
    let decision = decide(&game, &state, &config, &mut FirstColumn, 1);
    assert!(decision.proven && decision.values == [1.0, -1.0], "{decision:?}");
    // The proof comes before all replies to the second column are known.
    let loser = &decision.seats[1];
    assert!(loser.visits[0] > loser.visits[1], "{loser:?}");
    assert!(loser.policy == [0.0, 1.0] && loser.action.0 == 1, "{loser:?}");
}

#[test]
fn a_game_without_a_saddle_point_is_not_called_proven() {
    let [(_, pennies), ..] = matrices();
    let game = Matrix::new(pennies).unwrap();
    let state = game.initial(&mut Rng::new(0, "test"));
    let config = SearchConfig { simulations: 500, ..SearchConfig::default() };
    let decision = decide(&game, &state, &config, &mut Uniform, 1);
    assert!(!decision.proven);
    assert_eq!(decision.simulations, 500);
}

#[test]
fn a_step_ends_even_if_all_leaves_are_known_and_the_root_is_not_proven() {
    let [(_, pennies), ..] = matrices();
    let game = Matrix::new(pennies).unwrap();
    let state = game.initial(&mut Rng::new(0, "test"));
    for leaves_in_flight in [1, 3] {
        let simulations = MAX_SIMULATIONS;
        let config = SearchConfig { simulations, leaves_in_flight, ..SearchConfig::default() };
        let mut search = Search::new(config, &game).unwrap();
        search.start(&game, &state, Rng::new(1, "search"));
        let mut scheduler = Scheduler::new(1);
        let mut made = 0;
        for _ in 0..10 {
            let step = scheduler.step(&game, std::slice::from_mut(&mut search), &mut Uniform);
            assert!(!step.is_idle() && step.known <= KNOWN_PER_STEP, "{step:?}");
            made += step.known;
        }
        assert!(!search.is_done() && made > 0);
        // Only the root is evaluated, and that is no simulation.
        assert_eq!(search.simulations() as usize, made);
        let decision = search.decide(&game);
        assert!(decision.seats.iter().all(|seat| seat.policy.iter().all(|&share| share > 0.2)));
    }
}

#[test]
fn returns_that_are_not_opposed_have_no_saddle_point() {
    // The first player's returns alone have one in the first row and second column, which
    // takes the second player to want its opponent's loss. It wants the first column.
    let first = vec![vec![0.5, 0.2], vec![0.1, 0.0]];
    let second = vec![vec![1.0, 0.0], vec![1.0, 0.0]];
    let config = SearchConfig {
        simulations: 2_000,
        objective: Objective::Returns,
        ..SearchConfig::default()
    };
    let search = |game: &Matrix| {
        let state = game.initial(&mut Rng::new(0, "test"));
        let decision = decide(game, &state, &config, &mut Uniform, 1);
        let chosen: Vec<u32> = decision.seats.iter().map(|seat| seat.action.0).collect();
        (decision, chosen)
    };
    let (decision, chosen) = search(&Matrix { payoffs: first.clone(), second: Some(second) });
    assert!(!decision.proven && decision.values[0] > 0.4, "{decision:?}");
    assert_eq!(chosen, [0, 0]);
    // Opposed returns have one, and so has a game where nothing that is done matters.
    let (decision, chosen) = search(&Matrix::new(first).unwrap());
    assert!(decision.proven && decision.values == [0.2, -0.2], "{decision:?}");
    assert_eq!(chosen, [0, 1]);
    let same = |value| vec![vec![value; 3]; 2];
    let (decision, _) = search(&Matrix { payoffs: same(0.25), second: Some(same(0.5)) });
    assert!(decision.proven && decision.values == [0.25, 0.5], "{decision:?}");
}

#[test]
fn plans_do_not_rely_on_trembling_opponents() {
    // The second player has no reason to take the first column, so that the first row gains 0.5,
    // unless by mistake: then it loses 2. The second row gains nothing and risks nothing.
    let first = vec![vec![-2.0, 0.5], vec![0.0, 0.0]];
    let second = vec![vec![-1.0, 0.0], vec![-1.0, 0.0]];
    let game = Matrix { payoffs: first, second: Some(second) };
    let state = game.initial(&mut Rng::new(0, "test"));
    let decision = |tremble| {
        let config = SearchConfig {
            simulations: 4_000,
            objective: Objective::Returns,
            solver: false,
            tremble,
            ..SearchConfig::default()
        };
        decide(&game, &state, &config, &mut Uniform, 1)
    };
    let trusting = decision(0.0);
    assert_eq!([0, 1].map(|seat| trusting.seats[seat].action.0), [0, 1]);
    // The first column comes in two of five: 0.6 * 0.5 - 0.4 * 2 is a loss.
    let wary = decision(0.8);
    assert_eq!([0, 1].map(|seat| wary.seats[seat].action.0), [1, 1]);
    for seat in &wary.seats {
        // Of 4,000 choices 800 are meant; 6 sigma are 152.
        let visits: u32 = seat.visits.iter().sum();
        assert!(visits.abs_diff(800) < 152, "{visits}");
    }
}
