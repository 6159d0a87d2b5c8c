//! `ouro solve`: solves a board of Maze Dash, or checks a solution.

use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use ouro_game::maze_dash::{Board, Solution};
use ouro_maze::{Answer, Limits, Method, Progress};
use serde::Serialize;

use crate::failure::{Failure, answer};
use crate::output::Output;

/// Largest board file. A board of a million cells as JSON is smaller.
const MAX_BYTES: u64 = 4 << 20;

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
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Seed of the search's random choices.
    #[arg(long, default_value_t = 1)]
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
    /// Decisions that the search tried; 0 for a check.
    nodes: u64,
    seconds: f64,
}

/// Solves or checks the board.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let name = arguments.file.display();
    let board: Board = read(&arguments.file)?
        .parse()
        .map_err(|error| Failure::data(format_args!("{name}: {error}")))?;
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
        Answer::NoSolution => (report("no solution", None), answer(false)),
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

/// Reads a file or standard input.
fn read(path: &Path) -> Result<String, Failure> {
    if path == Path::new("-") {
        let mut text = String::new();
        let count = io::stdin().lock().take(MAX_BYTES + 1).read_to_string(&mut text);
        let count = count.map_err(|error| Failure::read("standard input", &error))?;
        if count as u64 > MAX_BYTES {
            return Err(Failure::data("standard input: longer than 4 MiB; pass one board"));
        }
        return Ok(text);
    }
    let name = path.display();
    let bytes = ouro_service::files::read_regular(path, MAX_BYTES)
        .map_err(|error| Failure::read(name, &error))?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::data(format_args!("{}: not a text; pass a board", path.display())))
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
    bar.set_message(format!("{nodes} decisions, round {round}, {starts} starts left"));
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
            nodes: 0,
            seconds: time.as_secs_f64(),
        }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { answer, width, height, cells, obstacles, solution, nodes, seconds } = self;
        if let Some(solution) = solution {
            writeln!(f, "{solution}")?;
        }
        write!(f, "{answer}: {width}x{height}, {cells} free cells, {obstacles} obstacles")?;
        if *nodes > 0 {
            write!(f, "; {nodes} decisions in {seconds:.3} s")?;
        }
        writeln!(f)
    }
}
