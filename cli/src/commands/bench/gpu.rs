//! `ouro bench gpu`: what one GPU does for the learner.
//!
//! Every finding is a line of its own, printed as soon as it is known: a driver may crash or hang
//! at any later one.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use ouro_bench::NetworkCase;
use ouro_game::Rng;
use ouro_learner::config::{AlphaZeroConfig, DeviceChoice, TrainConfig};
use ouro_learner::device::{Adapter, KernelTimes, TrainDevice};
use ouro_learner::parity::{
    ParityReport, ParitySettings, TensorComparison, compare_devices, random_positions,
};
use ouro_learner::{AlphaZero, Positions, TrainError, Trainer};
use ouro_net::{Weights, WeightsMeta};
use serde::Serialize;

use super::learner::{check_batches, check_memory, named_cases};
use super::timing::Spread;
use crate::commands::numbers::whole;
use crate::commands::seconds::positive;
use crate::failure::Failure;
use crate::output::Output;

/// Steps between the first one, which compiles kernels, and the first measured one.
const WARM_UP: u32 = 2;
/// Most steps of a run, so that short steps do not take long.
const MOST_STEPS: u32 = 200;
/// Runs per number; one if a step takes longer than all of them should.
const RUNS: u32 = 3;
/// Steps whose kernels are timed.
const TIMED_STEPS: u32 = 3;
/// Kernels that a result names.
const SLOWEST: usize = 6;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Networks, as `ouro bench learner` names them, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "small,medium,tower_128x10")]
    network: Vec<String>,
    /// Rows per optimiser step, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "256,1024,4096")]
    batch: Vec<u32>,
    /// Where to train: auto, vulkan, wgpu or cpu.
    #[arg(long, default_value = "vulkan")]
    device: DeviceChoice,
    /// Let an adapter that computes on the CPU count as a GPU.
    #[arg(long)]
    allow_software_adapter: bool,
    /// Rows of the batches on which CPU and GPU are compared.
    #[arg(long, default_value_t = 64, value_parser = whole::<u32>(1..=4_096))]
    parity_rows: u32,
    /// Optimiser steps that CPU and GPU take on their own before they are compared.
    #[arg(long, default_value_t = 5, value_parser = whole::<u32>(0..=u32::MAX))]
    parity_steps: u32,
    /// Let burn do everything, without passes of our own.
    #[arg(long)]
    burn_alone: bool,
    /// Seconds per network and batch size, about.
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    seconds: f64,
}

/// A line of the output.
#[derive(Debug, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
enum Finding<'a> {
    Device(Opened<'a>),
    Parity(Parity),
    Steps(Steps),
}

/// The device and what the program was built with.
#[derive(Debug, Serialize)]
struct Opened<'a> {
    name: &'a str,
    adapter: Option<&'a Adapter>,
    /// Cargo features that change the GPU's kernels.
    features: Vec<&'static str>,
    release_build: bool,
}

/// Differences between CPU and GPU. "Relative" means relative to the largest element.
#[derive(Debug, Serialize)]
struct Parity {
    network: &'static str,
    rows: u32,
    /// Whether every difference is within the tolerance of `ouro-learner parity`.
    agrees: bool,
    outputs: Difference,
    loss: f64,
    loss_relative: f64,
    gradients: Difference,
    /// The parameter whose gradient differs most.
    worst_gradient: String,
    /// The same difference between two implementations on the CPU.
    cpu_gradients_relative: f64,
    /// Steps that each device took on its own.
    steps: u32,
    /// Cosine between the two changes of the weights.
    steps_cosine: f64,
    steps_loss_relative: f64,
    seconds: f64,
}

/// The largest differences of several tensors.
#[derive(Debug, Serialize)]
struct Difference {
    absolute: f64,
    relative: f64,
}

/// Optimiser steps on one network with one batch size.
#[derive(Debug, Serialize)]
struct Steps {
    network: &'static str,
    parameters: usize,
    batch: u32,
    /// The first step compiles kernels and may try several of each.
    first_step_seconds: f64,
    /// Until the device has done the step.
    ms_per_step: Spread,
    samples_per_second: f64,
    /// Until the last step of a run is handed to the device; the rest of a step is waiting.
    enqueue_ms_per_step: f64,
    /// Launches per step.
    kernels: f64,
    /// Launches that the device's clock has timed, as a share.
    timed_kernels: f64,
    /// Sum of the times of all kernels of a step, by the device's clock.
    busy_ms_per_step: Option<f64>,
    /// Share of a step in which no kernel runs: `1 - busy_ms_per_step / ms_per_step`.
    between_kernels: Option<f64>,
    /// The kernels that take most of a step, the longest first.
    slowest: Vec<Slowest>,
}

