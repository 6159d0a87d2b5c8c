//! `minimax` and `maxn`.

use ouro_game::battlesnake::{Config, Small};
use ouro_game::catalog::GAMES;
use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_players::Table;

use crate::support::{play, player, won};

fn battlesnake(snakes: u8) -> Small {
    Small::new(Config { snakes, ..Config::default() }).unwrap()
}

#[test]
fn searching_the_whole_of_tic_tac_toe_never_loses() {
    let game = TicTacToe::new(tic_tac_toe::Config {}).unwrap();
    for (name, rounds) in [("minimax{depth=9}", 20), ("maxn{depth=9}", 3)] {
        let finished = play(&game, &[name, "random"], rounds);
        let lost = finished.iter().filter(|game| {
            let seat = game.players.iter().position(|&player| player == 0).unwrap();
            game.outcomes[seat] < 0.0
        });
        assert_eq!(lost.count(), 0, "{name}");
        let (won, games) = (won(&finished), finished.len());
        assert!(3 * won > 2 * games, "{name} won {won} of {games}");
    }
}

#[test]
fn area_control_beats_greedy_in_duels() {
    let finished = play(&battlesnake(2), &["minimax{depth=4}", "greedy"], 20);
    assert!(won(&finished) >= 32, "won {} of 40", won(&finished));
}

#[test]
fn area_control_beats_three_greedy_snakes() {
    for name in ["minimax{depth=2}", "maxn{depth=1}"] {
        let finished = play(&battlesnake(4), &[name, "greedy", "greedy", "greedy"], 10);
        // A quarter would be 10, two deviations more 15.5.
        assert!(won(&finished) >= 16, "{name} won {} of 40", won(&finished));
    }
}

#[test]
fn the_same_depth_gives_the_same_games() {
    let game = battlesnake(2);
    let names = ["minimax{depth=2}", "maxn{depth=2}"];
    assert_eq!(play(&game, &names, 3), play(&game, &names, 3));
}

#[test]
fn every_game_in_the_box_can_be_searched() {
    struct Play;
    impl GameVisitor for Play {
        type Output = usize;

        fn visit<G: Game>(self, game: G) -> usize {
            let names = ["minimax{depth=2}", "maxn{depth=1}", "random"];
            let mut players: Vec<_> = names.iter().map(|name| player(name, &game)).collect();
            let mut table = Table::new(game.clone(), 12);
            for seed in 0..3 {
                let seats: Vec<usize> =
                    (0..game.players()).map(|seat| (seat + seed as usize) % names.len()).collect();
                table.seat(seed, &seats).unwrap();
            }
            table.finish(&mut players).unwrap().len()
        }
    }
    for info in GAMES {
        let config = GameConfig::by_name(info.name).unwrap();
        assert_eq!(config.visit(Play).unwrap(), 3, "{}", info.name);
    }
}
