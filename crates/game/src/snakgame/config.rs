//! Configuration of SNAKGAME as a game of the catalog.

use std::fmt::Display;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::board::{MAX_SIDE, MIN_SIDE};
use super::cell::Cell;
use crate::error::{ConfigError, one_line};

/// The game's name.
pub(super) const NAME: &str = "snakgame";

/// Largest share of blocked cells.
pub const MAX_BLOCKED: f64 = 0.5;

/// Who moves second, and what counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Two players; the higher score wins.
    #[default]
    Duel,
    /// One player against Chef, whose moves are chance; only the player's score counts.
    Official,
}

/// When a player may give up its snake for a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NewSnakes {
    /// In every turn, as in the contest.
    #[default]
    AnyTime,
    /// Only if the current snake cannot be extended. A variant for learning: a position has at
    /// most eight actions instead of one for every empty cell. Chef keeps the contest's rules.
    WhenStuck,
}

/// One game of SNAKGAME.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Who moves second, and what counts.
    pub mode: Mode,
    /// Rows, 10 to 600. With `board` they are those of the board, 1 to 600.
    #[schemars(range(min = 1, max = MAX_SIDE))]
    pub rows: u16,
    /// Columns, 10 to 600. With `board` they are those of the board, 1 to 600.
    #[schemars(range(min = 1, max = MAX_SIDE))]
    pub columns: u16,
    /// Probability that a cell is blocked, 0 to 0.5, rounded to millionths. The contest's is 1/25.
    #[schemars(range(min = 0, max = 0.5))]
    pub blocked: f64,
    /// Seed of the blocked cells; without it, every game draws a board from its own seed. With the
    /// contest's probability, `ouro snakgame judge` has the same board for the same seed and size.
    pub board_seed: Option<u64>,
    /// A fixed board instead of a drawn one: its rows from the top, `.` for an empty and `#` for
    /// a blocked cell.
    pub board: Option<Vec<String>>,
    /// When a player may give up its snake for a new one.
    pub new_snakes: NewSnakes,
    /// Whether EXIT is legal. It never raises a score, and in a duel it loses, so players that
    /// learn are better off without it.
    pub exit: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Duel,
            rows: MIN_SIDE,
            columns: MIN_SIDE,
            blocked: 0.04,
            board_seed: None,
            board: None,
            new_snakes: NewSnakes::AnyTime,
            exit: false,
        }
    }
}

impl Config {
    /// Cells of the board, blocked ones included.
    pub fn cells(&self) -> usize {
        usize::from(self.rows) * usize::from(self.columns)
    }

    /// Checks every field; the error names the first that is out of range.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let least = if self.board.is_some() { 1 } else { MIN_SIDE };
        for (field, side) in [("rows", self.rows), ("columns", self.columns)] {
            if !(least..=MAX_SIDE).contains(&side) {
                let remedy = format!("it must be {least} to {MAX_SIDE}");
                return Err(config_error(field, &side, remedy));
            }
        }
        if !(0.0..=MAX_BLOCKED).contains(&self.blocked) {
            let remedy = format!("it must be 0 to {MAX_BLOCKED}");
            return Err(config_error("blocked", &self.blocked, remedy));
        }
        match (&self.board, self.board_seed) {
            (Some(_), Some(seed)) => {
                Err(config_error("board_seed", &seed, "leave it out if the board is given"))
            }
            (Some(board), None) => self.check_board(board),
            (None, _) => Ok(()),
        }
    }

    fn check_board(&self, board: &[String]) -> Result<(), ConfigError> {
        if board.len() != usize::from(self.rows) {
            let value = format!("{} lines", board.len());
            let remedy = format!("rows is {}; make both equal", self.rows);
            return Err(config_error("board", &value, remedy));
        }
        for (index, line) in board.iter().enumerate() {
            let row = index + 1;
            if let Some(mark) = line.chars().find(|mark| !matches!(mark, '.' | '#')) {
                let value = format!("{:?} in line {row}", one_line(&mark.to_string()));
                return Err(config_error("board", &value, "write . for empty and # for blocked"));
            }
            if line.len() != usize::from(self.columns) {
                let value = format!("{} cells in line {row}", line.len());
                let remedy = format!("columns is {}; make both equal", self.columns);
                return Err(config_error("board", &value, remedy));
            }
        }
        if !board.iter().any(|line| line.contains('.')) {
            return Err(config_error("board", &"blocked everywhere", "leave a cell empty"));
        }
        Ok(())
    }

    /// The blocked cells of the fixed board.
    pub(super) fn fixed_cells(board: &[String]) -> impl Iterator<Item = Cell> {
        board.iter().zip(1..).flat_map(|(line, row)| {
            let cells = line.bytes().zip(1..).filter(|&(mark, _)| mark == b'#');
            cells.map(move |(_, column)| Cell::new(row, column))
        })
    }

    /// Blocked cells in so many millionths.
    pub(super) fn blocked_millionths(&self) -> u32 {
        (self.blocked * 1e6).round() as u32
    }
}

/// A configuration error of this game.
pub(super) fn config_error(
    field: &'static str,
    value: &dyn Display,
    remedy: impl Into<String>,
) -> ConfigError {
    ConfigError::new(NAME, field, value, remedy)
}
