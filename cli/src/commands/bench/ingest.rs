//! `ouro bench ingest`: the rate at which a learner receives games.
//!
//! A complete learner runs on a loopback port. It never has enough positions to train, so it only
//! receives games: gRPC, replay with the rules, the journal with its syncs, the replay window, the
//! acknowledgement. Clients in the same process push the same games in a loop, one stream each.
//! They run on separate threads, so their CPU time is measured separately. The CPU time of the
//! kernel for loopback traffic counts on both sides.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use ouro_game::{GameConfig, battlesnake, connect_four};
use ouro_learner::config::{AlgorithmConfig, AlphaZeroConfig, Config, DeviceChoice};
use ouro_learner::{Learner, LearnerError, SharedStatus};
use ouro_net::Architecture;
use ouro_proto::Hello;
use ouro_proto::trajectory::message_bytes;
use serde::Serialize;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::machine::Machine;
use super::timing::Spread;
use crate::commands::numbers::whole;
use crate::commands::seconds::positive;
use crate::failure::Failure;
use crate::output::Output;

mod client;
mod processor;

/// Name of the clients' threads.
const CLIENT: &str = "ingest-client";

/// Time before the first run, in which connections open and buffers grow.
const WARM_UP: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Games to push, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "duel-7x7,connect4")]
    game: Vec<Pushed>,
    /// Streams that push at once.
    #[arg(long, default_value_t = 8, value_parser = whole::<u16>(1..=1_024))]
    streams: u16,
    /// Different games, which are pushed in turn.
    #[arg(long, default_value_t = 512, value_parser = whole::<u32>(1..=65_536))]
    games: u32,
    /// Threads that replay games at once [default: the cores].
    #[arg(long, value_parser = whole::<u16>(1..=1_024))]
    replay_threads: Option<u16>,
    /// Folder for the journal; what is made there is removed [default: the temporary folder].
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Seconds per run.
    #[arg(long, default_value_t = 2.0, value_parser = positive)]
    seconds: f64,
    /// Runs per number.
    #[arg(long, default_value_t = 5, value_parser = whole::<u16>(1..=u16::MAX))]
    runs: u16,
}

/// A game to push.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Pushed {
    /// Battlesnake, two snakes on 7×7.
    #[value(name = "duel-7x7")]
    Duel7x7,
    /// Connect Four.
    #[value(name = "connect4")]
    Connect4,
}

impl Pushed {
    fn config(self) -> GameConfig {
        let (width, height, snakes) = (7, 7, 2);
        match self {
            Self::Duel7x7 => GameConfig::Battlesnake(battlesnake::Config {
                width,
                height,
                snakes,
                ..battlesnake::Config::default()
            }),
            Self::Connect4 => GameConfig::ConnectFour(connect_four::Config::default()),
        }
    }
}

/// The figures of one game.
#[derive(Debug, Serialize)]
struct Measured {
    game: String,
    /// Averages per game: plies, positions for training, and bytes of the message.
    plies: f64,
    positions: f64,
    bytes: f64,
    positions_per_second: Spread,
    /// Positions per CPU-second of the learner; Linux only. Other load on the machine affects this
    /// figure less than the rate.
    positions_per_core: Option<Spread>,
    /// Median number of busy cores of the learner and of the clients.
    learner_cores: Option<f64>,
    client_cores: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    streams: u16,
    seconds: f64,
    runs: u16,
    measured: Vec<Measured>,
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let machine = Machine::here();
    if !machine.release_build {
        writeln!(io::stderr(), "warning: this is a debug build; its numbers mean little")?;
    }
    let name = format!("ouro-bench-ingest-{}", std::process::id());
    let folder = arguments.folder.clone().unwrap_or_else(std::env::temp_dir);
    if !folder.is_dir() {
        return Err(Failure::no_input(format_args!(
            "{}: no folder is here; name one that is there with --folder",
            folder.display()
        )));
    }
    let folder = folder.join(name);
    let mut measured = Vec::new();
    for game in &arguments.game {
        let result = measure(game.config(), &folder, arguments);
        // The journal is of no use after the benchmark. A failed removal is not an error.
        let _ = std::fs::remove_dir_all(&folder);
        measured.push(result?);
    }
    let Arguments { streams, seconds, runs, .. } = *arguments;
    let report = Report { machine, streams, seconds, runs, measured };
    output.result(&report, table(&report))?;
    Ok(ExitCode::SUCCESS)
}

/// The configuration of a learner that accepts every game and never trains.
fn learner(game: GameConfig, folder: &Path, arguments: &Arguments) -> Config {
    let mut config = Config {
        device: DeviceChoice::Cpu,
        listen: ([127, 0, 0, 1], 0).into(),
        game,
        net: Architecture::Conv { channels: 1, layers: 1, hidden: 1 },
        ..Config::default()
    };
    config.train.algorithm = AlgorithmConfig::AlphaZero(AlphaZeroConfig::default());
    // More positions than a benchmark can push: training never starts.
    config.replay.min_positions = 1 << 40;
    config.replay.window_positions = 1 << 40;
    config.intake.max_streams = usize::from(arguments.streams);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    config.intake.replay_threads = arguments.replay_threads.map_or(cores, usize::from);
    config.training_states.directory = folder.into();
    config
}

fn runtime(name: &str) -> io::Result<Runtime> {
    // Threads must outlive the benchmark: the CPU time of an ended thread is lost.
    let forever = Duration::from_secs(1 << 20);
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name(name)
        .thread_keep_alive(forever)
        .build()
}

