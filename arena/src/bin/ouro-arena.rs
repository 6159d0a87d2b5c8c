//! `ouro-arena`: the arena of a run as a process of its own.

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use ouro_arena::workers::WorkerArguments;
use ouro_arena::{Arena, ArenaConfig, ArenaError};
use ouro_service::access::metrics::AccessSource;
use ouro_service::metrics::{self, Metrics, MetricsServer};
use ouro_service::process::{self, EXIT_CODES_HELP};
use ouro_service::telemetry::LogFormat;
use ouro_service::{ExitStatus, Failure, Shutdown, SystemClock, healthcheck, identity};
use ouro_settings::arguments::{
    AccessArguments, AddressArguments, FileArguments, ListenArguments, LogArguments,
    MetricsArguments, SettingsError, StoreArguments, WebArguments, WeightsArguments,
};
use ouro_settings::{Process, Settings};

/// Keeps the checkpoint pool, plays the matches, rates all players, answers over gRPC.
#[derive(Debug, Parser)]
#[command(name = "ouro-arena", version, after_help = EXIT_CODES_HELP)]
struct Arguments {
    #[command(flatten)]
    file: FileArguments,
    #[command(flatten)]
    listen: ListenArguments,
    #[command(flatten)]
    web: WebArguments,
    #[command(flatten)]
    addresses: AddressArguments,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    weights: WeightsArguments,
    #[command(flatten)]
    access: AccessArguments,
    #[command(flatten)]
    metrics: MetricsArguments,
    #[command(flatten)]
    log: LogArguments,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// What to do instead of serving.
#[derive(Debug, Subcommand)]
enum Verb {
    /// Check that the arena with these flags and settings serves: exit code 0, else 69.
    Healthcheck,
    /// Help the arena to play its matches, from any machine. The results must be in Redis.
    Worker(Box<WorkerArguments>),
}

impl Arguments {
    fn settings(&self) -> Result<Settings, SettingsError> {
        if let Some(Verb::Worker(worker)) = &self.verb {
            return worker.settings();
        }
        self.file.load(Process::Arena, |deploy| {
            self.addresses.apply(deploy);
            self.web.apply(deploy);
            self.store.apply(deploy);
            self.weights.apply(deploy);
            self.access.apply(deploy);
            self.metrics.apply(deploy);
            self.log.apply(deploy);
        })
    }
}

fn main() -> ExitCode {
    let arguments: Arguments = match process::arguments() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    identity().set_service("arena");
    let settings = arguments.settings();
    let log = settings.as_ref().map_or(LogFormat::Auto, |settings| settings.deploy.log.into());
    process::run(log, |shutdown| async move { serve(&settings?, &arguments, shutdown).await })
}

async fn serve(
    settings: &Settings,
    arguments: &Arguments,
    shutdown: Shutdown,
) -> Result<(), Failure> {
    if let Some(Verb::Worker(worker)) = &arguments.verb {
        return worker.run(settings, shutdown).await;
    }
    let address = settings.deploy.arena.listen("arena", arguments.listen.listen);
    let address = address.map_err(|error| Failure::new(ExitStatus::BadConfiguration, error))?;
    if let Some(Verb::Healthcheck) = arguments.verb {
        let tls = settings.deploy.own_tls()?;
        return Ok(healthcheck::check(address, tls.as_ref()).await?);
    }
    let mut config = ArenaConfig::of_run(settings, &arguments.file.folder(), address);
    if let Some(web) = config.web {
        let exposed = settings.deploy.check_exposure("web", web);
        exposed.map_err(|error| Failure::new(ExitStatus::BadConfiguration, error))?;
    }
    config.guard = settings.deploy.guard("arena", address, None)?;
    config.server_tls = settings.deploy.server_tls()?;
    config.client_tls = settings.deploy.client_tls()?;
    let access = AccessSource::new([config.guard.clone()], config.server_tls.clone());
    let metrics = MetricsServer::open(settings.deploy.metrics.0).await?;
    let arena = Arena::bind(config, Arc::new(SystemClock::new())).await.map_err(failure)?;
    let add = |metrics: Metrics| metrics.with(arena.metrics()).with(access);
    let _serving = metrics::serve(metrics, shutdown.token(), add);
    arena.run_until(shutdown.token().clone()).await.map_err(failure)?;
    Ok(())
}

fn failure(error: ArenaError) -> Failure {
    Failure::new(error.exit_status(), error)
}
