//! The strategies of SNAKGAME as players.

use ouro_game::snakgame::{Config, Large, Mode, NewSnakes, Small};
use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Action, Game, Rng, Turn};
use ouro_players::Request;

use crate::support::{player, player_with};

/// Final score of each player in one game.
fn play<G: Game>(game: &G, names: &[&str], seed: u64, follow: bool) -> Vec<f32> {
    let mut players: Vec<_> = names.iter().map(|name| player(name, game)).collect();
    let mut rng = Rng::new(seed, "test");
    let mut choosing = Rng::new(seed, "seats");
    let mut state = game.initial(&mut rng);
    game.settle(&mut state, &mut rng);
    let mut joint = vec![Action::default(); names.len()];
    while let Turn::Move(movers) = game.turn(&state) {
        for seat in movers.iter() {
            let number = follow.then_some(9);
            let request = Request { state: &state, player: seat, rng: &mut choosing, game: number };
            let mut choices = Vec::new();
            players[seat].choose(game, &mut [request], &mut choices);
            joint[seat] = choices[0].action;
        }
        game.advance(&mut state, &joint, &mut rng).unwrap();
    }
    (0..names.len()).map(|seat| game.score(&state, seat)).collect()
}

fn official(side: u16) -> Config {
    Config { mode: Mode::Official, rows: side, columns: side, ..Config::default() }
}

#[test]
fn plans_score_more_than_local_rules_against_chef() {
    let game = Small::new(official(30)).unwrap();
    let mean = |name: &str| {
        let scores = (0..12).map(|seed| f64::from(play(&game, &[name], seed, true)[0]));
        scores.sum::<f64>() / 12.0
    };
    let [plan, local, random] = [
        mean("snakgame{strategy=plan-repair}"),
        mean("snakgame{strategy=priority}"),
        mean("random"),
    ];
    assert!(plan > 2.0 * local && local > random, "{plan} {local} {random}");
}

#[test]
fn strategies_play_both_sides_of_a_duel_and_every_variant() {
    let duel = Config { rows: 20, columns: 20, ..Config::default() };
    let names = ["snakgame{strategy=fewest-free}", "snakgame{strategy=plan-repair}"];
    for new_snakes in [NewSnakes::AnyTime, NewSnakes::WhenStuck] {
        let game = Small::new(Config { new_snakes, ..duel.clone() }).unwrap();
        for seed in 0..6 {
            for names in [names, [names[1], names[0]]] {
                let scores = play(&game, &names, seed, true);
                assert!(scores.iter().all(|&score| score > 0.0), "{scores:?}");
            }
        }
    }
    // A board of the other class, and a game without a number.
    let large = Large::new(official(40)).unwrap();
    assert!(play(&large, &[names[1]], 1, true)[0] > 0.0);
    let small = Small::new(official(12)).unwrap();
    assert!(play(&small, &[names[1]], 1, false)[0] > 0.0);
}

#[test]
fn wrong_names_are_refused() {
    let (game, other) =
        (Small::new(Config::default()).unwrap(), TicTacToe::new(tic_tac_toe::Config {}).unwrap());
    let name = "snakgame{strategy=editorial}";
    assert_eq!(player(name, &game).name(), name);
    let error = player_with(name, &other, |_| None).err().unwrap().to_string();
    assert!(error.contains("it plays snakgame only"), "{error}");
    let error = player_with("snakgame", &game, |_| None).err().unwrap().to_string();
    assert!(error.contains("strategy is missing; write snakgame{strategy=NAME}"), "{error}");
    let error = player_with("snakgame{strategy=magic}", &game, |_| None).err().unwrap().to_string();
    assert!(error.contains("known are random, chef, priority"), "{error}");
}
