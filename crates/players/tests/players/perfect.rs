//! `perfect`: Connect Four by its solver.

use std::collections::BTreeSet;

use ouro_game::connect_four::{Config, ConnectFour, Outcome, Solver, State};
use ouro_game::{ActionMask, Game, Rng, Turn};

use crate::support::{choice, play, player};

/// Undecided positions after `stones` random stones.
fn positions(game: &ConnectFour, stones: u32, count: usize) -> Vec<State> {
    let mut mask = ActionMask::default();
    let mut positions = Vec::new();
    for index in 0.. {
        let mut rng = Rng::indexed(2, "position", index);
        let mut state = game.initial(&mut rng);
        while state.plies() < stones {
            let Turn::Move(movers) = game.turn(&state) else { break };
            game.legal(&state, movers.iter().next().unwrap(), &mut mask);
            let action = mask.nth(rng.below(mask.count() as u32) as usize).unwrap();
            game.step(&mut state, &[action; 2]).unwrap();
        }
        if game.turn(&state) != Turn::Over {
            positions.push(state);
        }
        if positions.len() == count {
            break;
        }
    }
    positions
}

#[test]
fn it_draws_from_all_best_moves_and_reports_their_probability() {
    let game = ConnectFour::new(Config::default()).unwrap();
    let mut perfect = player("perfect", &game);
    let mut solver = Solver::new();
    let mut several = 0;
    for state in positions(&game, 20, 30) {
        let best = solver.best_moves(&state);
        several += usize::from(best.len() > 1);
        let mut rng = Rng::new(3, "seat");
        let mut drawn = BTreeSet::new();
        for _ in 0..80 {
            let choice = choice(perfect.as_mut(), &game, &state, state.mover(), &mut rng);
            assert!(best.contains(&choice.action), "{}", game.render(&state));
            assert_eq!(choice.probability, 1.0 / best.len() as f32);
            drawn.insert(choice.action);
        }
        assert_eq!(drawn.len(), best.len(), "every best move is drawn");
    }
    assert!(several > 5, "{several} positions with several best moves");
}

#[test]
fn it_wins_a_game_that_is_won_from_the_start() {
    // On this board the second player wins, whatever the first does.
    let game = ConnectFour::new(Config { width: 6, height: 4 }).unwrap();
    let start = game.initial(&mut Rng::new(1, "game"));
    assert_eq!(Solver::new().outcome(&start), Outcome::Loss);
    for game in play(&game, &["perfect", "random"], 5) {
        let seat = game.players.iter().position(|&player| player == 0).unwrap();
        if seat == 1 {
            assert_eq!(game.outcomes[seat], 1.0);
        }
    }
}