/// Cumulative counts at one moment.
#[derive(Clone, Copy)]
struct Moment {
    at: Instant,
    positions: u64,
    /// CPU-seconds of the learner and of the clients; `None` where the system has no `/proc`.
    used: Option<(f64, f64)>,
}

impl Moment {
    fn now(progress: &SharedStatus) -> Self {
        let used = processor::seconds(CLIENT);
        Self { at: Instant::now(), positions: progress.get().moves, used }
    }
}

/// Pushes random games of `game` to a new learner and measures every run.
///
/// Fails if the learner received fewer or more games than the clients sent.
fn measure(game: GameConfig, folder: &Path, arguments: &Arguments) -> Result<Measured, Failure> {
    let name = game.name().to_owned();
    let games = ouro_bench::random_games(&game, arguments.games).map_err(Failure::usage)?;
    let count = games.len() as f64;
    let plies = games.iter().map(|game| game.plies.len()).sum::<usize>() as f64 / count;
    let bytes = games.iter().map(|game| message_bytes(0, game)).sum::<usize>() as f64 / count;
    let positions = games.iter().map(|game| game.moves().count()).sum::<usize>() as f64 / count;

    let games = Arc::new(games);
    let (server, clients) = (runtime("ingest-server")?, runtime(CLIENT)?);
    let config = learner(game.clone(), folder, arguments);
    let learner = server.block_on(Learner::bind(config)).map_err(Failure::unavailable)?;
    let (url, progress) = (format!("http://{}", learner.address()), learner.status());
    let (stop_learner, stop) = (CancellationToken::new(), CancellationToken::new());
    let served = server.spawn(learner.run_until(stop_learner.clone()));
    let pushing: Vec<_> = (0..arguments.streams)
        .map(|stream| {
            let actor = format!("bench-{stream}");
            let config = Arc::new(game.clone());
            let hello = Hello { actor, epoch: None, answered: 0, config, version: 1, run: None };
            let from = usize::from(stream) * games.len() / usize::from(arguments.streams);
            let games = Arc::clone(&games);
            clients.spawn(client::push(url.clone(), hello, games, from, stop.clone()))
        })
        .collect();

    std::thread::sleep(WARM_UP);
    let mut moments = vec![Moment::now(&progress)];
    for _ in 0..arguments.runs {
        std::thread::sleep(Duration::from_secs_f64(arguments.seconds));
        moments.push(Moment::now(&progress));
    }
    stop.cancel();
    let mut pushed = 0;
    for client in pushing {
        pushed += clients.block_on(client).map_err(Failure::bug)?.map_err(Failure::bug)?;
    }
    stop_learner.cancel();
    let ended: Result<(), LearnerError> = server.block_on(served).map_err(Failure::bug)?;
    ended.map_err(Failure::bug)?;
    let taken = progress.get().games;
    if taken != pushed {
        return Err(Failure::bug(format_args!("{pushed} games were pushed, {taken} taken in")));
    }
    Ok(summary(name, [plies, positions, bytes], &moments))
}

/// Computes the figures from the counts at the start and after every run.
fn summary(game: String, [plies, positions, bytes]: [f64; 3], moments: &[Moment]) -> Measured {
    let runs = || moments.windows(2).map(|pair| (pair[0], pair[1]));
    let done = |from: Moment, to: Moment| (to.positions - from.positions) as f64;
    let seconds = |from: Moment, to: Moment| to.at.duration_since(from.at).as_secs_f64();
    let rate = runs().map(|(from, to)| done(from, to) / seconds(from, to)).collect();
    let used = |from: Moment, to: Moment| {
        let ((learner, clients), (learner_from, clients_from)) = to.used.zip(from.used)?;
        Some((learner - learner_from, clients - clients_from))
    };
    let each: Option<Vec<(f64, f64, f64)>> = runs()
        .map(|(from, to)| {
            let ((learner, clients), seconds) = (used(from, to)?, seconds(from, to));
            Some((done(from, to) / learner, learner / seconds, clients / seconds))
        })
        .collect();
    let spread = |of: fn(&(f64, f64, f64)) -> f64| {
        each.as_ref().and_then(|each| Spread::of(each.iter().map(of).collect()))
    };
    Measured {
        game,
        plies,
        positions,
        bytes,
        positions_per_second: Spread::of(rate).expect("there is at least one run"),
        positions_per_core: spread(|run| run.0),
        learner_cores: spread(|run| run.1).map(|spread| spread.median),
        client_cores: spread(|run| run.2).map(|spread| spread.median),
    }
}

fn table(report: &Report) -> String {
    let Report { machine, streams, seconds, runs, measured } = report;
    let mut text = format!(
        "{streams} streams over loopback, on {} ({} cores)\nmedian of {runs} runs of {seconds} s\n\n\
         {:<14}{:>7}{:>11}{:>12}{:>14}{:>16}{:>18}{:>15}{:>15}\n",
        machine.cpu,
        machine.cores,
        "game",
        "plies",
        "positions",
        "bytes",
        "positions/s",
        "per core",
        "slowest–fastest",
        "learner cores",
        "client cores",
    );
    for row in measured {
        let or_none = |value: Option<f64>| {
            value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.2}"))
        };
        let (core, range) = row.positions_per_core.map_or_else(
            || ("unknown".to_owned(), String::new()),
            |core| (format!("{:.0}", core.median), format!("{:.0}–{:.0}", core.min, core.max)),
        );
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<14}{:>7.1}{:>11.1}{:>12.0}{:>14.0}{core:>16}{range:>18}{:>15}{:>15}",
            row.game,
            row.plies,
            row.positions,
            row.bytes,
            row.positions_per_second.median,
            or_none(row.learner_cores),
            or_none(row.client_cores),
        );
    }
    text
}
