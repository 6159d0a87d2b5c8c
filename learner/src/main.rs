//! `ouro-learner`: the learner of a run as a separate process.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use ouro_game::Rng;
use ouro_learner::config::{AlgorithmConfig, DeviceChoice};
use ouro_learner::device::TrainDevice;
use ouro_learner::parity::ParitySettings;
use ouro_learner::{AlphaZero, Config, Learner, LearnerError, Reinforce, parity};
use ouro_net::Weights;
use ouro_proto::chunks::DEFAULT_MAX_WEIGHTS_BYTES;
use ouro_service::access::metrics::AccessSource;
use ouro_service::files::read_regular;
use ouro_service::metrics::{self, Metrics, MetricsServer};
use ouro_service::process::{self, EXIT_CODES_HELP};
use ouro_service::telemetry::LogFormat;
use ouro_service::{ExitStatus, Failure, Shutdown, healthcheck, identity};
use ouro_settings::arguments::{
    AccessArguments, AddressArguments, DeviceArguments, FileArguments, FromArguments,
    ListenArguments, LogArguments, MetricsArguments, SettingsError, TraceArguments,
};
use ouro_settings::{Process, Settings, check_batch};
use ouro_traces::Traces;

/// Receives games, trains a network on them and publishes its weights, until a signal.
///
/// A second start resumes from the newest training state.
#[derive(Parser)]
#[command(name = "ouro-learner", version, about, after_help = EXIT_CODES_HELP)]
struct Arguments {
    #[command(flatten)]
    file: FileArguments,
    #[command(flatten)]
    listen: ListenArguments,
    #[command(flatten)]
    addresses: AddressArguments,
    #[command(flatten)]
    access: AccessArguments,
    #[command(flatten)]
    device: DeviceArguments,
    #[command(flatten)]
    from: FromArguments,
    #[command(flatten)]
    metrics: MetricsArguments,
    #[command(flatten)]
    traces: TraceArguments,
    #[command(flatten)]
    log: LogArguments,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// What to do instead of training.
#[derive(Subcommand)]
enum Verb {
    /// Check that the learner with these flags and settings serves: exit code 0, else 69.
    Healthcheck,
    /// Compare losses and gradients of the GPU (or a software adapter) with the CPU. Without
    /// --config the network is a small one for duels on 7x7.
    Parity {
        /// Moves per batch, 1 to 4096.
        #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4_096))]
        rows: u32,
        /// Batches whose gradients are compared, 1 to 1000.
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        rounds: u32,
        /// Optimiser steps that each device takes on its own, 0 to 10000.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(..=10_000))]
        steps: u32,
    },
}

impl Arguments {
    /// The settings of the run. A measurement does not need a file.
    fn settings(&self) -> Result<Option<Settings>, SettingsError> {
        let is_measurement = matches!(self.verb, Some(Verb::Parity { .. }));
        if is_measurement && self.file.config.is_none() {
            return Ok(None);
        }
        let settings = self.file.load(Process::Learner, |deploy| {
            self.addresses.apply(deploy);
            self.access.apply(deploy);
            self.device.apply(deploy);
            self.metrics.apply(deploy);
            self.traces.apply(deploy);
            self.log.apply(deploy);
        });
        settings.map(Some)
    }

