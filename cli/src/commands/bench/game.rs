//! `ouro bench game`: the speed of the rules in random games.
//!
//! Snakes avoid walls and bodies, as in the rollouts of Battlesnake. In the other games every legal
//! action is equally likely. A turn is one step of the game, by any number of players.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ouro_game::record::GAME_RNG;
use ouro_game::{Action, ActionMask, Game, GameConfig, GameVisitor, Rng, Turn, battlesnake};
use serde::Serialize;

use super::machine::Machine;
use super::timing::{Spread, Work, rate};
use crate::commands::numbers::whole;
use crate::commands::seconds::positive;
use crate::failure::Failure;
use crate::output::Output;

/// Turns between two readings of the clock.
const CHUNK: u64 = 20_000;

/// The measured games: name and configuration.
const CASES: [(&str, &str); 5] = [
    ("battlesnake 11x11, 4 snakes", r#"{"game":"battlesnake"}"#),
    (
        "battlesnake 10x10, solo",
        r#"{"game":"battlesnake","ruleset":"solo","width":10,"height":10,"snakes":1}"#,
    ),
    ("battlesnake 7x7, duel", r#"{"game":"battlesnake","width":7,"height":7,"snakes":2}"#),
    ("tic_tac_toe", r#"{"game":"tic_tac_toe"}"#),
    ("connect_four 7x6", r#"{"game":"connect_four"}"#),
];

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Seconds per run.
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    seconds: f64,
    /// Runs per number.
    #[arg(long, default_value_t = 5, value_parser = whole::<u16>(1..=u16::MAX))]
    runs: u16,
}

/// Turns per second of one configuration.
#[derive(Debug, Serialize)]
struct Measured {
    name: &'static str,
    config: GameConfig,
    state_bytes: usize,
    one_core: Spread,
    all_cores: Spread,
    /// Median rate on all cores divided by the median rate on one core.
    scaling: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    seconds: f64,
    runs: u16,
    results: Vec<Measured>,
}

/// Builds the work of one chunk of random games; also returns the size of a state in bytes.
struct RandomGames;

impl GameVisitor for RandomGames {
    type Output = (Box<Work>, usize);

    fn visit<G: Game>(self, game: G) -> Self::Output {
        (Box::new(move |seed| play_at_random(&game, seed)), size_of::<G::State>())
    }
}

/// Plays whole games until [`CHUNK`] turns are done.
fn play_at_random<G: Game>(game: &G, seed: u64) -> u64 {
    let mut mask = ActionMask::default();
    let mut joint = vec![Action::default(); game.players()];
    let (mut turns, mut index) = (0, 0);
    while turns < CHUNK {
        let mut rng = Rng::indexed(seed, GAME_RNG, index);
        index += 1;
        let mut state = game.initial(&mut rng);
        game.settle(&mut state, &mut rng);
        while let Turn::Move(movers) = game.turn(&state) {
            for player in movers.iter() {
                game.legal(&state, player, &mut mask);
                let choice = rng.below(u32::try_from(mask.count()).unwrap_or(0)) as usize;
                joint[player] = mask.nth(choice).unwrap_or_default();
            }
            if game.advance(&mut state, &joint, &mut rng).is_err() {
                break;
            }
            turns += 1;
        }
    }
    turns
}

/// Plays Battlesnake games until [`CHUNK`] turns are done; snakes avoid walls and bodies.
fn play_battlesnake(game: &battlesnake::Small, seed: u64) -> u64 {
    let (mut turns, mut index) = (0, 0);
    while turns < CHUNK {
        let mut rng = Rng::indexed(seed, GAME_RNG, index);
        index += 1;
        let mut state = game.initial(&mut rng);
        while turns < CHUNK && !game.is_decided(&state) {
            game.random_turn(&mut state, &mut rng);
            turns += 1;
        }
    }
    turns
}

/// Returns the work of one chunk for a configuration, and the size of a state in bytes.
fn prepare(config: &GameConfig) -> Result<(Box<Work>, usize), anyhow::Error> {
    if let GameConfig::Battlesnake(config) = config {
        let game = battlesnake::Small::new(config.clone())?;
        let bytes = size_of::<<battlesnake::Small as Game>::State>();
        return Ok((Box::new(move |seed| play_battlesnake(&game, seed)), bytes));
    }
    Ok(config.visit(RandomGames)?)
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let machine = Machine::here();
    if !machine.release_build {
        writeln!(io::stderr(), "warning: this is a debug build; its numbers mean little")?;
    }
    let time = Duration::from_secs_f64(arguments.seconds);
    let mut results = Vec::new();
    for (name, json) in CASES {
        let config: GameConfig = serde_json::from_str(json).map_err(anyhow::Error::from)?;
        let (work, state_bytes) = prepare(&config)?;
        let spread = |threads| {
            // A shorter run to warm up; its rate is dropped.
            rate(&*work, threads, time / 10);
            let rates = (0..arguments.runs).map(|_| rate(&*work, threads, time)).collect();
            Spread::of(rates).ok_or_else(|| anyhow::anyhow!("there is at least one run"))
        };
        let (one_core, all_cores) = (spread(1)?, spread(machine.cores)?);
        let scaling = all_cores.median / one_core.median;
        results.push(Measured { name, config, state_bytes, one_core, all_cores, scaling });
    }
    let report = Report { machine, seconds: arguments.seconds, runs: arguments.runs, results };
    output.result(&report, table(&report))?;
    Ok(ExitCode::SUCCESS)
}

fn table(report: &Report) -> String {
    let Machine { cpu, cores, .. } = &report.machine;
    let mut text = format!(
        "{cpu}, {cores} cores; {} runs of {} s each, million turns/s: median (min-max)\n\n",
        report.runs, report.seconds
    );
    text += &format!(
        "{:<30}{:>8}  {:<24}{:<24}{:>7}\n",
        "random games", "state", "one core", "all cores", "scaling"
    );
    for result in &report.results {
        let spread = |Spread { median, min, max }: Spread| {
            format!("{:.3} ({:.3}-{:.3})", median / 1e6, min / 1e6, max / 1e6)
        };
        text += &format!(
            "{:<30}{:>6} B  {:<24}{:<24}{:>7.2}\n",
            result.name,
            result.state_bytes,
            spread(result.one_core),
            spread(result.all_cores),
            result.scaling
        );
    }
    text
}
