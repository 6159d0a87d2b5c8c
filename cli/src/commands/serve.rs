//! `ouro serve`: players as a Battlesnake server.
//!
//! The protocol is the Battlesnake HTTP API, version 1. [`routes`] reads requests and writes
//! replies. A [`session`] is one snake in one game and keeps its player from move to move. [`players`]
//! has the players and chooses one for a position. [`sessions`] keeps the sessions of games in progress.

use std::net::SocketAddr;
use std::num::NonZero;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ouro_game::battlesnake::api::{Customizations, Info};
use ouro_service::shutdown::until_signal;
use ouro_service::telemetry::{self, LogFormat};
use ouro_service::{ConnectionLimits, HttpServer, Shutdown, identity};
use serde_json::json;

use self::players::{LONGEST_TIME, PlayerList};
use self::routes::Server;
use super::numbers::whole;
use crate::failure::Failure;
use crate::output::Output;

mod arrival_clock;
mod host_delay;
mod players;
mod refusal;
mod routes;
mod session;
mod sessions;
#[cfg(test)]
mod testing;

/// The strongest players with included weights.
const STRONGEST: [&str; 2] = [
    "minimax{reductions,weights=included:duel-minimax}",
    "minimax{best_reply,reductions,weights=included:standard-minimax,duel=included:duel-minimax}",
];
/// Time for moves in progress once the server is stopped: that of the longest move, and a second to send
/// the reply.
const DRAIN: Duration = LONGEST_TIME.saturating_add(Duration::from_secs(1));

/// Play Battlesnake games over HTTP, for the official platform and command line.
///
/// The first player that can play a position plays it. A network plays the ruleset, map and board of its
/// training, with at most as many snakes. `minimax{best_reply,reductions}` plays everything else.
/// `minimax`, `maxn` and `mcts` without a limit (ms, depth or sims) think for the time of the game less
/// --margin.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ouro serve --listen 0.0.0.0:8000
  ouro serve 'mcts{weights=checkpoints/duel-7x7.safetensors}' 'minimax{ms=100}'

The URL of the snake is that of the server, for example http://127.0.0.1:8000.")]
pub(crate) struct Arguments {
    /// Names of the players (docs/players.md), the preferred one first. The defaults are the strongest
    /// included players for duels and for four snakes on 11x11.
    #[arg(default_values = STRONGEST)]
    players: Vec<String>,
    /// Address of the server. Port 0 selects a free one.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8000", value_parser = address)]
    listen: SocketAddr,
    /// Path of the snake's URL. A path that is hard to guess keeps requests of strangers away.
    #[arg(long, value_name = "/PATH", default_value = "/", value_parser = path)]
    path: String,
    /// Milliseconds of a move's time for transmission and the host, if the player has no limit of its own.
    /// A game whose host reports longer delays gets more. The search gets at least a quarter of the time.
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = whole::<u32>(0..=5_000))]
    margin: u32,
    /// Most searches at once, and most players kept from move to move. A further search is refused. A
    /// further player replaces the one used longest ago. A replaced player that is searching stays in memory
    /// until its search ends, so nearly twice as many players can be there for a short time.
    #[arg(long, value_name = "NUMBER", default_value = "64", value_parser = snakes)]
    snakes: NonZero<u16>,
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

/// An address to listen on.
fn address(text: &str) -> Result<SocketAddr, String> {
    let example = "it is an IP address and a port, such as 127.0.0.1:8000 or 0.0.0.0:8000";
    text.parse().map_err(|_| example.to_owned())
}

/// Upper bound of `--snakes`: each search occupies one of the 512 blocking threads of the runtime.
const MOST_SNAKES: u16 = 256;

/// A number of snakes.
fn snakes(text: &str) -> Result<NonZero<u16>, String> {
    let number = text.parse::<NonZero<u16>>().ok().filter(|number| number.get() <= MOST_SNAKES);
    number.ok_or_else(|| format!("it is a number 1 to {MOST_SNAKES}"))
}

/// The path of a URL without a slash at its end; empty for the root.
fn path(text: &str) -> Result<String, String> {
    let path = text.strip_suffix('/').unwrap_or(text);
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "-_.".contains(one);
    let is_valid = path
        .split('/')
        .skip(1)
        .all(|part| part != "." && part != ".." && !part.is_empty() && part.chars().all(is_plain));
    if (path.is_empty() || path.starts_with('/')) && is_valid {
        return Ok(path.to_owned());
    }
    Err("a path is / or /NAME, of letters, digits, '-', '_' and '.'".to_owned())
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
    let players = PlayerList::new(&arguments.players, margin)?;
    identity().set_service("serve");
    telemetry::init(LogFormat::Auto, "info").map_err(Failure::usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let shutdown = Shutdown::new();
    let serving = serve(arguments, players, shutdown.clone(), output);
    let ended = runtime.block_on(until_signal(&shutdown, serving));
    // The reply of a search that still runs would not be sent.
    runtime.shutdown_background();
    match ended.map_err(Failure::unavailable)? {
        Some(result) => result.map(|()| ExitCode::SUCCESS),
        None => Ok(ExitCode::from(130)),
    }
}

async fn serve(
    arguments: &Arguments,
    players: PlayerList,
    shutdown: Shutdown,
    output: &mut Output,
) -> Result<(), Failure> {
    let Arguments { listen, path, color, head, tail, author, .. } = arguments;
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
    let url = format!("http://{}{path}", server.local_addr());
    let names = players.names().collect::<Vec<_>>();
    output.result(
        &json!({ "url": url, "players": names }),
        format_args!("{} at {url}\n", names.join(", ")),
    )?;
    output.flush()?;
    let site = Server::new(players, arguments.snakes, info);
    let serving = server.run_until(site.clone().routes(path), shutdown.token().clone(), DRAIN);
    tokio::select! {
        _ = serving => Ok(()),
        () = site.drop_idle_sessions() => Err(Failure::bug("the server ended early")),
    }
}
