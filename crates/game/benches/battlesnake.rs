//! Turns per second of random Battlesnake games, set-ups and food included, and the cost of
//! observations and digests.
//!
//! `cargo bench -p ouro-game --bench battlesnake`

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use ouro_game::battlesnake::{Config, Ruleset, Small};
use ouro_game::record::GAME_RNG;
use ouro_game::{Game, Rng};

/// Turns of one sample: some hundred games in a millisecond or two, so that few samples are
/// interrupted by the scheduler.
const TURNS: u64 = 10_000;

fn main() {
    divan::main();
}

fn board(side: u8, snakes: u8, ruleset: Ruleset) -> Small {
    let config = Config { width: side, height: side, snakes, ruleset, ..Config::default() };
    Small::new(config).expect("the configuration is in range")
}

/// Boards by name: the benchmark's argument.
const BOARDS: [&str; 4] = ["standard_11x11_4", "royale_11x11_4", "duel_7x7", "solo_10x10"];

fn named(name: &str) -> Small {
    match name {
        "standard_11x11_4" => board(11, 4, Ruleset::Standard),
        "royale_11x11_4" => board(11, 4, Ruleset::Royale),
        "duel_7x7" => board(7, 2, Ruleset::Standard),
        _ => board(10, 1, Ruleset::Solo),
    }
}

/// Plays `TURNS` turns of random games, one after another, and returns the number of games.
fn play(rules: &Small, seed: u64) -> u64 {
    let (mut games, mut turns) = (0, 0);
    while turns < TURNS {
        let mut rng = Rng::indexed(seed, GAME_RNG, games);
        let mut state = rules.initial(&mut rng);
        games += 1;
        while turns < TURNS && !rules.is_decided(&state) {
            rules.random_turn(&mut state, &mut rng);
            turns += 1;
        }
    }
    games
}

#[divan::bench(args = BOARDS, sample_count = 500, sample_size = 1)]
fn turns(bencher: Bencher<'_, '_>, name: &str) {
    let rules = named(name);
    // Different games in every sample, since a branch predictor memorises repeated ones.
    let mut seed = 0;
    bencher.counter(ItemsCount::new(TURNS)).bench_local(|| {
        seed += 1;
        play(black_box(&rules), seed)
    });
}

#[divan::bench(args = BOARDS)]
fn observe(bencher: Bencher<'_, '_>, name: &str) {
    let rules = named(name);
    let mut rng = Rng::new(1, "bench");
    let mut state = rules.initial(&mut rng);
    for _ in 0..8 {
        rules.random_turn(&mut state, &mut rng);
    }
    let mut planes = vec![0.0; rules.planes().len()];
    bencher.bench_local(|| rules.observe(black_box(&state), 0, &mut planes));
}

#[divan::bench(args = BOARDS)]
fn digest(bencher: Bencher<'_, '_>, name: &str) {
    let rules = named(name);
    let state = rules.initial(&mut Rng::new(1, "bench"));
    bencher.bench_local(|| rules.digest(black_box(&state)));
}
