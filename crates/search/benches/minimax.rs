//! Nodes per second of the minimax family on Battlesnake, and the cost of its heuristic.
//!
//! `cargo bench -p ouro-search --bench minimax`

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use ouro_game::battlesnake::{Config, Ruleset, Small, State};
use ouro_game::{Game, Rng, Turn};
use ouro_search::{AreaControl, Heuristic, Limits, MaxN, Paranoid, Plain, Query, Searcher};

fn main() {
    divan::main();
}

/// Boards by name: the benchmark's argument.
const BOARDS: [&str; 3] = ["duel_11x11", "four_11x11", "four_wrapped_11x11"];

/// The rules, and positions some turns into random games with all snakes alive.
fn named(name: &str) -> (Small, Vec<State<u8, 2, 8>>) {
    let (snakes, ruleset) = match name {
        "duel_11x11" => (2, Ruleset::Standard),
        "four_11x11" => (4, Ruleset::Standard),
        _ => (4, Ruleset::Wrapped),
    };
    let game = Small::new(Config { snakes, ruleset, ..Config::default() })
        .expect("the configuration is in range");
    let mut states = Vec::new();
    for index in 0..64 {
        let mut rng = Rng::indexed(1, "bench", index);
        let mut state = game.initial(&mut rng);
        for _ in 0..30 {
            let before = state;
            game.random_turn(&mut state, &mut rng);
            if state.living().count() < snakes.into() {
                state = before;
                break;
            }
        }
        if matches!(game.turn(&state), Turn::Move(_)) {
            states.push(state);
        }
    }
    (game, states)
}

/// Searches all positions of a board; items are nodes.
fn search(bencher: Bencher<'_, '_>, name: &str, turns: u32, mut searcher: impl Searcher<Small>) {
    let (game, states) = named(name);
    let mut all = || -> u64 {
        let nodes = |state| {
            let query = Query { game: &game, state, player: 0, limits: Limits::turns(turns) };
            searcher.search(query, &mut AreaControl::default()).map_or(0, |found| found.nodes)
        };
        states.iter().map(nodes).sum()
    };
    let nodes = all();
    bencher.counter(ItemsCount::new(nodes)).bench_local(all);
}

/// Turns that take about as long on every board.
fn turns(name: &str) -> u32 {
    if name == "duel_11x11" { 4 } else { 2 }
}

#[divan::bench(args = BOARDS)]
fn paranoid(bencher: Bencher<'_, '_>, name: &str) {
    search(bencher, name, turns(name), Paranoid::new());
}

#[divan::bench(args = BOARDS, sample_count = 20)]
fn plain(bencher: Bencher<'_, '_>, name: &str) {
    search(bencher, name, turns(name), Plain::new());
}

#[divan::bench(args = BOARDS, sample_count = 20)]
fn max_n(bencher: Bencher<'_, '_>, name: &str) {
    search(bencher, name, turns(name), MaxN::new());
}

#[divan::bench(args = BOARDS)]
fn area_control(bencher: Bencher<'_, '_>, name: &str) {
    let (game, states) = named(name);
    let (mut heuristic, mut scores) = (AreaControl::default(), vec![0.0; game.players()]);
    bencher.counter(ItemsCount::new(states.len())).bench_local(|| {
        for state in &states {
            heuristic.evaluate(&game, black_box(state), &mut scores);
            black_box(&scores);
        }
    });
}
