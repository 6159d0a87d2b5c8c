//! `ouro-actor`: plays games for a learner elsewhere.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use ouro_actor::{Actor, ActorConfig, ActorError};
use ouro_service::process::EXIT_CODES_HELP;
use ouro_service::telemetry::LogFormat;
use ouro_service::{ExitStatus, Failure};

/// Plays games on CPU threads and pushes them to a learner.
#[derive(Debug, Parser)]
#[command(name = "ouro-actor", version, after_help = EXIT_CODES_HELP)]
struct Arguments {
    /// Configuration file (TOML). The flags below override it.
    #[arg(long, env = "OURO_ACTOR_CONFIG")]
    config: PathBuf,
    /// Name of this actor, unique in the run.
    #[arg(long, env = "OURO_ACTOR_NAME")]
    name: Option<String>,
    /// Address of the arena, `http://host:port`.
    #[arg(long, env = "OURO_ARENA")]
    arena: Option<String>,
    /// Address of the learner, `http://host:port`.
    #[arg(long, env = "OURO_LEARNER")]
    learner: Option<String>,
    /// Threads that play.
    #[arg(long, env = "OURO_ACTOR_THREADS")]
    threads: Option<usize>,
    /// Folder that keeps weights over restarts.
    #[arg(long, env = "OURO_ACTOR_CACHE")]
    cache: Option<PathBuf>,
    /// File that gets a line for each game sent or acknowledged.
    #[arg(long, env = "OURO_ACTOR_LOG_RECORDS")]
    log_records: Option<PathBuf>,
    /// File that gets the games which the learner refuses.
    #[arg(long, env = "OURO_ACTOR_DEAD_LETTERS")]
    dead_letters: Option<PathBuf>,
}

impl Arguments {
    fn into_config(self) -> Result<ActorConfig, Failure> {
        let loaded = ouro_service::config::load::<ActorConfig>(&self.config);
        let mut config =
            loaded.map_err(|error| Failure::new(ExitStatus::BadConfiguration, error))?;
        if let Some(name) = self.name {
            config.name = name;
        }
        if let Some(arena) = self.arena {
            config.arena = arena;
        }
        if let Some(learner) = self.learner {
            config.learner = learner;
        }
        if let Some(threads) = self.threads {
            config.threads = threads;
        }
        config.cache.folder = self.cache.or(config.cache.folder);
        config.log_records = self.log_records.or(config.log_records);
        config.dead_letters = self.dead_letters.or(config.dead_letters);
        Ok(config)
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Without a reader there is nothing to do about a failed write.
            let _ = error.print();
            return if error.use_stderr() {
                ExitStatus::BadConfiguration
            } else {
                ExitStatus::Clean
            }
            .into();
        }
    };
    ouro_service::process::run(LogFormat::Auto, |shutdown| async move {
        let config = arguments.into_config()?;
        let actor = Actor::new(config)
            .map_err(|error| Failure::new(ExitStatus::BadConfiguration, error))?;
        let ended = actor.run_until(shutdown.token().clone()).await;
        ended.map_err(|error| {
            let status = match &error {
                error if error.is_configuration() => ExitStatus::BadConfiguration,
                ActorError::Refused(_) => ExitStatus::Unavailable,
                _ => ExitStatus::Bug,
            };
            Failure::new(status, error)
        })
    })
}
