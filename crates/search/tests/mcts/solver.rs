//! What the solver does to play.

use std::collections::BTreeMap;

use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::tic_tac_toe::TicTacToe;
use ouro_game::{Action, Game, Rng};
use ouro_search::mcts::Objective;
use ouro_search::{Estimates, Evaluator, Leaf, Rollout, Scheduler, Search, SearchConfig, Uniform};

use crate::decide;

fn connect_four() -> ConnectFour {
    ConnectFour::new(connect_four::Config::default()).unwrap()
}

#[test]
fn a_win_in_one_ends_the_search_at_once() {
    let game = connect_four();
    let state = game.position("112233").unwrap();
    let config = SearchConfig { simulations: 10_000, ..SearchConfig::default() };
    let decision = decide(&game, &state, &config, &mut Rollout::new(), 1);
    assert!(decision.proven && decision.simulations < 50);
    assert_eq!(decision.values, [1.0, -1.0]);
    assert_eq!((decision.seats[0].action.0, decision.seats[0].probability), (3, 1.0));
}

#[test]
fn a_draw_that_is_worth_a_win_does_not_end_the_search_as_one() {
    let game = TicTacToe::default();
    // The forced reply to the draw has no node, so the first visit proves the draw.
    let config = SearchConfig { draw: 1.0, collapse_forced: Some(true), ..SearchConfig::default() };
    // The second player wins in cell 8 and draws in cell 0, and the other way round.
    let moves = [1, 2, 3, 5, 4, 7, 6];
    for moves in [moves, moves.map(|cell| 8 - cell)] {
        let mut state = game.initial(&mut Rng::new(0, "test"));
        moves.iter().for_each(|&cell| game.step(&mut state, &[Action(cell); 2]).unwrap());
        let decision = decide(&game, &state, &config, &mut Uniform, 1);
        assert!(decision.proven && decision.values == [-1.0, 1.0], "{decision:?}");
    }
}

#[test]
fn of_several_proven_wins_the_soonest_is_played() {
    let game = TicTacToe::default();
    // No return is known to be the maximum, so that a first proven win does not end the search.
    let objective = Objective::Returns;
    let config = SearchConfig { simulations: 10_000, objective, ..SearchConfig::default() };
    // The second player errs with cell 5. The first player then wins in cell 8 at once, and in cells
    // 2 and 6, which threaten two lines each, two plies later.
    let mut before = game.initial(&mut Rng::new(0, "test"));
    for cell in [0, 1, 4, 3, 7] {
        game.step(&mut before, &[Action(cell); 2]).unwrap();
    }
    let (mut state, error) = (before, [Action(5); 2]);
    game.step(&mut state, &error).unwrap();
    for is_kept in [false, true] {
        let mut search = Search::new(config.clone(), &game).unwrap();
        let start = if is_kept { &before } else { &state };
        search.start(&game, start, Rng::new(1, "search"));
        let run = |search: &mut Search<TicTacToe>| {
            Scheduler::new(1).run(&game, std::slice::from_mut(search), &mut Uniform);
        };
        run(&mut search);
        if is_kept {
            assert!(search.advance(&game, &error, &state));
            run(&mut search);
        }
        let decision = search.decide(&game);
        assert!(decision.proven && decision.values == [1.0, -1.0], "{decision:?}");
        let seat = &decision.seats[0];
        assert_eq!(seat.actions, [2, 6, 8].map(Action));
        assert!(seat.policy.iter().all(|&share| share > 0.0), "all three win: {seat:?}");
        assert_eq!(seat.action, Action(8), "{seat:?}");
    }
}

#[test]
fn moves_that_are_proven_to_lose_are_not_visited() {
    let game = connect_four();
    // The first player threatens column 4: anything else loses at once.
    let state = game.position("1122337").unwrap();
    let config = SearchConfig { simulations: 2_000, ..SearchConfig::default() };
    let visits = |config: &SearchConfig| {
        let decision = decide(&game, &state, config, &mut Uniform, 1);
        assert_eq!(decision.seats[0].action.0, 3);
        decision.seats[0].visits.clone()
    };
    let with = visits(&config);
    let without = visits(&SearchConfig { solver: false, ..config });
    let elsewhere = |visits: &[u32]| visits.iter().sum::<u32>() - visits[3];
    assert!(elsewhere(&with) <= 60, "{with:?}");
    assert!(elsewhere(&without) > elsewhere(&with), "{without:?} {with:?}");
}

