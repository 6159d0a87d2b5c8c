//! `ouro bench search`: the speed of tree search in self-play on one core.
//!
//! With an evaluator that costs nothing, the figure is the cost of the search itself. With a
//! network, the report gives the share of time outside the engine and the fill of the batches.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ouro_bench::search::{BenchGame, EvaluatorKind, SearchCase, search_cases};
use ouro_net::Architecture;
use ouro_players::Clock;
use serde::Serialize;

use super::machine::Machine;
use super::timing::Spread;
use crate::clock::WallClock;
use crate::commands::numbers::whole;
use crate::commands::seconds::positive;
use crate::failure::Failure;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Seconds per run.
    #[arg(long, default_value_t = 2.0, value_parser = positive)]
    seconds: f64,
    /// Runs per figure.
    #[arg(long, default_value_t = 3, value_parser = whole::<u16>(1..=u16::MAX))]
    runs: u16,
    /// The network: `tiny`, `small`, `medium` or `snake_paper`.
    #[arg(long, default_value = "small")]
    net: String,
}

/// The figures of one search configuration on one game.
#[derive(Debug, Serialize)]
struct Measured {
    game: &'static str,
    evaluator: String,
    trees: usize,
    simulations_per_decision: u32,
    simulations_per_second: Spread,
    /// Median share of the time outside the evaluator, 0 to 1.
    overhead: f64,
    /// Median over the runs of the mean fill of a batch, 0 to 1.
    batch_fill: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    seconds: f64,
    runs: u16,
    results: Vec<Measured>,
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let architecture: Architecture = arguments.net.parse().map_err(Failure::usage)?;
    let machine = Machine::here();
    if !machine.release_build {
        writeln!(io::stderr(), "warning: this is a debug build; its numbers mean little")?;
    }
    let clock: Arc<dyn Clock> = Arc::new(WallClock::default());
    let results = search_cases(&architecture)
        .iter()
        .map(|case| measure(case, arguments, &clock))
        .collect::<Result<_, _>>()?;
    let report = Report { machine, seconds: arguments.seconds, runs: arguments.runs, results };
    output.result(&report, table(&report))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs one case as often as requested.
fn measure(
    case: &SearchCase,
    arguments: &Arguments,
    clock: &Arc<dyn Clock>,
) -> Result<Measured, Failure> {
    let time = Duration::from_secs_f64(arguments.seconds);
    let speeds = (0..arguments.runs)
        .map(|_| case.run(time, clock).map_err(Failure::usage))
        .collect::<Result<Vec<_>, _>>()?;
    let spread = |of: &dyn Fn(&ouro_bench::self_play::SearchSpeed) -> f64| {
        Spread::of(speeds.iter().map(of).collect())
            .ok_or_else(|| Failure::bug("there is at least one run"))
    };
    Ok(Measured {
        game: match case.game {
            BenchGame::ConnectFour => "connect_four 7x6",
            BenchGame::Duel => "battlesnake 11x11, duel",
            BenchGame::FourSnakes => "battlesnake 11x11, 4 snakes",
            BenchGame::Snake => "snake 10x10",
        },
        evaluator: match case.evaluator {
            EvaluatorKind::Free => "uniform".to_owned(),
            EvaluatorKind::Rollout => "rollout".to_owned(),
            EvaluatorKind::Net(_) => arguments.net.clone(),
        },
        trees: case.games,
        simulations_per_decision: case.simulations,
        simulations_per_second: spread(&|speed| speed.simulations_per_second())?,
        overhead: spread(&|speed| speed.overhead())?.median,
        batch_fill: spread(&|speed| speed.fill())?.median,
    })
}

fn table(report: &Report) -> String {
    let mut text = format!(
        "{}, one core; {} runs of {} s each: median (min-max)\n\n\
         {:<29}{:<12}{:>5}{:>12}   {:<34}{:>9}{:>12}\n",
        report.machine.cpu,
        report.runs,
        report.seconds,
        "game",
        "evaluator",
        "trees",
        "simulations",
        "thousand simulations/s",
        "overhead",
        "batch fill"
    );
    for row in &report.results {
        let Spread { median, min, max } = row.simulations_per_second;
        let rate = format!("{:.1} ({:.1}-{:.1})", median / 1e3, min / 1e3, max / 1e3);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<29}{:<12}{:>5}{:>12}   {rate:<34}{:>7.1} %{:>10.1} %",
            row.game,
            row.evaluator,
            row.trees,
            row.simulations_per_decision,
            100.0 * row.overhead,
            100.0 * row.batch_fill
        );
    }
    text
}
