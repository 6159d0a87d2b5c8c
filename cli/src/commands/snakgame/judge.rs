//! `ouro snakgame judge`: plays Chef against an external program, and counts its score.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ouro_game::snakgame::{
    Board, BoardType, MAX_SIDE, MIN_SIDE, Referee, generate, generate_official, one_snake_bound,
};
use ouro_service::shutdown::until_signal;
use ouro_service::{ExitStatus, Shutdown};
use serde::Serialize;

use super::conversation;
use super::game_record;
use super::program::Program;
use crate::commands::count::counted;
use crate::commands::numbers::whole;
use crate::commands::record;
use crate::commands::seconds::positive;
use crate::failure::Failure;
use crate::output::Output;

/// Judge a program that plays SNAKGAME on its standard input and output.
///
/// The program gets `n m K` and K blocked cells, and then writes `NEW x y`, `MOVE fx fy tx ty` or
/// `EXIT`, one line for each turn. Chef's answer follows each line. A program that makes an illegal
/// move, writes anything else, runs out of time or ends early scores 0.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ouro snakgame judge --seed 7 -- python3 bot.py
  ouro snakgame judge --rows 20 --columns 30 --json -- ./bot

The exit code is 1 if the program lost everything.")]
pub(crate) struct Arguments {
    /// The contest's kind of board: sides of 200 to 300, or of 500 to 600.
    #[arg(long = "type", value_enum, default_value_t = Kind::Small)]
    kind: Kind,
    /// Rows of a board of another size, 10 to 600.
    #[arg(long, requires = "columns", conflicts_with = "kind", value_parser = whole::<u16>(MIN_SIDE..=MAX_SIDE))]
    rows: Option<u16>,
    /// Columns of a board of another size, 10 to 600.
    #[arg(long, requires = "rows", value_parser = whole::<u16>(MIN_SIDE..=MAX_SIDE))]
    columns: Option<u16>,
    /// Seed of the board and of Chef.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Seconds that the program may take for all its moves together.
    #[arg(long, default_value_t = 4.0, value_parser = positive)]
    seconds: f64,
    /// File for the record of the game, which `ouro show` steps through; compressed if it ends in
    /// `.gz`. An earlier record is replaced, another file is not.
    #[arg(long)]
    record: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// The contest's kinds of boards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Type 1, sides of 200 to 300.
    Small,
    /// Type 2, sides of 500 to 600.
    Large,
}

/// The printed report.
#[derive(Debug, Serialize)]
struct Report {
    rows: u16,
    columns: u16,
    blocked: u32,
    seed: u64,
    /// `finished`, `illegal_move`, `garbage`, `silence` or `crash`.
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    score: u64,
    /// Score as a share of what one snake with the first side's share of the cells would score.
    share_of_bound: f64,
    snakes: u32,
    turns: u32,
    /// Time that the program took for its moves.
    seconds: f64,
}

/// Judges one game.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let seed = arguments.seed;
    if let Some(path) = &arguments.record {
        record::check_path(path, "--record")?;
    }
    let board = board(arguments)?;
    let free = board.empty_count();
    let (rows, columns, blocked) = (board.rows(), board.columns(), board.blocked_count());
    let (referee, seconds) = play_until_signal(Referee::new(board, seed), arguments)?;
    let result = referee.result();
    let report = Report {
        rows,
        columns,
        blocked,
        seed,
        verdict: referee.loss().map_or("finished", |loss| loss.kind()),
        reason: referee.loss().map(ToString::to_string),
        score: result.score,
        share_of_bound: result.score as f64 / one_snake_bound(free).max(1) as f64,
        snakes: result.snakes,
        turns: result.turns,
        seconds: seconds.as_secs_f64(),
    };
    // Report and record are both attempted, so that neither is lost if the other one fails.
    let printed = output.result(&report, &report).and_then(|()| output.flush());
    if let Some(path) = &arguments.record {
        let record = game_record::of(rows, columns, seed, referee.moves())?;
        record::write(path, "--record", &record)?;
    }
    printed?;
    Ok(ExitCode::from(u8::from(referee.loss().is_some())))
}

/// Plays the game until it ends, or until Ctrl-C, SIGTERM or SIGHUP ends it.
fn play_until_signal(
    referee: Referee,
    arguments: &Arguments,
) -> Result<(Referee, Duration), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let shutdown = Shutdown::new();
    // The signals are handled before the first poll starts the program.
    let ended = runtime.block_on(until_signal(&shutdown, play(referee, arguments, &shutdown)));
    // The thread of an interrupted game is not waited for.
    runtime.shutdown_background();
    ended.map_err(Failure::unavailable)?.unwrap_or_else(|| Err(interrupted()))
}

/// Plays the game. The program does not get the signals of the terminal, so it is killed here if the game
/// is interrupted.
async fn play(
    referee: Referee,
    arguments: &Arguments,
    shutdown: &Shutdown,
) -> Result<(Referee, Duration), Failure> {
    let (program, pipes) = Program::start(&arguments.command)?;
    let group = program.group();
    let limit = Duration::from_secs_f64(arguments.seconds);
    let game =
        tokio::task::spawn_blocking(move || conversation::hold(referee, program, pipes, limit));
    tokio::select! {
        ended = game => ended.map_err(|_| Failure::bug("the thread of the judge panicked")),
        () = shutdown.cancelled() => {
            group.kill();
            Err(interrupted())
        }
    }
}

fn interrupted() -> Failure {
    Failure::ended(ExitStatus::Interrupted, "interrupted before the game was over")
}

fn board(arguments: &Arguments) -> Result<Board, Failure> {
    let seed = arguments.seed;
    match (arguments.rows, arguments.columns) {
        (Some(rows), Some(columns)) => generate(rows, columns, seed).map_err(Failure::usage),
        _ => Ok(generate_official(arguments.kind.into(), seed)),
    }
}

impl From<Kind> for BoardType {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Small => Self::Small,
            Kind::Large => Self::Large,
        }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { rows, columns, blocked, seed, verdict, reason, .. } = self;
        let blocked = counted(*blocked, "blocked cell");
        writeln!(f, "{rows}x{columns}, {blocked}, seed {seed}")?;
        match reason {
            Some(reason) => writeln!(f, "{verdict}: {reason}")?,
            None => writeln!(f, "{verdict}")?,
        }
        let Self { score, share_of_bound, seconds, .. } = self;
        let (snakes, turns) = (counted(self.snakes, "snake"), counted(self.turns, "turn"));
        writeln!(
            f,
            "score {score} ({share_of_bound:.3} of the one-snake bound), {snakes}, {turns}, {seconds:.2} s"
        )
    }
}
