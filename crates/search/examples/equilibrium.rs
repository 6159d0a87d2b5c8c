//! Distance of policies at simultaneous moves from an equilibrium, by simulations.
//!
//! `cargo run --release -p ouro-search --example equilibrium`
//!
//! The distance is the sum of what both players could gain by their best replies
//! (exploitability, NashConv), the mean of several seeds. Regret matching approaches 0 as one
//! over the square root of the simulations; decoupled PUCT need not.
#![expect(clippy::print_stdout, reason = "an example prints its results")]

#[path = "../tests/mcts/matrix.rs"]
mod matrix;

use matrix::{Matrix, exploitability, matrices};
use ouro_game::{Game, Rng};
use ouro_search::mcts::{SearchConfigError, Simultaneous};
use ouro_search::{Scheduler, Search, SearchConfig, Uniform};

const SEEDS: u64 = 10;
const SIMULATIONS: [u32; 6] = [10, 100, 1_000, 10_000, 100_000, 1_000_000];

fn distance(
    game: &Matrix,
    simultaneous: Simultaneous,
    simulations: u32,
) -> Result<f32, SearchConfigError> {
    let state = game.initial(&mut Rng::new(0, "game"));
    let config =
        SearchConfig { simulations, simultaneous, solver: false, ..SearchConfig::default() };
    let mut sum = 0.0;
    for seed in 0..SEEDS {
        let mut search = Search::new(config.clone(), game)?;
        search.start(game, &state, Rng::new(seed, "search"));
        Scheduler::new(1).run(game, std::slice::from_mut(&mut search), &mut Uniform);
        let seats = search.decide(game).seats;
        sum += exploitability(game.config(), &seats[0].policy, &seats[1].policy);
    }
    Ok(sum / SEEDS as f32)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rules = [
        ("decoupled PUCT", Simultaneous::Decoupled),
        ("regret matching", Simultaneous::RegretMatching { exploration: 0.5 }),
    ];
    print!("{:<38}", "simulations");
    SIMULATIONS.iter().for_each(|count| print!("{count:>10}"));
    println!();
    for (name, payoffs) in matrices() {
        let game = Matrix::new(payoffs)?;
        for (rule, simultaneous) in rules {
            print!("{:<38}", format!("{name}, {rule}"));
            for count in SIMULATIONS {
                print!("{:>10.4}", distance(&game, simultaneous, count)?);
            }
            println!();
        }
    }
    Ok(())
}
