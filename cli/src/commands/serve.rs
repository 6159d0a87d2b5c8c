//! `ouro serve`: players as a Battlesnake server.
//!
//! The protocol is the Battlesnake HTTP API, version 1. [`routes`] reads requests and writes
//! replies. A [`seat`] is one snake in one game and keeps its player from move to move. The
//! [`roster`] says which player takes a seat. [`games`] keeps the seats of games in progress.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ouro_game::battlesnake::api::{Customizations, Info};
use ouro_service::shutdown::until_signal;
use ouro_service::telemetry::{self, LogFormat};
use ouro_service::{ConnectionLimits, HttpServer, Shutdown, identity};
use serde_json::json;

use self::roster::Roster;
use self::routes::Site;
use crate::failure::Failure;
use crate::output::Output;

mod games;
mod roster;
mod routes;
mod seat;

/// Time for moves in progress once the server is stopped.
const DRAIN: Duration = Duration::from_secs(2);

/// Play Battlesnake games over HTTP, for the official platform and command line.
///
/// A game is played by the first of the players that can: a network plays the ruleset, the board and the
/// number of snakes for which it was trained, or fewer snakes. When snakes die, the choice is made again. `minimax` plays all
/// other games. A player without a limit (ms, depth or sims) uses the time that the game allows less
/// --margin.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ouro serve --listen 0.0.0.0:8000
  ouro serve 'minimax{reductions,weights=checkpoints/duel-minimax.safetensors}' \\
    'minimax{best_reply,reductions,weights=checkpoints/standard-minimax.safetensors,duel=checkpoints/duel-minimax.safetensors}'

The URL of the snake is that of the server, for example http://127.0.0.1:8000.")]
pub(crate) struct Arguments {
    /// Who plays, by name, the preferred player first.
    #[arg(default_value = roster::LAST)]
    players: Vec<String>,
    /// Address of the server. Port 0 selects a free one.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8000")]
    listen: SocketAddr,
    /// Part of the time of a move, in milliseconds, that is left to the network and the host. A player
    /// has at least a quarter of the time.
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    margin: u32,
    /// Snakes that the server remembers from move to move. With more, the one that moved longest ago is
    /// forgotten and starts without its search tree.
    #[arg(long, value_name = "NUMBER", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    snakes: u16,
    /// Colour of the snake.
    #[arg(long, value_name = "#RRGGBB", default_value = "#0f766e", value_parser = color)]
    color: String,
    /// Name of the snake's head, as on the official page of customisations.
    #[arg(long, value_name = "NAME", default_value = "default")]
    head: String,
    /// Name of the snake's tail.
    #[arg(long, value_name = "NAME", default_value = "default")]
    tail: String,
    /// Name of the author.
    #[arg(long, value_name = "NAME", default_value = "")]
    author: String,
}

/// A colour as the API writes it.
fn color(text: &str) -> Result<String, String> {
    let digits = text.strip_prefix('#').unwrap_or_default();
    if digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text.to_owned());
    }
    Err("a colour is # and six hexadecimal digits, such as #0f766e".to_owned())
}

/// Serves until a signal.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let margin = Duration::from_millis(arguments.margin.into());
    let roster = Roster::new(&arguments.players, margin)?;
    identity().set_service("serve");
    telemetry::init(LogFormat::Auto, "info").map_err(Failure::usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let shutdown = Shutdown::new();
    let serving = serve(arguments, roster, shutdown.clone(), output);
    let ended = runtime.block_on(until_signal(&shutdown, serving));
    // A search that is still running has no reader.
    runtime.shutdown_background();
    match ended.map_err(Failure::unavailable)? {
        Some(result) => result.map(|()| ExitCode::SUCCESS),
        None => Ok(ExitCode::from(130)),
    }
}

async fn serve(
    arguments: &Arguments,
    roster: Roster,
    shutdown: Shutdown,
    output: &mut Output,
) -> Result<(), Failure> {
    let Arguments { listen, color, head, tail, author, .. } = arguments;
    let bound = HttpServer::bind(*listen, ConnectionLimits::default()).await;
    let server = bound.map_err(|error| {
        Failure::unavailable(format_args!(
            "{listen}: {error}; choose another address with --listen"
        ))
    })?;
    let info = Info {
        apiversion: "1".to_owned(),
        author: author.clone(),
        customizations: Customizations {
            color: color.clone(),
            head: head.clone(),
            tail: tail.clone(),
        },
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let address = server.local_addr();
    let players = roster.names().collect::<Vec<_>>();
    output.result(
        &json!({ "address": address, "players": players }),
        format_args!("{} at http://{address}\n", players.join(", ")),
    )?;
    output.flush()?;
    let site = Site::new(roster, arguments.snakes.into(), info);
    server.run_until(routes::routes(site), shutdown.token().clone(), DRAIN).await;
    Ok(())
}
