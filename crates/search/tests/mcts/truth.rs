//! Games that are solved.

use ouro_game::connect_four::{self, ConnectFour, Solver, State};
use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Action, ActionMask, Game, Rng, Turn};
use ouro_search::{Rollout, SearchConfig, Uniform};

use crate::decide;

#[test]
fn the_solver_proves_tic_tac_toe_a_draw_from_the_rules_alone() {
    let game = TicTacToe::new(tic_tac_toe::Config {}).unwrap();
    let start = game.initial(&mut Rng::new(1, "test"));
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
    let start = game.initial(&mut Rng::new(1, "test"));
    assert!(holds(&game, start, 0) && holds(&game, start, 1));
}

/// A random position with `fewest` to `most` stones in which exactly one move keeps the result
/// of perfect play, and that move. The solver needs milliseconds from 12 stones on.
fn position_with_one_good_move(
    game: &ConnectFour,
    solver: &mut Solver,
    (fewest, most): (u32, u32),
    rng: &mut Rng,
) -> (State, Action) {
    loop {
        let mut state = game.initial(rng);
        let stones = fewest + rng.below(most + 1 - fewest);
        game.rollout(&mut state, stones, &mut Default::default(), rng);
        if let Some((action, _)) = solver.only_move(&state) {
            return (state, action);
        }
    }
}

/// How many of 40 such positions a search plays well.
fn good_moves(stones: (u32, u32), mut rollout: Rollout) -> usize {
    let game = ConnectFour::new(connect_four::Config::default()).unwrap();
    let mut solver = Solver::with_table_bits(20);
    let mut rng = Rng::new(3, "test");
    let config = SearchConfig { simulations: 10_000, ..SearchConfig::default() };
    let found = |&seed: &u64| {
        let (state, best) = position_with_one_good_move(&game, &mut solver, stones, &mut rng);
        decide(&game, &state, &config, &mut rollout, seed).seats[0].action == best
    };
    (0..40).filter(found).count()
}

#[test]
fn ten_thousand_rollouts_find_the_only_good_move_in_connect_four() {
    let found = good_moves((16, 24), Rollout::new());
    assert!(found >= 38, "{found} of 40");
}

#[test]
fn guided_rollouts_find_more_of_them_nearer_to_the_opening() {
    let (plain, guided) =
        (good_moves((12, 16), Rollout::new()), good_moves((12, 16), Rollout::new().guided()));
    assert!(guided >= 37 && guided > plain, "{guided} of 40, without guidance {plain}");
}
