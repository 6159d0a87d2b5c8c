//! Battlesnake positions from the middle of random games.

use ouro_game::battlesnake::{Config, Ruleset, Small, State};
use ouro_game::{Game, Rng, Turn};
use ouro_search::{AreaControl, Limits, MinimaxResult, Paranoid, Query, Searcher};

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

/// Searches `count` positions to `turns` with two searchers, each position for another seat.
pub(crate) fn compare(
    game: &Small,
    mut searchers: [Paranoid<Small>; 2],
    count: usize,
    turns: u32,
) -> Vec<[MinimaxResult; 2]> {
    let positions = positions(game, count, 4);
    let seats = positions.iter().zip((0..game.players()).cycle());
    let pairs = seats.map(|(state, player)| {
        let query = Query { game, state, player, limits: Limits::turns(turns) };
        let [first, second] = &mut searchers;
        [first, second].map(|searcher| searcher.search(query, &mut AreaControl::default()).unwrap())
    });
    pairs.collect()
}
