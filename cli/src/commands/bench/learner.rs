//! `ouro bench learner`: optimiser steps per second on a chosen device.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use ouro_bench::{NetworkCase, training_cases};
use ouro_game::Rng;
use ouro_learner::config::{AlphaZeroConfig, DeviceChoice, TrainConfig};
use ouro_learner::device::TrainDevice;
use ouro_learner::parity::random_positions;
use ouro_learner::{AlphaZero, Positions, TrainError, Trainer};
use ouro_net::{Weights, WeightsMeta};
use ouro_proto::DeviceKind;
use ouro_settings::check_batch;
use serde::Serialize;

use super::machine::Machine;
use super::timing::Spread;
use crate::commands::numbers::whole;
use crate::commands::seconds::positive;
use crate::failure::Failure;
use crate::output::Output;

/// Minimum steps of a run. As the warm-up, they let buffers grow and kernels compile.
const WARM_UP: usize = 3;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Networks, as `ouro bench net` names them, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "small,medium")]
    network: Vec<String>,
    /// Rows per optimiser step, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "256,1024")]
    batch: Vec<u32>,
    /// Where to train: auto, vulkan, wgpu or cpu.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    /// Let an adapter that computes on the CPU count as a GPU.
    #[arg(long)]
    allow_software_adapter: bool,
    /// Let burn do everything, also on the CPU.
    #[arg(long)]
    burn_alone: bool,
    /// Seconds per run, at least; a run is whole steps.
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    seconds: f64,
    /// Runs per number.
    #[arg(long, default_value_t = 5, value_parser = whole::<u16>(1..=u16::MAX))]
    runs: u16,
}

/// One network at one batch size.
#[derive(Debug, Serialize)]
struct Measured {
    network: &'static str,
    parameters: usize,
    batch: usize,
    ms_per_step: Spread,
    /// Rows per second, at the median.
    samples_per_second: f64,
    /// Median CPU time of the training thread per step; Linux only. Other load on the machine
    /// affects this figure less than the elapsed time.
    cpu_ms_per_step: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    device: String,
    seconds: f64,
    runs: u16,
    measured: Vec<Measured>,
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let machine = Machine::here();
    if !machine.release_build {
        writeln!(io::stderr(), "warning: this is a debug build; its numbers mean little")?;
    }
    let chosen = named_cases(&arguments.network)?;
    check_batches(&arguments.batch)?;
    let device = TrainDevice::choose(arguments.device, arguments.allow_software_adapter);
    let device = device.map_err(Failure::unavailable)?;
    check_memory("--batch", &chosen, &arguments.batch, &device)?;
    let mut measured = Vec::new();
    for case in &chosen {
        for &batch in &arguments.batch {
            measured.push(measure(case, batch as usize, &device, arguments).map_err(Failure::bug)?);
        }
    }
    let device = device.name().to_owned();
    let (seconds, runs) = (arguments.seconds, arguments.runs);
    let report = Report { machine, device, seconds, runs, measured };
    output.result(&report, table(&report))?;
    Ok(ExitCode::SUCCESS)
}

/// The networks with these names.
pub(super) fn named_cases(names: &[String]) -> Result<Vec<NetworkCase>, Failure> {
    let all = training_cases();
    let find = |name: &String| {
        all.iter().find(|case| case.name == name).cloned().ok_or_else(|| {
            let known: Vec<_> = all.iter().map(|case| case.name).collect();
            let known = known.join(", ");
            Failure::usage(format_args!("network {name:?} is unknown; known are {known}"))
        })
    };
    names.iter().map(find).collect()
}

/// Refuses batch sizes that make no sense.
pub(super) fn check_batches(batches: &[u32]) -> Result<(), Failure> {
    match batches.iter().find(|batch| !(1..=1 << 20).contains(*batch)) {
        None => Ok(()),
        Some(batch) => {
            Err(Failure::usage(format_args!("--batch is {batch}; give 1 to {}", 1 << 20)))
        }
    }
}