    fn config(&self, settings: Option<&Settings>) -> Result<Config, Failure> {
        let Some(settings) = settings else {
            let device = self.device.device.unwrap_or(DeviceChoice::Auto);
            let allow_software_adapter = self.device.allow_software_adapter;
            return Ok(Config { device, allow_software_adapter, ..Config::default() });
        };
        let listen = settings.deploy.learner.listen("learner", self.listen.listen);
        let listen = listen.map_err(|error| Failure::new(ExitStatus::BadConfiguration, error))?;
        let arena = settings.deploy.url(&settings.deploy.arena);
        let mut config = Config::of_run(settings, &self.file.folder(), listen, arena);
        if self.verb.is_none() {
            config.from = self.from.from.as_deref().map(weights).transpose()?.map(Arc::new);
            config.guard = settings.deploy.guard("learner", listen, None)?;
            config.server_tls = settings.deploy.server_tls()?;
            config.client_tls = settings.deploy.client_tls()?;
        }
        Ok(config)
    }
}

/// Reads the weights that a new run starts with.
fn weights(path: &Path) -> Result<Weights, Failure> {
    let refused = |error: &dyn std::fmt::Display| {
        let error = format!("--from {}: {error}", path.display());
        Failure::new(ExitStatus::BadConfiguration, error)
    };
    let bytes = read_regular(path, DEFAULT_MAX_WEIGHTS_BYTES).map_err(|error| refused(&error))?;
    Weights::from_safetensors(&bytes).map_err(|error| refused(&error))
}

fn main() -> ExitCode {
    let arguments: Arguments = match process::arguments() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    identity().set_service("learner");
    let settings = arguments.settings();
    let log = match &settings {
        Ok(Some(settings)) => settings.deploy.log.into(),
        _ => LogFormat::Auto,
    };
    process::run(log, |shutdown| async move { work(settings?.as_ref(), arguments, shutdown).await })
}

async fn work(
    settings: Option<&Settings>,
    arguments: Arguments,
    shutdown: Shutdown,
) -> Result<(), Failure> {
    let config = arguments.config(settings)?;
    match arguments.verb {
        Some(Verb::Healthcheck) => {
            let tls = settings.map(|settings| settings.deploy.own_tls()).transpose()?.flatten();
            Ok(healthcheck::check(config.listen, tls.as_ref()).await?)
        }
        None => {
            let address = settings.and_then(|settings| settings.deploy.metrics.0);
            let deploy = settings.map(|settings| &settings.deploy);
            let traces = Traces::start(
                deploy.and_then(|deploy| deploy.otlp.as_deref()),
                deploy.map_or(1, |deploy| deploy.trace_games),
            )?;
            let metrics = MetricsServer::open(address).await?;
            let access = AccessSource::new([config.guard.clone()], config.server_tls.clone());
            let learner = Learner::bind(config).await.map_err(failure)?;
            let add = |metrics: Metrics| metrics.with(learner.metrics()).with(access);
            let _serving = metrics::serve(metrics, shutdown.token(), add);
            let ended = learner.run_until(shutdown.token().clone()).await.map_err(failure);
            traces.finish().await;
            ended
        }
        Some(Verb::Parity { rows, rounds, steps }) => {
            blocking(move || compare(&config, rows as usize, rounds, steps)).await
        }
    }
}

async fn blocking(
    work: impl FnOnce() -> Result<(), Failure> + Send + 'static,
) -> Result<(), Failure> {
    tokio::task::spawn_blocking(work).await.map_err(bug)?
}

fn bug(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    Failure::new(ExitStatus::Bug, error)
}

fn failure(error: LearnerError) -> Failure {
    Failure::new(error.exit_status(), error)
}

#[expect(clippy::print_stdout, reason = "the output of the command")]
fn compare(config: &Config, rows: usize, rounds: u32, steps: u32) -> Result<(), Failure> {
    let spec = config.net_spec().map_err(bug)?;
    // The CPU computes every batch as well.
    check_batch("--rows", &spec, rows, false)
        .map_err(|error| Failure::new(ExitStatus::BadConfiguration, error))?;
    let device =
        TrainDevice::any_wgpu().map_err(|error| Failure::new(ExitStatus::Unavailable, error))?;
    let settings = ParitySettings { rounds, steps, seed: config.seed };
    let train = &config.train;
    let report = match &train.algorithm {
        AlgorithmConfig::AlphaZero(algorithm) => {
            let batch = |rng: &mut Rng| parity::random_positions(&spec, rows, rng);
            parity::compare_devices(
                &AlphaZero::new(algorithm, config.draw),
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
