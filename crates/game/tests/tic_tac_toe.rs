//! Tic-tac-toe, exhaustively: every position and every game.

use std::collections::BTreeSet;

use ouro_game::record::{Recorder, Replay};
use ouro_game::tic_tac_toe::{Config, State, TicTacToe};
use ouro_game::{Action, ActionMask, Game, Rng, Turn};

fn game() -> TicTacToe {
    TicTacToe::new(Config::default()).expect("there is nothing to get wrong")
}

fn start(game: &TicTacToe) -> State {
    game.initial(&mut Rng::new(0, "test"))
}

/// Every state after a legal action of the player to move; none at the end.
fn children(game: &TicTacToe, state: &State) -> Vec<(Action, State)> {
    let Turn::Move(movers) = game.turn(state) else { return Vec::new() };
    let mover = movers.iter().next().expect("somebody is to move");
    let mut mask = ActionMask::default();
    game.legal(state, mover, &mut mask);
    let after = |action| {
        let mut next = *state;
        game.step(&mut next, &[action; 2]).expect("a legal action");
        (action, next)
    };
    mask.iter().map(after).collect()
}

/// Games that end in a win of player 0, in a win of player 1, and in a draw.
fn count_games(game: &TicTacToe, state: &State, counts: &mut [u32; 3]) {
    let children = children(game, state);
    if children.is_empty() {
        let winner = (0..2).position(|player| game.outcome(state, player) > 0.0);
        counts[winner.unwrap_or(2)] += 1;
    }
    for (_, child) in children {
        count_games(game, &child, counts);
    }
}

fn reachable(game: &TicTacToe) -> Vec<State> {
    let mut seen = BTreeSet::new();
    let mut states = vec![start(game)];
    let mut next = 0;
    while let Some(state) = states.get(next).copied() {
        next += 1;
        for (_, child) in children(game, &state) {
            if seen.insert(<[u16; 2]>::from(child)) {
                states.push(child);
            }
        }
    }
    states
}

#[test]
fn all_255168_games_end_as_they_are_known_to() {
    let game = game();
    let mut counts = [0; 3];
    count_games(&game, &start(&game), &mut counts);
    assert_eq!(counts, [131_184, 77_904, 46_080]);
}

#[test]
fn exactly_the_5478_reachable_states_can_be_read_back() {
    let game = game();
    let states = reachable(&game);
    assert_eq!(states.len(), 5_478);
    let accepted = (0..1_u32 << 18)
        .filter(|bits| State::try_from([(bits & 511) as u16, (bits >> 9) as u16]).is_ok())
        .count();
    assert_eq!(accepted, 5_478);
    for state in states {
        let json = serde_json::to_string(&state).expect("states serialise");
        assert_eq!(serde_json::from_str::<State>(&json).expect("reads back"), state);
    }
}

#[test]
fn every_symmetry_commutes_with_every_move_of_every_state() {
    let game = game();
    for state in reachable(&game) {
        for &symmetry in game.symmetries() {
            let image = game.transform(&state, symmetry);
            assert_eq!(game.turn(&image), game.turn(&state));
            for (action, child) in children(&game, &state) {
                let mut moved = image;
                let action = game.transform_action(action, symmetry);
                game.step(&mut moved, &[action; 2]).expect("the image is legal");
                assert_eq!(moved, game.transform(&child, symmetry));
            }
        }
    }
}

#[test]
fn impossible_states_are_refused_by_name() {
    let cases = [
        ("[512,0]", "off the 3x3 board"),
        ("[1,1]", "marks of both players"),
        ("[0,1]", "have not moved in turn"),
        ("[7,56]", "continued after three in a row"),
        ("[7,280]", "continued after three in a row"),
        ("[455,56]", "not moved in turn"),
        ("[1]", "invalid length 1"),
    ];
    for (json, expected) in cases {
        let error = serde_json::from_str::<State>(json).expect_err(json).to_string();
        assert!(error.contains(expected), "{json}: {error}");
    }
}

#[test]
fn a_recorded_game_replays_to_the_same_end() {
    let game = game();
    let mut recorder = Recorder::new(&game, 1);
    for cell in [4, 0, 2, 6, 3, 5, 1, 7, 8] {
        recorder.advance(&game, &[Action(cell); 2]).expect("a legal game");
    }
    let last = *recorder.state();
    assert_eq!(game.turn(&last), Turn::Over);
    assert_eq!(game.render(&last), "O O X\nX X O\nO X X\n");
    let record = recorder.into_record(*game.config());
    assert_eq!(Replay::new(&game, &record).and_then(Replay::finish), Ok(last));
}
