//! The rows of the `AlphaSnake` paper's table that need no network: mean final size on 10×10
//! with 1,200 steps, wins, and how games ended.
//!
//! `cargo run --release -p ouro-players --example snake_table`; with a number, that many games
//! of the tree search.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use ouro_game::Game;
use ouro_game::snake::{Config, Small};
use ouro_players::{BuildContext, Clock, GameBatch, by_name};

/// None of these players thinks by the clock.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let searched = std::env::args().nth(1).map_or(Ok(100), |count| count.parse())?;
    let mut out = std::io::stdout().lock();
    let game = Small::new(Config::default())?;
    writeln!(out, "player              paper   games   mean size   95 %    won  lost  mean steps")?;
    for (name, paper, games) in [
        ("random", 6.277, 20_000),
        ("hamiltonian", 30.026, 2_000),
        ("tree{states=10000}", 59.09, searched),
    ] {
        let engines = &mut |_: &str| None;
        let player =
            by_name(name, &mut BuildContext { game: &game, engines, clock: Arc::new(Still) })?;
        let mut batch = GameBatch::new(game.clone(), usize::MAX);
        for seed in 0..games {
            batch.start_game(seed, &[0])?;
        }
        let finished = batch.finish(&mut [player])?;
        let count = games as f64;
        let mean =
            |value: &dyn Fn(usize) -> f64| (0..finished.len()).map(value).sum::<f64>() / count;
        let size = |index: usize| f64::from(finished[index].scores[0]);
        let average = mean(&size);
        let variance = mean(&|index| (size(index) - average).powi(2));
        let interval = 1.96 * (variance / count).sqrt();
        let ended =
            |sign: f32| finished.iter().filter(|game| game.outcomes[0] * sign > 0.0).count();
        let steps = mean(&|index| finished[index].record.plies.len() as f64);
        writeln!(
            out,
            "{name:<18}{paper:>7.2}{games:>8}{average:>12.2}{interval:>7.2}{:>7}{:>6}{steps:>12.0}",
            ended(1.0),
            ended(-1.0),
        )?;
    }
    Ok(())
}
