//! `ouro-actor`: plays games for the learner of its run.

use std::process::ExitCode;

use clap::Parser;
use ouro_actor::{Actor, ActorConfig, ActorError};
use ouro_service::process::{self, EXIT_CODES_HELP};
use ouro_service::telemetry::LogFormat;
use ouro_service::{Failure, Shutdown};
use ouro_settings::arguments::{
    ActorArguments, AddressArguments, FileArguments, LogArguments, SettingsError,
};
use ouro_settings::{Process, Settings};

/// Plays games on CPU threads and pushes them to the learner.
#[derive(Debug, Parser)]
#[command(name = "ouro-actor", version, after_help = EXIT_CODES_HELP)]
struct Arguments {
    #[command(flatten)]
    file: FileArguments,
    #[command(flatten)]
    addresses: AddressArguments,
    #[command(flatten)]
    actor: ActorArguments,
    #[command(flatten)]
    log: LogArguments,
}

impl Arguments {
    fn settings(&self) -> Result<Settings, SettingsError> {
        self.file.load(Process::Actor, |deploy| {
            self.addresses.apply(deploy);
            self.actor.apply(deploy);
            self.log.apply(deploy);
        })
    }
}

fn main() -> ExitCode {
    let arguments: Arguments = match process::arguments() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let settings = arguments.settings();
    let log = settings.as_ref().map_or(LogFormat::Auto, |settings| settings.deploy.log.into());
    process::run(log, |shutdown| async move { play(&settings?, &arguments, shutdown).await })
}

async fn play(
    settings: &Settings,
    arguments: &Arguments,
    shutdown: Shutdown,
) -> Result<(), Failure> {
    let (arena, learner) = (settings.deploy.arena.url(), settings.deploy.learner.url());
    let config = ActorConfig::of_run(settings, &arguments.file.folder(), arena, learner);
    let actor = Actor::new(config).map_err(failure)?;
    actor.run_until(shutdown.token().clone()).await.map_err(failure)
}

fn failure(error: ActorError) -> Failure {
    Failure::new(error.exit_status(), error)
}
