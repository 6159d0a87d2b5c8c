use std::sync::Arc;

use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::tic_tac_toe::TicTacToe;
use ouro_game::{Game, battlesnake};

use super::*;
use crate::registry::{BuildContext, by_name};

#[derive(Debug)]
struct Stopped;

impl ouro_search::Clock for Stopped {
    fn monotonic(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}

fn player<G: Game>(game: &G, name: &str) -> Box<dyn Player<G>> {
    let clock = Arc::new(Stopped);
    let mut context = BuildContext { game, engines: &mut |_: &str| None, clock };
    by_name(name, &mut context).expect("it is known")
}

#[test]
fn minimax_loses_no_line_of_tic_tac_toe_and_meets_every_reply() {
    let game = TicTacToe::default();
    let lines = every_line(&game, &mut *player(&game, "minimax{depth=9}"), 1).expect("it is small");
    assert_eq!((lines.lost, &lines.first_loss), (0, &None));
    assert!(lines.won > 20 && lines.drawn > 5 && lines.asked > 100, "{lines:?}");
}

#[test]
fn a_careless_player_loses_a_line_that_is_told() {
    let game = TicTacToe::default();
    let lines = every_line(&game, &mut *player(&game, "random"), 1).expect("it is small");
    let loss = lines.first_loss.expect("some reply punishes it");
    assert!(lines.lost > 10 && (5..=9).contains(&loss.len()), "{loss:?}");
}

#[test]
fn games_that_cannot_be_followed_are_named() {
    let game = battlesnake::Small::new(battlesnake::Config {
        width: 7,
        height: 7,
        snakes: 2,
        ..Default::default()
    })
    .expect("a valid configuration");
    let error = every_line(&game, &mut *player(&game, "random"), 1).expect_err("they move at once");
    assert!(error.to_string().starts_with("battlesnake is not a game of two players"), "{error}");
    let game = ConnectFour::new(connect_four::Config::default()).expect("in range");
    let error = every_line(&game, &mut *player(&game, "random"), 1).expect_err("it is large");
    assert!(error.to_string().starts_with("connect_four has more than 65536"), "{error}");
}

#[test]
fn perfect_play_keeps_every_result_and_random_play_does_not() {
    let game = ConnectFour::new(connect_four::Config::default()).expect("in range");
    let sample = PositionSample { positions: 40, first: 16, seed: 3 };
    let mut players = ["perfect", "random"].map(|name| player(&game, name));
    let agreements = super::connect_four(&game, &mut players, sample);
    let [perfect, random] = &agreements[..] else { panic!("one for each player") };
    assert_eq!((perfect.positions, perfect.kept), (40, 40));
    assert_eq!(perfect.critical, perfect.kept_critical);
    assert_eq!(random.critical, perfect.critical);
    assert!(random.kept_critical < random.critical, "{random:?}");
    assert_eq!(random.kept - random.kept_critical, random.positions - random.critical);
}

#[test]
fn a_sample_larger_than_the_board_ends_once_no_new_position_is_found() {
    let config = connect_four::Config { width: 4, height: 4 };
    let game = ConnectFour::new(config).expect("in range");
    // No game of 16 cells gets that far.
    let sample = PositionSample { positions: usize::MAX, first: 17, seed: 1 };
    let agreements = super::connect_four(&game, &mut [player(&game, "random")], sample);
    assert_eq!(agreements[0].positions, 0);
}
