//! `ouro-learner`: the learner as a process of its own.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ouro_game::Rng;
use ouro_learner::alphazero::AlphaZero;
use ouro_learner::config::AlgorithmConfig;
use ouro_learner::device::TrainDevice;
use ouro_learner::parity::ParitySettings;
use ouro_learner::reinforce::Reinforce;
use ouro_learner::{Config, Learner, LearnerError, parity};
use ouro_service::process::{self, EXIT_CODES_HELP};
use ouro_service::telemetry::LogFormat;
use ouro_service::{ExitStatus, Failure, Shutdown};

/// Receives games, trains a network on them and publishes its weights.
#[derive(Parser)]
#[command(version, about, after_help = EXIT_CODES_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve and train until a signal; resumes from the newest training state.
    Run {
        /// Configuration file (TOML); without one, the defaults.
        #[arg(long, env = "OURO_LEARNER_CONFIG")]
        config: Option<PathBuf>,
        /// Let an adapter that computes on the CPU count as a GPU.
        #[arg(long)]
        allow_software_adapter: bool,
    },
    /// Check a configuration file and print it with its defaults.
    Check {
        /// Configuration file (TOML); without one, the defaults.
        #[arg(long, env = "OURO_LEARNER_CONFIG")]
        config: Option<PathBuf>,
    },
    /// Compare losses and gradients of the GPU (or a software adapter) with the CPU.
    Parity {
        /// Configuration file (TOML) whose game and network are compared.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Moves per batch.
        #[arg(long, default_value_t = 64)]
        rows: usize,
        /// Batches whose gradients are compared.
        #[arg(long, default_value_t = 3)]
        rounds: u32,
        /// Optimiser steps that each device takes on its own.
        #[arg(long, default_value_t = 50)]
        steps: u32,
    },
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version arrive as errors, too. There is no other place to report a failed
            // print.
            let _ = error.print();
            let clean = error.exit_code() == 0;
            return if clean { ExitStatus::Clean } else { ExitStatus::BadConfiguration }.into();
        }
    };
    process::run(LogFormat::Auto, |shutdown| work(arguments.command, shutdown))
}

async fn work(command: Command, shutdown: Shutdown) -> Result<(), Failure> {
    match command {
        Command::Run { config, allow_software_adapter } => {
            let mut config = read(config.as_deref())?;
            config.allow_software_adapter |= allow_software_adapter;
            let learner = Learner::bind(config).await.map_err(failure)?;
            learner.run_until(shutdown.token().clone()).await.map_err(failure)
        }
        Command::Check { config } => check(&read(config.as_deref())?),
        Command::Parity { config, rows, rounds, steps } => {
            let config = read(config.as_deref())?;
            blocking(move || compare(&config, rows, rounds, steps)).await
        }
    }
}

async fn blocking(
    work: impl FnOnce() -> Result<(), Failure> + Send + 'static,
) -> Result<(), Failure> {
    tokio::task::spawn_blocking(work).await.map_err(bug)?
}

fn read(path: Option<&Path>) -> Result<Config, Failure> {
    let bad = |error: Box<dyn std::error::Error + Send + Sync>| {
        Failure::new(ExitStatus::BadConfiguration, error)
    };
    let config: Config = match path {
        Some(path) => ouro_service::config::load(path).map_err(|error| bad(error.into()))?,
        None => Config::default(),
    };
    config.validate().map_err(|error| bad(error.into()))?;
    Ok(config)
}

fn bug(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    Failure::new(ExitStatus::Bug, error)
}

fn failure(error: LearnerError) -> Failure {
    Failure::new(error.exit_status(), error)
}

#[expect(clippy::print_stdout, reason = "the output of the command")]
fn check(config: &Config) -> Result<(), Failure> {
    print!("{}", toml::to_string(config).map_err(bug)?);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the output of the command")]
fn compare(config: &Config, rows: usize, rounds: u32, steps: u32) -> Result<(), Failure> {
    let spec = config.net_spec().map_err(bug)?;
    let device =
        TrainDevice::any_wgpu().map_err(|error| Failure::new(ExitStatus::Unavailable, error))?;
    let settings = ParitySettings { rounds, steps, seed: config.seed };
    let train = &config.train;
    let report = match &train.algorithm {
        AlgorithmConfig::AlphaZero(algorithm) => {
            let batch = |rng: &mut Rng| parity::random_positions(&spec, rows, rng);
            parity::compare_devices(
                &AlphaZero::from(algorithm),
                &spec,
                train,
                batch,
                settings,
                &device,
            )
        }
        AlgorithmConfig::Reinforce(algorithm) => {
            let batch = |rng: &mut Rng| parity::random_segments(&spec, rows, rng);
            parity::compare_devices(
                &Reinforce::from(algorithm),
                &spec,
                train,
                batch,
                settings,
                &device,
            )
        }
    };
    let report = report.map_err(bug)?;
    println!("{report}");
    if report.agrees() { Ok(()) } else { Err(bug("the devices disagree; train on the CPU")) }
}
