//! `ouro bench maze-dash`: table I of arXiv 2005.14156, with every method on the same boards.

use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use ouro_game::maze_dash::{Board, Solution, Style, generate_in_style};
use ouro_maze::{Answer, Limits, Method};
use serde::Serialize;

use super::machine::Machine;
use super::timing::Spread;
use crate::commands::method;
use crate::commands::numbers::whole;
use crate::commands::seconds::positive;
use crate::commands::style;
use crate::failure::Failure;
use crate::output::Output;

/// Solve generated boards of Maze Dash with every method, beside the paper's times.
///
/// The boards have the sizes and numbers of obstacles of the paper's table I and a given start. A
/// board that takes longer than the limit counts as a failure. Median and maximum are those of the
/// boards that were solved.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Methods to compare; all if none is named.
    #[arg(value_parser = method::parse)]
    methods: Vec<Method>,
    /// Sides of the boards, separated by commas. Besides the paper's, any side from 2 to 1000; 31 % are then
    /// obstacles.
    #[arg(long, value_delimiter = ',', default_value = "5,6,10,15,20,30,50")]
    sides: Vec<usize>,
    /// Boards of each size.
    #[arg(long, default_value_t = 50, value_parser = whole::<u16>(1..=u16::MAX))]
    boards: u16,
    /// Seconds for each board.
    #[arg(long, default_value_t = 20.0, value_parser = positive)]
    seconds: f64,
    /// Style of the boards: plain, standard or hard.
    #[arg(long, default_value = "standard", value_parser = style::parse)]
    style: Style,
    /// Leave the start free. The default is a given start, as in the paper.
    #[arg(long)]
    free_start: bool,
    /// Threads of the search for each board.
    #[arg(long, default_value_t = 1, value_parser = whole::<u16>(1..=1024))]
    threads: u16,
}

/// A row of the paper's table I: mean seconds of 50 runs on a Xeon E5-2697v3.
struct PaperRow {
    side: usize,
    obstacles: usize,
    sat: Option<f64>,
    backtracking: Option<f64>,
    mcts: Option<f64>,
}

const fn paper(
    side: usize,
    obstacles: usize,
    sat: f64,
    backtracking: Option<f64>,
    mcts: Option<f64>,
) -> PaperRow {
    PaperRow { side, obstacles, sat: Some(sat), backtracking, mcts }
}

const PAPER: [PaperRow; 7] = [
    paper(5, 4, 0.45, Some(0.010), Some(0.011)),
    paper(6, 10, 0.65, Some(0.012), Some(0.013)),
    paper(10, 32, 1.79, Some(0.45), Some(0.07)),
    paper(15, 66, 4.18, Some(5.24), Some(0.09)),
    paper(20, 133, 11.28, Some(9.62), Some(1.16)),
    paper(30, 378, 17.94, Some(43.7), Some(5.42)),
    paper(50, 776, 126.6, None, None),
];

/// The figures of one method on one size.
#[derive(Debug, Serialize)]
struct Row {
    side: usize,
    obstacles: usize,
    method: &'static str,
    boards: usize,
    solved: usize,
    /// Seconds of the solved boards; absent if none was solved.
    seconds: Option<Spread>,
    /// Mean seconds in the paper; absent where it has none or its method failed.
    paper_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    limit_seconds: f64,
    style: Style,
    free_start: bool,
    rows: Vec<Row>,
}

/// Solves all boards and prints the table.
pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let machine = Machine::here();
    if !machine.release_build {
        writeln!(io::stderr(), "warning: this is a debug build; its times mean little")?;
    }
    let methods: &[Method] =
        if arguments.methods.is_empty() { &Method::ALL } else { &arguments.methods };
    let longest = arguments.sides.iter().copied().max().unwrap_or_default();
    methods.iter().try_for_each(|&chosen| method::check_side(chosen, longest))?;
    let mut rows = Vec::new();
    for &side in &arguments.sides {
        let paper = PAPER.into_iter().find(|row| row.side == side);
        let obstacles = paper.as_ref().map_or(side * side * 31 / 100, |row| row.obstacles);
        let boards = boards(arguments, side, obstacles)?;
        for &method in methods {
            let paper_seconds = paper.as_ref().and_then(|row| match method {
                Method::Backtracking => row.backtracking,
                Method::Sat => row.sat,
                Method::Mcts => row.mcts,
                Method::Search => None,
            });
            rows.push(measure(arguments, &boards, method, paper_seconds)?);
        }
    }
    let Arguments { seconds: limit_seconds, style, free_start, .. } = *arguments;
    let report = Report { machine, limit_seconds, style, free_start, rows };
    output.result(&report, &report)?;
    Ok(ExitCode::SUCCESS)
}

