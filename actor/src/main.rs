//! `ouro-actor`: plays games for the learner of its run.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ouro_actor::{Actor, ActorConfig, ActorError};
use ouro_service::metrics::{self, Metrics, MetricsServer};
use ouro_service::process::{self, EXIT_CODES_HELP};
use ouro_service::server::Limits;
use ouro_service::telemetry::LogFormat;
use ouro_service::{
    Background, Drain, ExitStatus, Failure, GrpcServer, ServiceError, Shutdown, healthcheck,
    identity,
};
use ouro_settings::arguments::{
    AccessArguments, ActorArguments, AddressArguments, FileArguments, LogArguments,
    MetricsArguments, SettingsError, TraceArguments,
};
use ouro_settings::{Process, Settings};
use ouro_traces::Traces;

/// Plays games on CPU threads and pushes them to the learner.
#[derive(Debug, Parser)]
#[command(name = "ouro-actor", version, after_help = EXIT_CODES_HELP)]
struct Arguments {
    #[command(flatten)]
    file: FileArguments,
    #[command(flatten)]
    addresses: AddressArguments,
    #[command(flatten)]
    access: AccessArguments,
    #[command(flatten)]
    actor: ActorArguments,
    #[command(flatten)]
    metrics: MetricsArguments,
    #[command(flatten)]
    traces: TraceArguments,
    #[command(flatten)]
    log: LogArguments,
    /// Address of the gRPC health service, such as 127.0.0.1:50063 [default: none].
    #[arg(long, value_name = "IP:PORT", env = "OURO_LISTEN")]
    listen: Option<SocketAddr>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// What to do instead of playing.
#[derive(Debug, Subcommand)]
enum Verb {
    /// Check that the actor that listens at --listen runs: exit code 0, else 69.
    Healthcheck,
}

impl Arguments {
    fn settings(&self) -> Result<Settings, SettingsError> {
        self.file.load(Process::Actor, |deploy| {
            self.addresses.apply(deploy);
            self.access.apply(deploy);
            self.actor.apply(deploy);
            self.metrics.apply(deploy);
            self.traces.apply(deploy);
            self.log.apply(deploy);
        })
    }
}

fn main() -> ExitCode {
    let arguments: Arguments = match process::arguments() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    identity().set_service("actor");
    let settings = arguments.settings();
    let log = settings.as_ref().map_or(LogFormat::Auto, |settings| settings.deploy.log.into());
    process::run(log, |shutdown| async move { play(&settings?, &arguments, shutdown).await })
}

async fn play(
    settings: &Settings,
    arguments: &Arguments,
    shutdown: Shutdown,
) -> Result<(), Failure> {
    if let Some(Verb::Healthcheck) = arguments.verb {
        let missing = "--listen is missing; give the address that the actor listens on";
        let missing = || Failure::new(ExitStatus::BadConfiguration, missing);
        return Ok(healthcheck::check(arguments.listen.ok_or_else(missing)?, None).await?);
    }
    let deploy = &settings.deploy;
    let (arena, learner) = (deploy.url(&deploy.arena), deploy.url(&deploy.learner));
    let mut config = ActorConfig::of_run(settings, &arguments.file.folder(), arena, learner);
    config.tls = deploy.client_tls()?;
    identity().set_actor(&config.name);
    let deploy = &settings.deploy;
    let traces = Traces::start(deploy.otlp.as_deref(), deploy.trace_games)?;
    let metrics = MetricsServer::open(deploy.metrics.0).await?;
    let actor = Actor::new(config).map_err(failure)?;
    let add = |metrics: Metrics| metrics.with(actor.metrics());
    let _serving = metrics::serve(metrics, shutdown.token(), add);
    let health = match arguments.listen {
        Some(address) => Some(health(address, &shutdown).await?),
        None => None,
    };
    let ended = actor.run_until(shutdown.token().clone()).await.map_err(failure);
    if let Some(health) = health {
        // Ends with the actor, also if the actor ended by itself.
        shutdown.cancel();
        health.join().await.map_err(unavailable)?.map_err(unavailable)?;
    }
    traces.finish().await;
    ended
}

/// Serves gRPC health at `address` until the shutdown.
async fn health(
    address: SocketAddr,
    shutdown: &Shutdown,
) -> Result<Background<Result<Drain, ServiceError>>, Failure> {
    let server = GrpcServer::bind(address, Limits::default()).await.map_err(unavailable)?;
    Ok(Background::task("health", server.run_until(shutdown.token().clone())))
}

fn unavailable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    Failure::new(ExitStatus::Unavailable, error)
}

fn failure(error: ActorError) -> Failure {
    Failure::new(error.exit_status(), error)
}
