//! `ouro bench search`: tree search in self-play on one core.
//!
//! With an evaluator that costs nothing what is left is the search itself; with the `small`
//! network, what share of the time is not the network's, and how full its batches are.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::{Engine, NetSpec, Weights, WeightsMeta};
use ouro_players::NetEvaluator;
use ouro_search::mcts::{Objective, SearchSpeed, Temperature, Workload, measure};
use ouro_search::{Evaluator, Rollout, SearchConfig, Uniform};
use serde::Serialize;

use super::machine::Machine;
use super::positive;
use crate::clock::WallClock;
use crate::failure::Failure;
use crate::output::Output;

/// What is searched: a name and a configuration.
const GAMES: [(&str, &str); 4] = [
    ("connect_four", r#"{"game":"connect_four"}"#),
    ("battlesnake 11x11, duel", r#"{"game":"battlesnake","snakes":2}"#),
    ("battlesnake 11x11, 4 snakes", r#"{"game":"battlesnake"}"#),
    ("snake 10x10", r#"{"game":"snake"}"#),
];

/// The network of the last column.
const PRESET: &str = "small";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Seconds per run.
    #[arg(long, default_value_t = 2.0, value_parser = positive)]
    seconds: f64,
    /// Runs per number; the median is told.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
}

/// One search of one game.
#[derive(Debug, Serialize)]
struct Measured {
    game: &'static str,
    evaluator: &'static str,
    games_at_once: usize,
    simulations_per_decision: u32,
    simulations_per_second: f64,
    /// Share of the time that is not the evaluator's.
    overhead: f64,
    /// Mean share of a batch that was filled.
    batch_fill: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    seconds: f64,
    runs: u16,
    results: Vec<Measured>,
}

/// What is put into the search of one game.
#[derive(Clone, Copy)]
struct Case {
    evaluator: &'static str,
    games: usize,
    simulations: u32,
}

const FREE: Case = Case { evaluator: "uniform", games: 1, simulations: 800 };
const ROLLOUT: Case = Case { evaluator: "rollout", games: 1, simulations: 10_000 };
const MANY: Case = Case { evaluator: "uniform", games: 256, simulations: 200 };
const NET: Case = Case { evaluator: PRESET, games: 256, simulations: 200 };

struct Run<'a> {
    arguments: &'a Arguments,
    case: Case,
}

impl GameVisitor for Run<'_> {
    type Output = Result<SearchSpeed, Failure>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let objective = if game.players() == 1 { Objective::Returns } else { Objective::Outcome };
        let config = SearchConfig {
            simulations: self.case.simulations,
            temperature: Temperature::Constant { value: 1.0 },
            random_symmetry: true,
            objective,
            ..SearchConfig::default()
        };
        let mut evaluator: Box<dyn Evaluator<G>> = match self.case.evaluator {
            "uniform" => Box::new(Uniform),
            "rollout" => Box::new(Rollout::new()),
            preset => Box::new(network(&game, preset)?),
        };
        let mut speeds = Vec::new();
        for _ in 0..self.arguments.runs {
            let time = Duration::from_secs_f64(self.arguments.seconds);
            let workload = Workload {
                games: self.case.games,
                batch: self.case.games,
                time,
                warm_up: time / 4,
                keep_trees: false,
                seed: 1,
            };
            let clock = WallClock::default();
            let speed = measure(&game, &config, &mut evaluator, &workload, &clock);
            speeds.push(speed.map_err(Failure::bug)?);
        }
        speeds.sort_by(|a, b| a.simulations_per_second().total_cmp(&b.simulations_per_second()));
        Ok(speeds[speeds.len() / 2])
    }
}

fn network<G: Game>(game: &G, preset: &str) -> Result<NetEvaluator, Failure> {
    let architecture = preset.parse().map_err(Failure::bug)?;
    let spec = NetSpec { planes: game.planes(), actions: game.action_count(), architecture };
    let weights = Weights::initialize(spec, WeightsMeta::default(), 1).map_err(Failure::bug)?;
    let engine = Arc::new(Engine::new(&weights));
    NetEvaluator::new(preset, engine, game).map_err(Failure::bug)
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let machine = Machine::here();
    if !machine.release_build {
        writeln!(io::stderr(), "warning: this is a debug build; its numbers mean little")?;
    }
    let mut results = Vec::new();
    for (game, json) in GAMES {
        let config: GameConfig = serde_json::from_str(json).map_err(anyhow::Error::from)?;
        let rollout = (game == "connect_four").then_some(ROLLOUT);
        for case in [FREE].into_iter().chain(rollout).chain([MANY, NET]) {
            let speed = config.visit(Run { arguments, case }).map_err(Failure::bug)??;
            results.push(Measured {
                game,
                evaluator: case.evaluator,
                games_at_once: case.games,
                simulations_per_decision: case.simulations,
                simulations_per_second: speed.simulations_per_second(),
                overhead: speed.overhead(),
                batch_fill: speed.fill(),
            });
        }
    }
    let report = Report { machine, seconds: arguments.seconds, runs: arguments.runs, results };
    output.result(&report, table(&report))?;
    Ok(ExitCode::SUCCESS)
}

fn table(report: &Report) -> String {
    let mut text = format!(
        "{}, one core; median of {} runs of {} s\n\n{:<30}{:<12}{:>8}{:>14}{:>16}{:>10}{:>12}\n",
        report.machine.cpu,
        report.runs,
        report.seconds,
        "game",
        "evaluator",
        "trees",
        "simulations",
        "simulations/s",
        "overhead",
        "batch fill"
    );
    for row in &report.results {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<30}{:<12}{:>8}{:>14}{:>16.0}{:>8.1} %{:>10.1} %",
            row.game,
            row.evaluator,
            row.games_at_once,
            row.simulations_per_decision,
            row.simulations_per_second,
            100.0 * row.overhead,
            100.0 * row.batch_fill
        );
    }
    text
}
