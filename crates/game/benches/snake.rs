//! Steps per second of random games of Snake through the [`Game`] trait, apples included, and the
//! cost of observations, symmetries and digests.
//!
//! `cargo bench -p ouro-game --bench snake`

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use ouro_game::snake::{Config, Large, Small, Snake, State};
use ouro_game::{Action, Game, Rng, Symmetry, Turn};

/// Steps of one sample.
const STEPS: u64 = 10_000;

fn main() {
    divan::main();
}

/// Random play among the legal moves until `STEPS` steps are made.
fn play<const W: usize>(game: &Snake<W>, rng: &mut Rng) -> State<W> {
    let mut state = game.initial(rng);
    game.settle(&mut state, rng);
    for _ in 0..STEPS {
        if game.turn(&state) == Turn::Over {
            state = game.initial(rng);
            game.settle(&mut state, rng);
        }
        let moves = game.free_moves(&state);
        let mut drawn = rng.below(moves.count_ones());
        let mut rest = moves;
        while drawn > 0 {
            rest &= rest - 1;
            drawn -= 1;
        }
        let action = Action(rest.trailing_zeros());
        game.advance(&mut state, &[action], rng).expect("a free move is legal");
    }
    state
}

fn small() -> Small {
    Small::new(Config::default()).expect("the default is in range")
}

#[divan::bench(sample_count = 500, sample_size = 1)]
fn steps_10x10(bencher: Bencher<'_, '_>) {
    let (game, mut rng) = (small(), Rng::new(1, "bench"));
    bencher.counter(ItemsCount::new(STEPS)).bench_local(|| play(black_box(&game), &mut rng));
}

#[divan::bench(sample_count = 500, sample_size = 1)]
fn steps_20x20(bencher: Bencher<'_, '_>) {
    let config = Config { size: 20, ..Config::default() };
    let (game, mut rng) = (Large::new(config).expect("in range"), Rng::new(1, "bench"));
    bencher.counter(ItemsCount::new(STEPS)).bench_local(|| play(black_box(&game), &mut rng));
}

#[divan::bench]
fn observe_10x10(bencher: Bencher<'_, '_>) {
    let game = small();
    let state = play(&game, &mut Rng::new(1, "bench"));
    let mut planes = vec![0.0; game.planes().len()];
    bencher.bench_local(|| game.observe(black_box(&state), 0, &mut planes));
}

#[divan::bench]
fn transform_10x10(bencher: Bencher<'_, '_>) {
    let game = small();
    let state = play(&game, &mut Rng::new(1, "bench"));
    bencher.bench_local(|| game.transform(black_box(&state), Symmetry::Rotate90));
}

#[divan::bench]
fn digest_10x10(bencher: Bencher<'_, '_>) {
    let game = small();
    let state = play(&game, &mut Rng::new(1, "bench"));
    bencher.bench_local(|| game.digest(black_box(&state)));
}
