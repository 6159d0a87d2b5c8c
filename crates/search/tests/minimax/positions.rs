//! Battlesnake positions from the middle of random games.

use ouro_game::battlesnake::{Config, Ruleset, Small, State};
use ouro_game::{Game, Rng, Turn};

pub(crate) type SmallState = State<u8, 2, 8>;

/// Rules of a board with this side.
pub(crate) fn board(side: u8, snakes: u8, ruleset: Ruleset) -> Small {
    let config = Config { width: side, height: side, snakes, ruleset, ..Config::default() };
    Small::new(config).unwrap()
}

/// `count` positions in which all snakes live, each from another game.
pub(crate) fn positions(game: &Small, count: usize, seed: u64) -> Vec<SmallState> {
    let mut found = Vec::with_capacity(count);
    let mut index = 0;
    while found.len() < count {
        let mut rng = Rng::indexed(seed, "position", index);
        index += 1;
        let mut state = game.initial(&mut rng);
        for _ in 0..rng.below(60) {
            let before = state;
            game.random_turn(&mut state, &mut rng);
            // The last position before a snake died.
            let alive = game.alive(&state).len() == game.players();
            if !alive || !matches!(game.turn(&state), Turn::Move(_)) {
                state = before;
                break;
            }
        }
        found.push(state);
    }
    found
}
