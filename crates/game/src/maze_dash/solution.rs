//! Solutions in the public notation, and the check of them.

use std::fmt;
use std::str::FromStr;

use super::board::Board;
use super::direction::Direction;
use super::trail::Trail;
use crate::error::one_line;

/// A start and the directions of slides.
///
/// The text is `x=COLUMN&y=ROW&path=LETTERS` with one letter of `UDLR` for each slide, or
/// `x=…&y=…&qpath=LETTERS` with letters for the first slide and for each later decision. Rows count
/// from the top, as in the public format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// Column of the start, from the left.
    pub x: usize,
    /// Row of the start, from the top.
    pub y: usize,
    /// The directions.
    pub moves: Vec<Direction>,
    /// Whether `moves` holds the first slide and decisions only, without later forced slides.
    pub decisions_only: bool,
}

/// A text that is no solution, or a solution that does not solve the board.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolutionError {
    /// The text has another format.
    #[error("the solution {0:?} cannot be read; write x=0&y=0&path=RDLU or x=0&y=0&qpath=RD")]
    Format(String),
    /// The start is not a free cell.
    #[error("the solution starts at column {x}, row {y}, which is not a free cell")]
    Start {
        /// Column.
        x: usize,
        /// Row from the top.
        y: usize,
    },
    /// The board gives another start.
    #[error("the solution starts at column {x}, row {y}, but the board gives another start")]
    OtherStart {
        /// Column.
        x: usize,
        /// Row from the top.
        y: usize,
    },
    /// A slide cannot start.
    #[error("move {number} of the solution goes {letter}, where the next cell is not free")]
    Blocked {
        /// Number of the move, from 1.
        number: usize,
        /// Its letter.
        letter: char,
    },
    /// The path ends with free cells left.
    #[error("the solution visits {visited} of {cells} free cells")]
    Incomplete {
        /// Cells that the path visits.
        visited: usize,
        /// All free cells.
        cells: usize,
    },
}

impl Solution {
    /// The solution that follows `path`, cell by cell from the start. The slides of a path that
    /// does not obey the rules are meaningless; [`check`](Self::check) finds that.
    pub fn from_path(board: &Board, path: &[usize]) -> Self {
        let width = board.width();
        let start = path.first().copied().unwrap_or_default();
        let mut moves: Vec<Direction> = Vec::new();
        for pair in path.windows(2) {
            let step = Direction::ALL
                .into_iter()
                .find(|&direction| board.neighbour(pair[0], direction) == Some(pair[1]));
            if let Some(step) = step
                && moves.last() != Some(&step)
            {
                moves.push(step);
            }
        }
        Self { x: start % width, y: row(board, start), moves, decisions_only: false }
    }

    /// Checks that the solution solves `board`. Returns the path, cell by cell.
    ///
    /// Solutions with decisions only may leave out a first slide that is forced.
    pub fn check(&self, board: &Board) -> Result<Vec<usize>, SolutionError> {
        let (x, y) = (self.x, self.y);
        let outside = x >= board.width() || y >= board.height();
        let start = if outside { usize::MAX } else { (board.height() - 1 - y) * board.width() + x };
        let trail = Trail::new(board, start).ok_or(SolutionError::Start { x, y })?;
        if board.start().is_some_and(|given| given != start) {
            return Err(SolutionError::OtherStart { x, y });
        }
        if !self.decisions_only {
            return self.follow(trail, board);
        }
        let mut slid = trail.clone();
        slid.slide_while_forced(|_| {});
        self.follow(trail, board).or_else(|error| self.follow(slid, board).map_err(|_| error))
    }

    /// Makes the moves, and the forced slides after each if they are left out.
    fn follow(&self, mut trail: Trail<'_>, board: &Board) -> Result<Vec<usize>, SolutionError> {
        for (index, &direction) in self.moves.iter().enumerate() {
            if trail.slide(direction) == 0 {
                let (number, letter) = (index + 1, direction.letter());
                return Err(SolutionError::Blocked { number, letter });
            }
            if self.decisions_only {
                trail.slide_while_forced(|_| {});
            }
        }
        if !trail.is_complete() {
            let (visited, cells) = (trail.path().len(), board.cells());
            return Err(SolutionError::Incomplete { visited, cells });
        }
        Ok(trail.path().to_vec())
    }

    /// The same solution with the first slide and decisions only. The solution must solve `board`.
    pub fn decisions(&self, board: &Board) -> Result<Self, SolutionError> {
        let path = self.check(board)?;
        let mut moves = Vec::new();
        if let Some(mut trail) = path.first().and_then(|&start| Trail::new(board, start)) {
            for slide in Self::from_path(board, &path).moves {
                if moves.is_empty() || trail.options().nth(1).is_some() {
                    moves.push(slide);
                }
                trail.slide(slide);
            }
        }
        Ok(Self { moves, decisions_only: true, ..*self })
    }
}

/// Row of a cell, from the top.
fn row(board: &Board, cell: usize) -> usize {
    (board.height() - 1).saturating_sub(cell / board.width())
}

impl fmt::Display for Solution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if self.decisions_only { "qpath" } else { "path" };
        write!(f, "x={}&y={}&{key}=", self.x, self.y)?;
        self.moves.iter().try_for_each(|direction| write!(f, "{}", direction.letter()))
    }
}

impl FromStr for Solution {
    type Err = SolutionError;

    fn from_str(text: &str) -> Result<Self, SolutionError> {
        let text = text.trim();
        let parse = || {
            let mut parts = text.split('&');
            let x = parts.next()?.strip_prefix("x=")?.parse().ok()?;
            let y = parts.next()?.strip_prefix("y=")?.parse().ok()?;
            let (key, letters) = parts.next()?.split_once('=')?;
            let decisions_only = match key {
                "path" => false,
                "qpath" => true,
                _ => return None,
            };
            let moves = letters.chars().map(Direction::from_letter).collect::<Option<_>>()?;
            parts.next().is_none().then_some(Self { x, y, moves, decisions_only })
        };
        parse().ok_or_else(|| SolutionError::Format(one_line(&shortened(text))))
    }
}

/// The first characters of a text, for a message.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
