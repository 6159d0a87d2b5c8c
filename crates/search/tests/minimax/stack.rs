//! The deepest search fits on the stack of a server's threads.

use ouro_game::battlesnake::{Config, Large, Point, Position, Snake};
use ouro_game::{Game, Rng};
use ouro_search::{AreaControl, Limits, MaxN, Paranoid, Plain, Query, Searcher};

/// Stack of the threads of tokio, which are those of `ouro serve`, and of Rust's standard library.
const STACK_BYTES: usize = 2 << 20;

const SNAKES: u8 = 16;

/// Sixteen snakes that fill the board. Each lies on a square of four cells and can only follow its own tail,
/// so the tree is a single line, which never ends.
///
/// Neighbouring squares are mirror images, so cells on both sides of a border are always the same part of
/// a snake. A head therefore has no other tail beside it. Every cell has a hazard that heals what a turn
/// takes.
fn squares() -> Large {
    let snake = |column: i32, row: i32| {
        let place = |(x, y): (i32, i32)| {
            Point::from((2 * column + (x ^ (column & 1)), 2 * row + (y ^ (row & 1))))
        };
        let body = [(0, 0), (0, 1), (1, 1), (1, 0)].map(place).to_vec();
        Snake { health: 90, body, death: None }
    };
    let snakes = (0..4).flat_map(|row| (0..4).map(move |column| (column, row)));
    let cells = (0..8).flat_map(|y| (0..8).map(move |x| Point { x, y }));
    let position = Position {
        width: 8,
        height: 8,
        turn: 30,
        snakes: snakes.map(|(column, row)| snake(column, row)).collect(),
        food: Vec::new(),
        hazards: cells.collect(),
        shrunk: [0; 4],
    };
    let config = Config {
        width: 8,
        height: 8,
        snakes: SNAKES,
        hazard_damage_per_turn: -1,
        start: Some(position),
        ..Config::default()
    };
    Large::new(config).unwrap()
}

/// Searches the line of [`squares`] to the greatest depth, on a thread of its own. A stack that is too small
/// ends the process, with the name of the thread.
fn check(name: &str, mut searcher: impl Searcher<Large> + 'static) {
    let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
    let searched = thread.spawn(move || {
        let game = squares();
        let state = game.initial(&mut Rng::new(1, "game"));
        for snake in 0..usize::from(SNAKES) {
            assert_eq!(game.safe_moves(&state, snake).count_ones(), 1, "snake {snake}");
        }
        // A search with a deadline would end at once, since there is one action.
        let query = Query { game: &game, state: &state, player: 0, limits: Limits::FULL };
        searcher.search(query, &mut AreaControl::default()).unwrap()
    });
    let found = searched.unwrap().join().unwrap();
    assert_eq!(found.turns, Limits::DEEPEST, "{name}");
    assert!(!found.complete && found.value.abs() < 0.99, "{name}: the game goes on");
    // One node for each snake in each turn of a pass; `Paranoid` has a pass for each depth.
    let deepest_pass = u64::from(SNAKES) * u64::from(Limits::DEEPEST);
    assert!(found.nodes >= deepest_pass, "{name}: {} nodes", found.nodes);
    assert!(found.nodes <= deepest_pass * u64::from(Limits::DEEPEST), "{name}: a single line");
}

/// The position has no chance nodes. Players of Battlesnake resolve those by assumption, so theirs do not
/// recurse either. A search with networks differs at the leaves only.
#[test]
fn the_deepest_search_among_sixteen_snakes_fits_on_two_mebibytes() {
    check("paranoid", Paranoid::new());
    check("best reply with reductions", Paranoid::best_reply().with_reductions());
    check("plain", Plain::new());
    check("maxn", MaxN::new());
}
