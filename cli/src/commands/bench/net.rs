//! `ouro bench net`: the speed of the CPU engine on one core, for every preset and several batch
//! sizes.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use ouro_bench::{BATCHES, EngineBench, network_cases};
use ouro_net::synthetic::random_weights;
use serde::Serialize;

use super::machine::Machine;
use crate::commands::numbers::whole;
use crate::commands::seconds::positive;
use crate::failure::Failure;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Seconds per run.
    #[arg(long, default_value_t = 0.1, value_parser = positive)]
    seconds: f64,
    /// Runs per figure.
    #[arg(long, default_value_t = 7, value_parser = whole::<u16>(1..=u16::MAX))]
    runs: u16,
}

/// One network at one batch size.
#[derive(Debug, Serialize)]
struct Measured {
    batch: usize,
    /// Median over the runs.
    microseconds_per_position: f64,
}

#[derive(Debug, Serialize)]
struct Network {
    name: &'static str,
    spec: ouro_net::NetSpec,
    parameters: usize,
    batches: Vec<Measured>,
}

#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    seconds: f64,
    runs: u16,
    networks: Vec<Network>,
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let machine = Machine::here();
    if !machine.release_build {
        writeln!(io::stderr(), "warning: this is a debug build; its numbers mean little")?;
    }
    let least = Duration::from_secs_f64(arguments.seconds);
    let started = Instant::now();
    let mut now = || started.elapsed();
    let mut networks = Vec::new();
    for case in network_cases() {
        let weights = random_weights(&case.spec, 1).map_err(Failure::bug)?;
        let batches = BATCHES
            .iter()
            .map(|&batch| {
                let mut bench = EngineBench::new(&weights, batch);
                let runs = usize::from(arguments.runs);
                let microseconds_per_position = bench.microseconds(runs, least, &mut now);
                Measured { batch, microseconds_per_position }
            })
            .collect();
        let parameters = case.spec.parameter_count();
        networks.push(Network { name: case.name, spec: case.spec, parameters, batches });
    }
    let report = Report { machine, seconds: arguments.seconds, runs: arguments.runs, networks };
    output.result(&report, table(&report))?;
    Ok(ExitCode::SUCCESS)
}

fn table(report: &Report) -> String {
    let mut text = format!(
        "{}, one core; microseconds per position, median of {} runs of {} s or more\n\n",
        report.machine.cpu, report.runs, report.seconds
    );
    text += &format!("{:<16}{:>12}{:>14}", "network", "board", "parameters");
    for batch in BATCHES {
        text += &format!("{:>12}", format!("batch {batch}"));
    }
    text.push('\n');
    for network in &report.networks {
        let planes = network.spec.planes;
        let board = format!("{}x{}x{}", planes.channels, planes.height, planes.width);
        // Writing to a string cannot fail.
        let _ = write!(text, "{:<16}{board:>12}{:>14}", network.name, network.parameters);
        for measured in &network.batches {
            let _ = write!(text, "{:>12.2}", measured.microseconds_per_position);
        }
        text.push('\n');
    }
    text
}
