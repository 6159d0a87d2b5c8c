//! Computes the best moves of the first positions of Connect Four.
//!
//! `cargo run --release -p ouro-game --example connect_four_openings` takes twenty minutes of one
//! core and 256 MiB. It prints the columns played, from 0, and all best next columns, for one
//! position of each pair of mirror images.

use std::error::Error;
use std::io::Write;

use ouro_game::connect_four::{Config, ConnectFour, Solver};
use ouro_game::{Action, Game, Rng};

/// Later positions first, since they help to solve the earlier ones.
const LINES: [&[u32]; 9] = [&[3, 3], &[3, 2], &[3, 1], &[3, 0], &[3], &[2], &[1], &[0], &[]];

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    let game = ConnectFour::new(Config::default())?;
    let mut solver = Solver::with_table_bits(25);
    for line in LINES {
        let mut state = game.initial(&mut Rng::new(0, "opening"));
        for &column in line {
            game.step(&mut state, &[Action(column); 2])?;
        }
        let best: Vec<u32> = solver.best_moves(&state).iter().map(|action| action.0).collect();
        writeln!(out, "{line:?}: {best:?}, {} nodes so far", solver.nodes())?;
    }
    Ok(())
}
