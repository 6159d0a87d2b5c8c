//! Runs an arena on its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use ouro_arena::config::{MatchConfig, WebAddress};
use ouro_arena::store::Run;
use ouro_arena::{Arena, ArenaConfig, ArenaError};
use ouro_game::GameConfig;
use ouro_service::process::{self, EXIT_CODES_HELP};
use ouro_service::server::Limits;
use ouro_service::telemetry::LogFormat;
use ouro_service::{ExitStatus, Failure, Shutdown, SystemClock};

/// Keeps the checkpoint pool, plays the matches, rates everybody, answers over gRPC.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES_HELP)]
struct Arguments {
    /// Where to listen.
    #[arg(long, env = "OURO_ARENA_LISTEN", default_value = "127.0.0.1:50061")]
    listen: SocketAddr,
    /// Where the web page is, or `off`.
    #[arg(long, env = "OURO_ARENA_WEB", value_name = "ADDR", default_value = "127.0.0.1:8080")]
    web: WebAddress,
    /// Folder of the store and the weights; made if it is missing.
    #[arg(long, env = "OURO_ARENA_DATA")]
    data: PathBuf,
    /// The run's game, as JSON: {"game":"battlesnake", ...}.
    #[arg(long, env = "OURO_GAME", value_parser = game)]
    game: GameConfig,
    /// The run's seed.
    #[arg(long, env = "OURO_SEED", default_value_t = 0)]
    seed: u64,
    /// How matches are played and decided: a TOML file with the keys of a run's `[arena]`.
    #[arg(long, env = "OURO_ARENA_MATCHES")]
    matches: Option<PathBuf>,
    /// Largest weights file taken, in bytes.
    #[arg(long, default_value_t = ouro_proto::chunks::DEFAULT_MAX_WEIGHTS_BYTES)]
    max_weights_bytes: u64,
}

impl Arguments {
    fn into_config(self) -> Result<ArenaConfig, Failure> {
        let matches = match &self.matches {
            Some(path) => ouro_service::config::load(path)
                .map_err(|error| Failure::new(ExitStatus::BadConfiguration, error))?,
            None => MatchConfig::default(),
        };
        Ok(ArenaConfig {
            address: self.listen,
            web: self.web.0,
            data: self.data,
            run: Run { game: self.game, seed: self.seed },
            matches,
            max_weights_bytes: self.max_weights_bytes,
            limits: Limits::default(),
        })
    }
}

fn game(text: &str) -> Result<GameConfig, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn failure(error: ArenaError) -> Failure {
    Failure::new(error.exit_status(), error)
}

async fn serve(arguments: Arguments, shutdown: Shutdown) -> Result<(), Failure> {
    let config = arguments.into_config()?;
    let arena = Arena::bind(config, Arc::new(SystemClock::new())).await.map_err(failure)?;
    arena.run_until(shutdown.token().clone()).await.map_err(failure)?;
    Ok(())
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are no errors; what clap cannot print, nobody can read.
            let _ = error.print();
            let clean = error.exit_code() == 0;
            return if clean { ExitStatus::Clean } else { ExitStatus::BadConfiguration }.into();
        }
    };
    process::run(LogFormat::Auto, |shutdown| serve(arguments, shutdown))
}