/// Refuses batches that may need more memory than the machine has: an allocation that fails would end the
/// process. `option` names the batches.
pub(super) fn check_memory(
    option: &'static str,
    cases: &[NetworkCase],
    batches: &[u32],
    device: &TrainDevice,
) -> Result<(), Failure> {
    let on_gpu = device.kind() == DeviceKind::Gpu;
    for case in cases {
        for &rows in batches {
            check_batch(option, &case.spec, rows as usize, on_gpu)
                .map_err(|error| Failure::usage(format_args!("network {}: {error}", case.name)))?;
        }
    }
    Ok(())
}

/// Measures one network at one batch size on random positions.
fn measure(
    case: &NetworkCase,
    rows: usize,
    device: &TrainDevice,
    arguments: &Arguments,
) -> Result<Measured, TrainError> {
    let weights = Weights::initialize(case.spec.clone(), WeightsMeta::default(), 1)
        .map_err(ouro_net::WeightsError::from)?;
    let batch = random_positions(&case.spec, rows, &mut Rng::new(1, "bench learner"));
    let algorithm = AlphaZero::from(&AlphaZeroConfig::default());
    let config = TrainConfig::default();
    let mut trainer = Trainer::new(algorithm, config, &weights, None, device.clone())?;
    if arguments.burn_alone {
        trainer = trainer.by_burn_alone();
    }
    steps(&mut trainer, &batch, Duration::ZERO)?;
    let least = Duration::from_secs_f64(arguments.seconds);
    let runs = (0..arguments.runs).map(|_| steps(&mut trainer, &batch, least));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let milliseconds = |times: Vec<f64>| times.into_iter().map(|seconds| 1e3 * seconds).collect();
    let spread = |times: Vec<f64>| Spread::of(milliseconds(times));
    let cpu: Option<Vec<f64>> = runs.iter().map(|run| run.1).collect();
    let wall = spread(runs.iter().map(|run| run.0).collect()).expect("there is at least one run");
    Ok(Measured {
        network: case.name,
        parameters: case.spec.parameter_count(),
        batch: rows,
        ms_per_step: wall,
        samples_per_second: 1e3 * rows as f64 / wall.median,
        cpu_ms_per_step: cpu.and_then(spread).map(|spread| spread.median),
    })
}

/// Takes at least [`WARM_UP`] steps, for at least `least`. Returns the elapsed seconds per step and
/// this thread's CPU-seconds per step.
fn steps(
    trainer: &mut Trainer<AlphaZero>,
    batch: &Positions,
    least: Duration,
) -> Result<(f64, Option<f64>), TrainError> {
    let (start, cpu) = (Instant::now(), processor_seconds());
    let mut count = 0;
    while count < WARM_UP || start.elapsed() < least {
        trainer.step(batch)?;
        count += 1;
    }
    // A GPU runs steps asynchronously; reading the weights waits for them.
    trainer.weights(ouro_net::Generation(0))?;
    let count = count as f64;
    let used = processor_seconds().zip(cpu).map(|(end, start)| (end - start) / count);
    Ok((start.elapsed().as_secs_f64() / count, used))
}

/// CPU-seconds of this thread so far; Linux only.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds * 1e-9)
}

fn table(report: &Report) -> String {
    let mut text = format!(
        "{}\non {}\nmedian of {} runs of {} s or more\n\n{:<16}{:>12}{:>8}{:>14}{:>12}{:>20}\n",
        report.device,
        report.machine.cpu,
        report.runs,
        report.seconds,
        "network",
        "parameters",
        "batch",
        "samples/s",
        "ms/step",
        "fastest–slowest"
    );
    for row in &report.measured {
        let Spread { median, min, max } = row.ms_per_step;
        let range = format!("{min:.1}–{max:.1}");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<16}{:>12}{:>8}{:>14.0}{median:>12.1}{range:>20}",
            row.network, row.parameters, row.batch, row.samples_per_second
        );
    }
    text
}