/// Knows the outcome of every position.
#[derive(Debug)]
struct Oracle(connect_four::Solver);

impl Evaluator<ConnectFour> for Oracle {
    fn evaluate(
        &mut self,
        _game: &ConnectFour,
        leaves: &mut [Leaf<ConnectFour>],
        out: &mut Estimates,
    ) {
        for leaf in leaves {
            let value = match self.0.outcome(&leaf.state) {
                connect_four::Outcome::Loss => -1.0,
                connect_four::Outcome::Draw => 0.0,
                connect_four::Outcome::Win => 1.0,
            };
            let mover = leaf.state.mover();
            let values = out.push_exact();
            (values[mover], values[1 - mover]) = (value, -value);
        }
    }
}

#[test]
fn exact_estimates_prove_a_position_in_one_simulation_for_each_move() {
    let game = connect_four();
    let mut oracle = Oracle(connect_four::Solver::with_table_bits(20));
    let mut rng = Rng::new(6, "test");
    let config = SearchConfig { simulations: 1_000, ..SearchConfig::default() };
    let mut seen = BTreeMap::new();
    for seed in 0..200 {
        let mut state = game.initial(&mut rng);
        game.rollout(&mut state, 24 + rng.below(4), &mut Default::default(), &mut rng);
        if state.is_over() {
            continue;
        }
        let decision = decide(&game, &state, &config, &mut oracle, seed);
        assert!(decision.proven && decision.simulations <= 7, "{decision:?}");
        let value = oracle.0.outcome(&state) as i32 - connect_four::Outcome::Draw as i32;
        assert_eq!(decision.values[state.mover()], value as f32);
        // The move keeps the value.
        let mut next = state;
        game.step(&mut next, &[decision.seats[0].action; 2]).unwrap();
        if !next.is_over() {
            let reply = oracle.0.outcome(&next) as i32 - connect_four::Outcome::Draw as i32;
            assert_eq!(reply, -value);
        }
        *seen.entry(value).or_insert(0) += 1;
        // Without the solver an exact estimate is one like any other.
        let plain = SearchConfig { solver: false, simulations: 50, ..SearchConfig::default() };
        let decision = decide(&game, &state, &plain, &mut oracle, seed);
        assert!(!decision.proven && decision.simulations == 50);
    }
    assert!([-1, 1].iter().all(|value| seen[value] > 5), "{seen:?}");
}

#[test]
fn proven_values_are_those_of_the_perfect_solver() {
    let game = connect_four();
    let mut perfect = connect_four::Solver::with_table_bits(20);
    let mut rng = Rng::new(4, "test");
    let config = SearchConfig { simulations: 20_000, ..SearchConfig::default() };
    let mut proven = 0;
    for seed in 0..400 {
        let mut state = game.initial(&mut rng);
        game.rollout(&mut state, 26 + rng.below(8), &mut Default::default(), &mut rng);
        if state.is_over() {
            continue;
        }
        let decision = decide(&game, &state, &config, &mut Rollout::new(), seed);
        if decision.proven {
            proven += 1;
            let expected = match perfect.outcome(&state) {
                connect_four::Outcome::Loss => -1.0,
                connect_four::Outcome::Draw => 0.0,
                connect_four::Outcome::Win => 1.0,
            };
            assert_eq!(decision.values[state.mover()], expected, "{}", game.render(&state));
            assert!(perfect_keeps(&game, &mut perfect, &state, decision.seats[0].action));
        }
    }
    assert!(proven >= 40, "{proven}");
}

/// Whether an action keeps what perfect play gets.
fn perfect_keeps(
    game: &ConnectFour,
    perfect: &mut connect_four::Solver,
    state: &connect_four::State,
    action: Action,
) -> bool {
    let mut next = *state;
    game.step(&mut next, &[action; 2]).unwrap();
    let before = perfect.outcome(state);
    let after = if next.is_over() {
        match game.outcome(&next, state.mover()) {
            value if value > 0.0 => connect_four::Outcome::Win,
            _ => connect_four::Outcome::Draw,
        }
    } else {
        match perfect.outcome(&next) {
            connect_four::Outcome::Loss => connect_four::Outcome::Win,
            connect_four::Outcome::Draw => connect_four::Outcome::Draw,
            connect_four::Outcome::Win => connect_four::Outcome::Loss,
        }
    };
    before == after
}
