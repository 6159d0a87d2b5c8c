//! Compares policies and values of the engine with those of the reference in f64.
//!
//! The positions are 2,000 from 200 random Battlesnake duels. The networks are presets with random
//! weights.
//!
//! `cargo run --release -p ouro-bench --example accuracy -- PRESET...`; the default is `small`.

use std::io::{self, Write};

use ouro_bench::{accuracy, duel_positions};
use ouro_net::NetSpec;
use ouro_net::synthetic::random_weights;

/// Number of duels.
const GAMES: u64 = 200;
/// Maximum positions from each duel.
const EACH: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut presets: Vec<String> = std::env::args().skip(1).collect();
    if presets.is_empty() {
        presets.push("small".to_owned());
    }
    let (shape, planes) = duel_positions(GAMES, EACH, 1)?;
    let mut out = io::stdout().lock();
    writeln!(out, "network      positions   largest KL     mean KL   largest value error")?;
    for preset in presets {
        let spec = NetSpec { planes: shape, actions: 4, architecture: preset.parse()? };
        let found = accuracy(&random_weights(&spec, 1)?, &planes);
        writeln!(
            out,
            "{preset:<13}{:>9}{:>13.1e}{:>12.1e}{:>22.1e}",
            found.positions,
            found.largest_divergence,
            found.mean_divergence,
            found.largest_value_error
        )?;
    }
    Ok(())
}
