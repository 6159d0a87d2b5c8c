//! `ouro solve`: solves a board of Maze Dash, or checks a solution.

use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal};
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use ouro_game::maze_dash::{Board, BoardError, Solution};
use ouro_maze::{Answer, Limits, Method, Progress};
use serde::Serialize;

use super::count::counted;
use super::input;
use super::numbers::whole;
use crate::failure::{Failure, answer};
use crate::output::Output;

/// Largest board file. A board of a million cells as JSON is smaller.
const MAX_BYTES: u64 = 4 << 20;
/// The answer about a board that has no solution.
const NONE: &str = "no solution";

/// Solve a board of Maze Dash (Mortal Coil), or check a solution.
///
/// A board is rows of `.` (free), `#` or `X` (obstacle) and `S` (start), the line
/// `x=WIDTH&y=HEIGHT&board=CELLS`, or `{"rows": [...]}` as JSON. Without a start, the path may begin
/// on any free cell. The answer is a solution, a proof that there is none, or neither within the
/// time limit.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ouro solve level.txt
  echo 'x=3&y=2&board=....X.' | ouro solve -
  ouro solve level.txt --check 'x=0&y=0&path=RDLU'

The exit code is 1 if the board has no solution or the checked one does not solve it, and 75 if the
time limit ends the search.")]
pub(crate) struct Arguments {
    /// File with one board; `-` reads standard input.
    file: PathBuf,
    /// Seconds until the search ends without an answer.
    #[arg(long, value_parser = super::seconds::positive)]
    seconds: Option<f64>,
    /// The method: search, backtracking, sat or mcts.
    #[arg(long, default_value = "search", value_parser = super::method::parse)]
    method: Method,
    /// Threads of a search. They share free starts; from a given start they search independently. The
    /// default is one per core.
    #[arg(long, value_parser = whole::<u16>(1..=1024))]
    threads: Option<u16>,
    /// Seed of the search's random choices. With several threads, the first solution found is printed. Use
    /// --threads 1 for an answer that the seed fixes.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Print the first slide and the decisions only (`qpath`), without other forced slides.
    #[arg(long)]
    decisions: bool,
    /// Check this solution instead of searching for one.
    #[arg(long, value_name = "SOLUTION")]
    check: Option<String>,
}

/// The printed report.
#[derive(Debug, Serialize)]
struct Report {
    answer: &'static str,
    width: usize,
    height: usize,
    cells: usize,
    obstacles: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    solution: Option<String>,
    /// Why there is no solution, if the board shows it without a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Decisions that the search tried; 0 for a check.
    nodes: u64,
    seconds: f64,
}

/// Solves or checks the board.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let text = read(arguments)?;
    let board = match text.parse::<Board>() {
        Ok(board) => board,
        Err(BoardError::Unreachable { width, height, unreachable, cells }) => {
            let answered = if arguments.check.is_some() { "not solved" } else { NONE };
            let report = Report::divided(answered, (width, height), unreachable, cells);
            return output.verdict(answer(false), &report, &report);
        }
        Err(error) => return Err(unreadable(arguments, &text, &error)),
    };
    if let Some(text) = &arguments.check {
        return check(&board, text, arguments.decisions, output);
    }
    super::method::check_side(arguments.method, board.width().max(board.height()))?;
    let begin = Instant::now();
    let limit = arguments.seconds.map(Duration::from_secs_f64);
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let limits =
        Limits { threads: arguments.threads.map_or(cores, usize::from), seed: arguments.seed };
    let bar = progress_bar();
    let solved = arguments.method.solve(&board, limits, &|progress| {
        show(&bar, progress);
        limit.is_none_or(|limit| begin.elapsed() < limit)
    });
    bar.finish_and_clear();
    let nodes = solved.progress.nodes;
    let report = |answer, solution| Report {
        solution,
        nodes,
        ..Report::new(&board, answer, begin.elapsed())
    };
    let (report, code) = match solved.answer {
        Answer::Path(path) => {
            let solution =
                notation(&board, Solution::from_path(&board, &path), arguments.decisions)?;
            (report("solved", Some(solution)), ExitCode::SUCCESS)
        }
        Answer::NoSolution => (report(NONE, None), answer(false)),
        Answer::Stopped => (report("stopped", None), ExitCode::from(crate::failure::TIME_LIMIT)),
    };
    output.verdict(code, &report, &report)
}

