//! The command `ouro-arena worker`.

use std::net::SocketAddr;

use clap::{Args, Subcommand};
use ouro_service::server::Limits;
use ouro_service::{
    Background, ExitStatus, Failure, GrpcServer, ServiceError, Shutdown, healthcheck,
};
use ouro_settings::arguments::{
    AccessArguments, AddressArguments, FileArguments, LogArguments, SettingsError, StoreArguments,
};
use ouro_settings::{Process, Settings};

use super::worker::{ArenaWorker, WorkerConfig, WorkerError};

/// The flags of a worker.
#[derive(Clone, Debug, Args)]
pub struct WorkerArguments {
    #[command(flatten)]
    file: FileArguments,
    #[command(flatten)]
    addresses: AddressArguments,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    access: AccessArguments,
    #[command(flatten)]
    log: LogArguments,
    /// Address of the gRPC health service, such as 127.0.0.1:50064 [default: none].
    #[arg(long, value_name = "IP:PORT", env = "OURO_LISTEN")]
    listen: Option<SocketAddr>,
    #[command(subcommand)]
    verb: Option<WorkerVerb>,
}

/// What to do instead of playing.
#[derive(Clone, Debug, Subcommand)]
enum WorkerVerb {
    /// Check that the worker that listens at --listen runs: exit code 0, else 69.
    Healthcheck,
}

impl WorkerArguments {
    /// The settings of the run with these flags.
    pub fn settings(&self) -> Result<Settings, SettingsError> {
        self.file.load(Process::Arena, |deploy| {
            self.addresses.apply(deploy);
            self.store.apply(deploy);
            self.access.apply(deploy);
            self.log.apply(deploy);
        })
    }

    /// Plays until the shutdown, or checks a worker that does.
    pub async fn run(&self, settings: &Settings, shutdown: Shutdown) -> Result<(), Failure> {
        if let Some(WorkerVerb::Healthcheck) = self.verb {
            let missing = "--listen is missing; give the address that the worker listens on";
            let missing = || Failure::new(ExitStatus::BadConfiguration, missing);
            return Ok(healthcheck::check(self.listen.ok_or_else(missing)?, None).await?);
        }
        let tls = settings.deploy.client_tls()?;
        let config = WorkerConfig { tls, ..WorkerConfig::of_run(settings) };
        let worker = ArenaWorker::new(config).map_err(failure)?;
        let health = match self.listen {
            Some(address) => {
                let bound = GrpcServer::bind(address, Limits::default()).await;
                let server = bound.map_err(unavailable)?;
                Some(Background::task("health", server.run_until(shutdown.token().clone())))
            }
            None => None,
        };
        let ended = worker.run_until(shutdown.token().clone()).await.map_err(failure);
        if let Some(health) = health {
            // Ends with the worker, also if the worker ended by itself.
            shutdown.cancel();
            let drained: Result<_, ServiceError> = health.join().await.map_err(unavailable)?;
            drained.map_err(unavailable)?;
        }
        ended
    }
}

fn unavailable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    Failure::new(ExitStatus::Unavailable, error)
}

fn failure(error: WorkerError) -> Failure {
    Failure::new(error.exit_status(), error)
}
