//! Games that are solved.

use ouro_game::connect_four::{self, ConnectFour, Outcome, Solver, State};
use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Action, ActionMask, Game, Stream, Turn};
use ouro_search::{Rollout, SearchConfig, Uniform};

use crate::decide;

#[test]
fn the_solver_proves_tic_tac_toe_a_draw_from_the_rules_alone() {
    let game = TicTacToe::new(tic_tac_toe::Config {}).unwrap();
    let start = game.initial(&mut Stream::new(1, "test"));
    let config = SearchConfig { simulations: 1_000_000, ..SearchConfig::default() };
    let decision = decide(&game, &start, &config, &mut Uniform, 1);
    assert!(decision.proven);
    assert_eq!(decision.values, [0.0, 0.0]);
    assert!(decision.simulations < 500_000, "{} simulations", decision.simulations);
}

#[test]
fn the_solver_never_loses_tic_tac_toe_in_any_line() {
    /// Tries every reply to the search's moves; whether none of them wins.
    fn holds(game: &TicTacToe, state: tic_tac_toe::State, searcher: usize) -> bool {
        let Turn::Move(movers) = game.turn(&state) else {
            return game.outcome(&state, searcher) >= 0.0;
        };
        let mover = movers.iter().next().unwrap();
        let mut mask = ActionMask::default();
        game.legal(&state, mover, &mut mask);
        let mut actions: Vec<Action> = mask.iter().collect();
        if mover == searcher {
            let config = SearchConfig { simulations: 3_000, ..SearchConfig::default() };
            actions = vec![decide(game, &state, &config, &mut Rollout::new(), 2).seats[0].action];
        }
        actions.into_iter().all(|action| {
            let mut next = state;
            game.step(&mut next, &[action; 2]).unwrap();
            holds(game, next, searcher)
        })
    }
    let game = TicTacToe::new(tic_tac_toe::Config {}).unwrap();
    let start = game.initial(&mut Stream::new(1, "test"));
    assert!(holds(&game, start, 0) && holds(&game, start, 1));
}

/// A random position with 16 to 24 stones in which exactly one move keeps the result of
/// perfect play, and that move. The solver needs milliseconds so deep.
fn position_with_one_good_move(
    game: &ConnectFour,
    solver: &mut Solver,
    rng: &mut Stream,
) -> (State, Action) {
    loop {
        let mut state = game.initial(rng);
        game.rollout(&mut state, 16 + rng.below(9), &mut Default::default(), rng);
        if state.is_over() {
            continue;
        }
        let outcome = |action: u32| {
            let mut next = state;
            let legal = game.step(&mut next, &[Action(action); 2]).is_ok();
            legal.then(|| match solver.outcome(&next) {
                Outcome::Loss => 1,
                Outcome::Draw => 0,
                Outcome::Win => -1,
            })
        };
        let outcomes: Vec<Option<i32>> = (0..7).map(outcome).collect();
        let best = outcomes.iter().flatten().max();
        let good: Vec<u32> = (0..7).filter(|&at| outcomes[at as usize].as_ref() == best).collect();
        if let [only] = good[..]
            && outcomes.iter().flatten().count() > 1
        {
            return (state, Action(only));
        }
    }
}

#[test]
fn ten_thousand_rollouts_find_the_only_good_move_in_connect_four() {
    let game = ConnectFour::new(connect_four::Config::default()).unwrap();
    let mut solver = Solver::with_table_bits(20);
    let mut rng = Stream::new(3, "test");
    let config = SearchConfig { simulations: 10_000, ..SearchConfig::default() };
    let found = (0..40)
        .filter(|&seed| {
            let (state, best) = position_with_one_good_move(&game, &mut solver, &mut rng);
            decide(&game, &state, &config, &mut Rollout::new(), seed).seats[0].action == best
        })
        .count();
    assert!(found >= 38, "{found} of 40");
}