fn boards(arguments: &Arguments, side: usize, obstacles: usize) -> Result<Vec<Board>, Failure> {
    (0..u64::from(arguments.boards))
        .map(|seed| {
            let (board, _) = generate_in_style(side, side, obstacles, seed, arguments.style)
                .map_err(Failure::usage)?;
            if arguments.free_start {
                board.with_start(None).map_err(Failure::bug)
            } else {
                Ok(board)
            }
        })
        .collect()
}

/// Solves each board within the limit, and checks the solutions.
fn measure(
    arguments: &Arguments,
    boards: &[Board],
    method: Method,
    paper_seconds: Option<f64>,
) -> Result<Row, Failure> {
    let limit = Duration::from_secs_f64(arguments.seconds);
    let mut seconds = Vec::new();
    for (seed, board) in (1..).zip(boards) {
        let limits = Limits { threads: arguments.threads.into(), seed };
        let begin = Instant::now();
        let solved = method.solve(board, limits, &|_| begin.elapsed() < limit);
        let time = begin.elapsed().as_secs_f64();
        match solved.answer {
            Answer::Path(path) => {
                Solution::from_path(board, &path).check(board).map_err(Failure::bug)?;
                seconds.push(time);
            }
            Answer::Stopped => {}
            Answer::NoSolution => {
                let name = method.name();
                let error = format_args!("{name} refutes a board that has a solution");
                return Err(Failure::bug(error));
            }
        }
    }
    let first = boards.first().ok_or_else(|| Failure::bug("no board was generated"))?;
    Ok(Row {
        side: first.width(),
        obstacles: first.obstacles(),
        method: method.name(),
        boards: boards.len(),
        solved: seconds.len(),
        seconds: Spread::of(seconds),
        paper_seconds,
    })
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let start = if self.free_start { "free" } else { "given" };
        let Self { machine, limit_seconds, style, .. } = self;
        let (cpu, style) = (&machine.cpu, style.name());
        writeln!(
            f,
            "{cpu}, {style} boards, {start} start, limit {limit_seconds} s for each board"
        )?;
        let [side, obstacles, method, solved] = ["side", "obstacles", "method", "solved"];
        // A board that took longer than the limit has no time. With it both figures would be larger.
        let [median, max, paper] = ["median s of solved", "max s of solved", "paper s"];
        writeln!(
            f,
            "{side:>4} {obstacles:>9} {method:12} {solved:>8} {median:>18} {max:>15} {paper:>8}"
        )?;
        let shown =
            |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
        for row in &self.rows {
            let Row { side, obstacles, method, boards, solved, seconds, paper_seconds } = row;
            let solved = format!("{solved}/{boards}");
            let [median, max] =
                [seconds.map(|spread| spread.median), seconds.map(|spread| spread.max)];
            let [median, max, paper] = [median, max, *paper_seconds].map(shown);
            writeln!(
                f,
                "{side:>4} {obstacles:>9} {method:12} {solved:>8} {median:>18} {max:>15} {paper:>8}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn the_default_sides_are_those_of_the_paper() {
        let sides = |words: &[&str]| CommandLine::parse_from(words).arguments.sides;
        assert_eq!(sides(&["bench"]), PAPER.map(|row| row.side));
        assert_eq!(sides(&["bench", "--sides", "5,8"]), [5, 8]);
    }

    #[test]
    fn the_table_says_that_unsolved_boards_have_no_time() {
        let row = Row {
            side: 30,
            obstacles: 378,
            method: "backtracking",
            boards: 50,
            solved: 3,
            seconds: Spread::of(vec![1.0, 2.0, 3.5]),
            paper_seconds: Some(43.7),
        };
        let (machine, style) = (Machine::here(), Style::Standard);
        let rows = vec![row];
        let report = Report { machine, limit_seconds: 4.0, style, free_start: false, rows };
        let text = report.to_string();
        let [_, heads, row] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert!(heads.ends_with("solved median s of solved max s of solved  paper s"), "{heads}");
        assert!(row.ends_with("3/50             2.0000          3.5000  43.7000"), "{row}");
        assert_eq!(heads.len(), row.len());
    }
}