/// All launches of one kernel in a step.
#[derive(Debug, Serialize)]
struct Slowest {
    /// The last part of the kernel's name, without parameters.
    kernel: String,
    /// Launches per step.
    launches: f64,
    busy_ms_per_step: f64,
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let cases = named_cases(&arguments.network)?;
    check_batches(&arguments.batch)?;
    let device = TrainDevice::choose(arguments.device, arguments.allow_software_adapter);
    let device = device.map_err(Failure::unavailable)?;
    check_memory("--batch", &cases, &arguments.batch, &device)?;
    // The CPU computes these as well.
    check_memory("--parity-rows", &cases, &[arguments.parity_rows], &TrainDevice::cpu())?;
    let features = [
        ("spirv", cfg!(feature = "spirv")),
        ("fusion", cfg!(feature = "fusion")),
        ("autotune", cfg!(feature = "autotune")),
    ];
    let opened = Opened {
        name: device.name(),
        adapter: device.adapter(),
        features: features.into_iter().filter(|one| one.1).map(|one| one.0).collect(),
        release_build: !cfg!(debug_assertions),
    };
    report(output, &Finding::Device(opened))?;
    for case in &cases {
        let parity = parity(case, arguments, &device)?;
        report(output, &Finding::Parity(parity))?;
        for &batch in &arguments.batch {
            let steps = measure(case, batch, &device, arguments).map_err(Failure::bug)?;
            report(output, &Finding::Steps(steps))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn report(output: &mut Output, finding: &Finding<'_>) -> Result<(), Failure> {
    output.result(finding, finding.text())?;
    output.flush()
}

impl Finding<'_> {
    fn text(&self) -> String {
        match self {
            Self::Device(opened) => {
                let driver = opened.adapter.map_or_else(String::new, |adapter| {
                    format!(", driver {} {}", adapter.driver, adapter.driver_version)
                });
                format!("{}{driver}\n", opened.name)
            }
            Self::Parity(parity) => format!(
                "{}: CPU and GPU {}, outputs within {:.1e}, loss {:.1e}, gradients {:.1e}\n",
                parity.network,
                if parity.agrees { "agree" } else { "DISAGREE" },
                parity.outputs.relative,
                parity.loss_relative,
                parity.gradients.relative
            ),
            Self::Steps(steps) => {
                let between = steps.between_kernels.map_or_else(String::new, |share| {
                    format!(", {:.0} % of it between kernels", 100.0 * share)
                });
                let mut text = format!(
                    "{} {}: {:.0} samples/s, {:.2} ms/step{between}\n",
                    steps.network, steps.batch, steps.samples_per_second, steps.ms_per_step.median
                );
                for Slowest { kernel, launches, busy_ms_per_step } in &steps.slowest {
                    text += &format!(
                        "  {busy_ms_per_step:9.3} ms in {launches:5.0} launches of {kernel}\n"
                    );
                }
                text
            }
        }
    }
}

fn parity(
    case: &NetworkCase,
    arguments: &Arguments,
    device: &TrainDevice,
) -> Result<Parity, Failure> {
    let started = Instant::now();
    let rows = arguments.parity_rows;
    let report = compare_devices(
        &AlphaZero::from(&AlphaZeroConfig::default()),
        &case.spec,
        &TrainConfig::default(),
        |rng| random_positions(&case.spec, rows as usize, rng),
        ParitySettings { rounds: 1, steps: arguments.parity_steps, seed: 1 },
        device,
    )
    .map_err(Failure::bug)?;
    let agrees = report.agrees();
    let ParityReport { loss, loss_difference, outputs, gradients, cpu_difference, run, .. } =
        report;
    let worst = gradients.iter().max_by(|a, b| a.relative().total_cmp(&b.relative()));
    let largest = |tensors: &[TensorComparison]| Difference {
        absolute: worst_of(tensors.iter().map(|one| one.difference)),
        relative: worst_of(tensors.iter().map(TensorComparison::relative)),
    };
    Ok(Parity {
        network: case.name,
        rows,
        agrees,
        outputs: largest(&outputs),
        loss,
        loss_relative: loss_difference,
        worst_gradient: worst.map_or_else(String::new, |one| one.name.clone()),
        gradients: largest(&gradients),
        cpu_gradients_relative: cpu_difference,
        steps: run.steps,
        steps_cosine: run.cosine,
        steps_loss_relative: run.loss_difference,
        seconds: started.elapsed().as_secs_f64(),
    })
}

/// The largest number, or NaN if there is one. JSON has null for NaN.
fn worst_of(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |worst, one| if one.is_nan() || one > worst { one } else { worst })
}

/// Measures one network at one batch size on random positions.
fn measure(
    case: &NetworkCase,
    rows: u32,
    device: &TrainDevice,
    arguments: &Arguments,
) -> Result<Steps, TrainError> {
    let seconds = arguments.seconds;
    let weights = Weights::initialize(case.spec.clone(), WeightsMeta::default(), 1)
        .map_err(ouro_net::WeightsError::from)?;
    let batch = random_positions(&case.spec, rows as usize, &mut Rng::new(1, "bench learner"));
    let algorithm = AlphaZero::from(&AlphaZeroConfig::default());
    let mut trainer =
        Trainer::new(algorithm, TrainConfig::default(), &weights, None, device.clone())?;
    if arguments.burn_alone {
        trainer = trainer.by_burn_alone();
    }
    let first = steps(&mut trainer, &batch, 1)?;
    let warm = steps(&mut trainer, &batch, if first.total > seconds { 1 } else { WARM_UP })?;
    let (runs, timed_steps) = if warm.total > seconds { (1, 1) } else { (RUNS, TIMED_STEPS) };
    let count = seconds / f64::from(runs) / warm.total;
    // A cast saturates, also for a step that takes no time.
    let count = (count as u32).clamp(1, MOST_STEPS);
    let runs = (0..runs).map(|_| steps(&mut trainer, &batch, count));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let spread = |time: fn(&StepTime) -> f64| {
        Spread::of(runs.iter().map(|run| 1e3 * time(run)).collect()).expect("there is a run")
    };
    let (total, enqueue) = (spread(|run| run.total), spread(|run| run.enqueue));
    let (done, times) = device.time_kernels(|| steps(&mut trainer, &batch, timed_steps));
    done?;
    let KernelTimes { launches, timed, busy, by_name, .. } = times;
    let slowest = by_name.iter().take(SLOWEST).map(|(name, time)| Slowest {
        kernel: short(name),
        launches: time.launches as f64 / f64::from(timed_steps),
        busy_ms_per_step: 1e3 * time.busy.as_secs_f64() / f64::from(timed_steps),
    });
    let all = launches.max(1) as f64;
    let busy = (timed > 0).then(|| 1e3 * busy.as_secs_f64() / f64::from(timed_steps));
    Ok(Steps {
        network: case.name,
        parameters: case.spec.parameter_count(),
        batch: rows,
        first_step_seconds: first.total,
        ms_per_step: total,
        samples_per_second: 1e3 * f64::from(rows) / total.median,
        enqueue_ms_per_step: enqueue.median,
        kernels: launches as f64 / f64::from(timed_steps),
        timed_kernels: timed as f64 / all,
        busy_ms_per_step: busy,
        between_kernels: busy.map(|busy| 1.0 - busy / total.median),
        slowest: slowest.collect(),
    })
}

/// `c` of a kernel's name `a::b::c`, and `c<e>` of `a::b::c<d::e<…>, …>`.
fn short(name: &str) -> String {
    let last = |path: &str| path.rsplit("::").next().unwrap_or(path).trim().to_owned();
    let mut parts = name.split(['<', ',', '>']);
    let kernel = last(parts.next().unwrap_or(name));
    match parts.next().map(last).filter(|parameter| !parameter.is_empty()) {
        Some(parameter) => format!("{kernel}<{parameter}>"),
        None => kernel,
    }
}

/// Seconds of one step.
struct StepTime {
    /// Until the device is done.
    total: f64,
    /// Until the step is handed to the device.
    enqueue: f64,
}

/// The mean of `count` steps.
fn steps(
    trainer: &mut Trainer<AlphaZero>,
    batch: &Positions,
    count: u32,
) -> Result<StepTime, TrainError> {
    let started = Instant::now();
    for _ in 0..count {
        trainer.step(batch)?;
    }
    let enqueue = started.elapsed();
    trainer.device().wait()?;
    let mean = |time: Duration| time.as_secs_f64() / f64::from(count);
    Ok(StepTime { total: mean(started.elapsed()), enqueue: mean(enqueue) })
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn names_of_kernels_keep_their_first_parameter() {
        for (name, expected) in [
            ("a::b::c", "c"),
            ("a::Binop<a::b::MulOp, f32>", "Binop<MulOp>"),
            ("a::Reduce<a::In<f32>, u32>", "Reduce<In>"),
            ("a::Fill<>", "Fill"),
            ("", ""),
        ] {
            assert_eq!(short(name), expected);
        }
    }
}
