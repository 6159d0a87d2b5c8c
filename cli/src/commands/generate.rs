//! `ouro generate`: boards of Maze Dash that have a solution.

use std::fmt::{self, Display, Formatter};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use ouro_game::maze_dash::{Board, MAX_SIDE, Solution, Style, generate_in_style};
use serde_json::{Map, Value};

use super::numbers::whole;
use crate::failure::Failure;
use crate::output::Output;

/// Generate boards of Maze Dash (Mortal Coil) that have a solution.
///
/// The same arguments give the same boards on every machine. Board k of `--boards` is the board of
/// the seed SEED + k - 1. Boards in rows have a blank line between them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ouro generate 50 50 --obstacles 776
  ouro generate 20 20 --free-start --format line --boards 100
  ouro generate 30 30 --style hard | ouro solve -")]
pub(crate) struct Arguments {
    /// Cells in a row, from 1 to 1000.
    #[arg(value_parser = whole::<usize>(1..=MAX_SIDE))]
    width: usize,
    /// Rows, from 1 to 1000.
    #[arg(value_parser = whole::<usize>(1..=MAX_SIDE))]
    height: usize,
    /// Obstacles, exactly; 31 % of the cells if not given, as on the paper's largest boards.
    #[arg(long, value_parser = whole::<usize>(0..=MAX_SIDE * MAX_SIDE))]
    obstacles: Option<usize>,
    /// Seed of the first board.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Style: plain, standard or hard.
    #[arg(long, default_value = "standard", value_parser = super::style::parse)]
    style: Style,
    /// Leave the start free.
    #[arg(long)]
    free_start: bool,
    /// Number of boards.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>(1..=u64::MAX))]
    boards: u64,
    /// How boards are printed. With `--json` each is a line `{"rows": [...]}`.
    #[arg(long, value_enum, default_value_t = Format::Rows)]
    format: Format,
    /// Print after each board the solution from which it was made.
    #[arg(long)]
    solution: bool,
}

/// A text format of boards.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Rows of `.`, `#` and `S`.
    Rows,
    /// The public line `x=WIDTH&y=HEIGHT&board=CELLS`.
    Line,
}

/// Generates and prints the boards.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let Arguments { width, height, seed, style, format, .. } = *arguments;
    let cells = width.saturating_mul(height);
    let obstacles = arguments.obstacles.unwrap_or(cells / 100 * 31 + cells % 100 * 31 / 100);
    for number in 0..arguments.boards {
        let seed = seed.wrapping_add(number);
        let (board, path) =
            generate_in_style(width, height, obstacles, seed, style).map_err(Failure::usage)?;
        let solution = arguments.solution.then(|| Solution::from_path(&board, &path).to_string());
        let board = if arguments.free_start {
            board.with_start(None).map_err(Failure::bug)?
        } else {
            board
        };
        let mut value: Map<String, Value> =
            serde_json::from_str(&board.to_json()).map_err(Failure::bug)?;
        value.extend(solution.clone().map(|text| ("solution".to_owned(), text.into())));
        let is_first = number == 0;
        output.result(&value, &Text { board, solution, format, is_first })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A board in a text format, then its solution.
struct Text {
    board: Board,
    solution: Option<String>,
    format: Format,
    /// Whether no board is printed before it.
    is_first: bool,
}

impl Display for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.format {
            Format::Rows if self.is_first => write!(f, "{}", self.board)?,
            // Without a blank line, the rows of two boards would look like one board.
            Format::Rows => write!(f, "\n{}", self.board)?,
            Format::Line => writeln!(f, "{}", self.board.to_line())?,
        }
        self.solution.as_ref().map_or(Ok(()), |solution| writeln!(f, "{solution}"))
    }
}
