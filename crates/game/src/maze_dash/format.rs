//! Boards as text, in one line and as JSON.
//!
//! | format | example |
//! |---|---|
//! | rows | `S..`, `.#.`, one line each, top row first |
//! | rows after their size | `2 3` (height, width), then the rows |
//! | one line, public | `x=3&y=2&board=....X.` (width, height, rows from the top) |
//! | JSON | `{"rows": ["S..", ".#."]}` |
//!
//! A free cell is `.`, an obstacle `#` or `X`, the start `S`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::board::{Board, BoardError, MAX_SIDE};
use crate::error::one_line;

/// A board as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    rows: Vec<String>,
}

impl Board {
    /// The public format of one line. The start, if one is given, is `S`.
    pub fn to_line(&self) -> String {
        format!("x={}&y={}&board={}", self.width(), self.height(), self.rows('X').concat())
    }

    /// The board as JSON.
    pub fn to_json(&self) -> String {
        serde_json::json!({ "rows": self.rows('#') }).to_string()
    }

    /// The rows from the top.
    fn rows(&self, obstacle: char) -> Vec<String> {
        let cell = |cell: usize| match () {
            () if self.start() == Some(cell) => 'S',
            () if self.is_free(cell) => '.',
            () => obstacle,
        };
        let width = self.width();
        (0..self.height()).rev().map(|y| (y * width..(y + 1) * width).map(cell).collect()).collect()
    }

    /// Builds a board from its rows, the top row first.
    fn from_rows(rows: &[&str]) -> Result<Self, BoardError> {
        let height = rows.len();
        let width = rows.first().map_or(0, |row| row.chars().count());
        if !(1..=MAX_SIDE).contains(&width) || !(1..=MAX_SIDE).contains(&height) {
            return Err(BoardError::Size { width, height });
        }
        let mut free = Vec::with_capacity(width * height);
        let mut start = None;
        for (y, row) in rows.iter().rev().enumerate() {
            let number = height - y;
            for letter in row.chars() {
                match letter {
                    'S' if start.is_some() => return Err(malformed("it has two starts 'S'")),
                    'S' => start = Some(free.len()),
                    '.' | '#' | 'X' => {}
                    other => {
                        let problem = format!("row {number} holds {other:?}");
                        return Err(malformed(&format!("{problem}; cells are '.', '#', 'X', 'S'")));
                    }
                }
                free.push(matches!(letter, '.' | 'S'));
            }
            if free.len() != (y + 1) * width {
                let cells = row.chars().count();
                let problem = format!("row {number} has {cells} cells, the first has {width}");
                return Err(malformed(&problem));
            }
        }
        Self::new(width, height, free, start)
    }
}

fn malformed(problem: &str) -> BoardError {
    // Errors of JSON quote the names of fields, line breaks included.
    BoardError::Format(one_line(problem))
}

/// Parses `x=W&y=H&board=CELLS`.
fn parse_line(text: &str) -> Result<Board, BoardError> {
    let problem = || malformed("the line is not x=WIDTH&y=HEIGHT&board=CELLS");
    let mut parts = text.split('&');
    let mut field =
        |name: &str| parts.next().and_then(|part| part.strip_prefix(name)).ok_or_else(problem);
    let width: usize = field("x=")?.parse().map_err(|_| problem())?;
    let height: usize = field("y=")?.parse().map_err(|_| problem())?;
    let cells: Vec<char> = field("board=")?.chars().collect();
    if parts.next().is_some() {
        return Err(problem());
    }
    if !(1..=MAX_SIDE).contains(&width) || !(1..=MAX_SIDE).contains(&height) {
        return Err(BoardError::Size { width, height });
    }
    if cells.len() != width * height {
        let problem = format!("{} cells are given for {width}x{height}", cells.len());
        return Err(BoardError::Format(problem));
    }
    let rows: Vec<String> = cells.chunks(width).map(|row| row.iter().collect()).collect();
    Board::from_rows(&rows.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Parses `HEIGHT WIDTH`, then rows. `None` if the text does not begin with two numbers.
fn parse_sized(text: &str) -> Option<Result<Board, BoardError>> {
    let mut words = text.split_whitespace();
    let height: usize = words.next()?.parse().ok()?;
    let width: usize = words.next()?.parse().ok()?;
    if !(1..=MAX_SIDE).contains(&width) || !(1..=MAX_SIDE).contains(&height) {
        return Some(Err(BoardError::Size { width, height }));
    }
    let rows: Vec<&str> = words.collect();
    if rows.len() != height || rows[0].chars().count() != width {
        let columns = rows.first().map_or(0, |row| row.chars().count());
        let problem = format!("{height}x{width} is announced, {}x{columns} follows", rows.len());
        return Some(Err(malformed(&format!("{problem} (height x width)"))));
    }
    Some(Board::from_rows(&rows))
}

impl FromStr for Board {
    type Err = BoardError;

    /// Reads any of the formats of this module.
    fn from_str(text: &str) -> Result<Self, BoardError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(malformed("the text is empty"));
        }
        if text.starts_with('{') {
            let json: Rows = serde_json::from_str(text).map_err(|error| {
                malformed(&format!("the JSON is not {{\"rows\": […]}}: {error}"))
            })?;
            return Self::from_rows(&json.rows.iter().map(String::as_str).collect::<Vec<_>>());
        }
        if text.starts_with("x=") {
            return parse_line(text);
        }
        if let Some(board) = parse_sized(text) {
            return board;
        }
        Self::from_rows(&text.lines().map(str::trim_end).collect::<Vec<_>>())
    }
}

/// The rows, top row first, each with a line end.
impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows('#').iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}
