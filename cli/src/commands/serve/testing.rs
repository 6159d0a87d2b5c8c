//! Requests for the tests of this folder.

use ouro_game::battlesnake::api::{GameState, Host, Identity};
use ouro_game::battlesnake::{Config, DeadBodies, Large};
use ouro_game::{Game, Rng};

/// Player of duels on 11×11, and player of four snakes there.
pub(super) const PLAYERS: [&str; 2] = [
    "minimax{weights=included:duel-minimax}",
    "minimax{best_reply,weights=included:standard-minimax,duel=included:duel-minimax}",
];

/// The first request of a game, to the first of its snakes. The last `missing` snakes are not on the
/// board. With missing snakes it is the second request, since none is dead at the first.
pub(super) fn request(config: &Config, missing: usize) -> GameState {
    let game = Large::new(config.clone()).expect("the configuration is playable");
    let state = game.initial(&mut Rng::new(1, "test"));
    let position = game.position(&state, &DeadBodies::new(game.players()));
    let identity = |seat| Identity { id: format!("snake-{seat}"), ..Identity::default() };
    let host = Host {
        game_id: "game".to_owned(),
        timeout_ms: 300,
        source: String::new(),
        version: String::new(),
        snakes: (0..game.players()).map(identity).collect(),
    };
    let mut request = host.request(config, &position, 0).expect("it has the seat");
    let left = request.board.snakes.len() - missing;
    request.board.snakes.truncate(left);
    request.turn = i64::from(missing > 0);
    request
}
