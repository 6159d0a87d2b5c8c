//! Maze Dash: the generator, clones, whole random games, observations and digests, by side of the
//! board at 31 % obstacles.
//!
//! `cargo bench -p ouro-game --bench maze_dash`

use divan::{Bencher, black_box};
use ouro_game::maze_dash::{Config, MazeDash, State, generate};
use ouro_game::{Game, Rng, RolloutBuffer, Symmetry};

/// Sides of the boards.
const SIDES: [u16; 4] = [10, 50, 100, 200];

fn main() {
    divan::main();
}

fn obstacles(side: u16) -> u32 {
    u32::from(side) * u32::from(side) * 31 / 100
}

/// Rules with a fixed board, and their first state.
fn set_up(side: u16) -> (MazeDash, State) {
    let (side, obstacles) = (usize::from(side), obstacles(side) as usize);
    let (board, _) = generate(side, side, obstacles, 1).expect("a board exists");
    let config = Config { board: Some(board.to_line()), ..Config::default() };
    let game = MazeDash::new(config).expect("the board is in range");
    let state = game.initial(&mut Rng::new(1, "bench"));
    (game, state)
}

#[divan::bench(args = SIDES, sample_count = 5, sample_size = 1)]
fn boards(bencher: Bencher<'_, '_>, side: u16) {
    let (obstacles, mut seed) = (obstacles(side) as usize, 0);
    bencher.bench_local(|| {
        seed += 1;
        generate(side.into(), side.into(), black_box(obstacles), seed)
    });
}

#[divan::bench(args = SIDES)]
fn clones(bencher: Bencher<'_, '_>, side: u16) {
    let (_, state) = set_up(side);
    bencher.bench_local(|| black_box(&state).clone());
}

#[divan::bench(args = SIDES)]
fn random_games(bencher: Bencher<'_, '_>, side: u16) {
    let (game, state) = set_up(side);
    let (mut rng, mut buffer) = (Rng::new(1, "bench"), RolloutBuffer::new());
    bencher.bench_local(|| {
        let mut state = state.clone();
        game.rollout(&mut state, u32::MAX, &mut buffer, &mut rng);
        state
    });
}

#[divan::bench(args = SIDES)]
fn observations(bencher: Bencher<'_, '_>, side: u16) {
    let (game, state) = set_up(side);
    let mut planes = vec![0.0; game.planes().len()];
    bencher.bench_local(|| game.observe(black_box(&state), 0, &mut planes));
}

#[divan::bench(args = SIDES)]
fn digests(bencher: Bencher<'_, '_>, side: u16) {
    let (game, state) = set_up(side);
    bencher.bench_local(|| game.digest(black_box(&state)));
}

#[divan::bench(args = SIDES)]
fn transforms(bencher: Bencher<'_, '_>, side: u16) {
    let (game, state) = set_up(side);
    bencher.bench_local(|| game.transform(black_box(&state), Symmetry::Rotate90));
}