/// Checks a solution that the user gives.
fn check(
    board: &Board,
    text: &str,
    decisions: bool,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let solution: Solution = text.parse().map_err(Failure::usage)?;
    if let Err(error) = solution.check(board) {
        let report = Report::new(board, "not solved", Duration::ZERO);
        return output.verdict(answer(false), &report, format_args!("not solved: {error}\n"));
    }
    let solution = Some(notation(board, solution, decisions)?);
    let report = Report { solution, ..Report::new(board, "solved", Duration::ZERO) };
    output.result(&report, &report)?;
    Ok(ExitCode::SUCCESS)
}

/// The solution as text, after the checker has accepted it.
fn notation(board: &Board, solution: Solution, decisions: bool) -> Result<String, Failure> {
    let wrong = |error| Failure::bug(format_args!("the solver's path breaks a rule: {error}"));
    if decisions {
        return Ok(solution.decisions(board).map_err(wrong)?.to_string());
    }
    solution.check(board).map_err(wrong)?;
    Ok(solution.to_string())
}

/// Reads the text of a board.
fn read(arguments: &Arguments) -> Result<String, Failure> {
    let name = input::name(&arguments.file);
    let bytes = input::read(&arguments.file, MAX_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => {
            Failure::data(format_args!("{name}: {error}; pass one board"))
        }
        _ => Failure::read(&name, &error),
    })?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::data(format_args!("{name}: not a text; pass a board")))
}

/// The error for a text that is no board. Several boards are a likely cause.
fn unreadable(arguments: &Arguments, text: &str, error: &BoardError) -> Failure {
    let name = input::name(&arguments.file);
    match count_boards(text) {
        0 | 1 => Failure::data(format_args!("{name}: {error}")),
        count => Failure::data(format_args!(
            "{name}: {count} boards are here, and one is solved; pass each on its own"
        )),
    }
}

/// The number of boards in a text: rows with blank lines between boards, or a line for each.
fn count_boards(text: &str) -> usize {
    let lines = || text.lines().map(str::trim);
    let is_board = |line: &&str| line.starts_with("{\"rows\"") || line.contains("&board=");
    let on_lines = lines().filter(is_board).count();
    if on_lines > 0 {
        return on_lines;
    }
    let before = std::iter::once("").chain(lines());
    before.zip(lines()).filter(|(before, line)| before.is_empty() && !line.is_empty()).count()
}

/// A progress line on standard error, if that is a terminal.
fn progress_bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template("{elapsed} {msg}").expect("the template is well-formed");
    ProgressBar::new_spinner().with_style(style)
}

fn show(bar: &ProgressBar, progress: Progress) {
    let Progress { nodes, round, starts } = progress;
    let (nodes, starts) = (counted(nodes, "decision"), counted(starts, "start"));
    bar.set_message(format!("{nodes}, round {round}, {starts} left"));
    bar.tick();
}

impl Report {
    fn new(board: &Board, answer: &'static str, time: Duration) -> Self {
        Self {
            answer,
            width: board.width(),
            height: board.height(),
            cells: board.cells(),
            obstacles: board.obstacles(),
            solution: None,
            reason: None,
            nodes: 0,
            seconds: time.as_secs_f64(),
        }
    }

    /// The report about a board whose free cells are not connected. No path visits all of them.
    fn divided(
        answer: &'static str,
        (width, height): (usize, usize),
        unreachable: usize,
        cells: usize,
    ) -> Self {
        Self {
            answer,
            width,
            height,
            cells,
            obstacles: width * height - cells,
            solution: None,
            reason: Some(format!("{unreachable} of the free cells cannot be reached")),
            nodes: 0,
            seconds: 0.0,
        }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { answer, width, height, solution, reason, nodes, seconds, .. } = self;
        let cells = counted(self.cells, "free cell");
        let obstacles = counted(self.obstacles, "obstacle");
        if let Some(solution) = solution {
            writeln!(f, "{solution}")?;
        }
        write!(f, "{answer}: {width}x{height}, {cells}, {obstacles}")?;
        if *nodes > 0 {
            write!(f, "; {} in {seconds:.3} s", counted(*nodes, "decision"))?;
        }
        if let Some(reason) = reason {
            write!(f, "; {reason}")?;
        }
        writeln!(f)
    }
}
