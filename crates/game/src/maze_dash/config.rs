//! Configuration of a game: a board of its own for every seed, or one fixed board.

use std::fmt::Display;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::board::Board;
use super::generator::Style;
use crate::error::{ConfigError, one_line};

/// The game's name.
pub(super) const NAME: &str = "maze_dash";

/// Largest width and height of a board in a game. [`Board`] itself allows more.
pub const MAX_GAME_SIDE: u16 = 200;

/// Characters of a board's text that an error shows.
const SHOWN: usize = 40;

/// One game of Maze Dash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Columns of generated boards, 1 to 200.
    #[schemars(range(min = 1, max = MAX_GAME_SIDE))]
    pub width: u16,
    /// Rows of generated boards, 1 to 200.
    #[schemars(range(min = 1, max = MAX_GAME_SIDE))]
    pub height: u16,
    /// Obstacles of generated boards, less than cells.
    pub obstacles: u32,
    /// How hard generated boards are.
    pub style: Style,
    /// Whether the board gives the start.
    pub start: Start,
    /// A fixed board as text instead of a generated board: rows of `.` for a free cell, `#` or `X` for
    /// an obstacle and `S` for the start, the top row first; or the public line
    /// `x=WIDTH&y=HEIGHT&board=CELLS`; or JSON, `{"rows": ["S..", ".#."]}`. Size, obstacles and style are
    /// then those of the text. Without a start in the text, the start is free.
    pub board: Option<String>,
}

/// Whether the board gives the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// The game begins on the board's start, as in arXiv 2005.14156.
    #[default]
    Given,
    /// The first action chooses the start, as in Mortal Coil.
    Free,
}

impl Default for Config {
    /// The 10×10 boards of the paper's table I.
    fn default() -> Self {
        Self {
            width: 10,
            height: 10,
            obstacles: 32,
            style: Style::default(),
            start: Start::default(),
            board: None,
        }
    }
}

impl Config {
    /// Checks every field. Returns the fixed board, if there is one; its start is removed if the start
    /// is free.
    pub(super) fn check(&self) -> Result<Option<Board>, ConfigError> {
        if let Some(text) = &self.board {
            return self.read(text).map(Some);
        }
        for (field, side) in [("width", self.width), ("height", self.height)] {
            if !(1..=MAX_GAME_SIDE).contains(&side) {
                return Err(error(field, &side, format!("sides are 1 to {MAX_GAME_SIDE}")));
            }
        }
        let cells = u32::from(self.width) * u32::from(self.height);
        if self.obstacles >= cells {
            let remedy = format!("a board of {cells} cells has at most {}", cells - 1);
            return Err(error("obstacles", &self.obstacles, remedy));
        }
        Ok(None)
    }

    fn read(&self, text: &str) -> Result<Board, ConfigError> {
        let refused = |remedy: String| {
            let mut shown: String = one_line(text).chars().take(SHOWN).collect();
            if shown.len() < text.len() {
                shown.push('…');
            }
            error("board", &format_args!("{shown:?}"), one_line(&remedy))
        };
        let board: Board = text.parse().map_err(|error| refused(format!("{error}")))?;
        let (width, height) = (board.width(), board.height());
        if width.max(height) > usize::from(MAX_GAME_SIDE) {
            let size = format!("it is {width}x{height}; sides of a game are 1 to {MAX_GAME_SIDE}");
            return Err(refused(size));
        }
        if self.start == Start::Given {
            return Ok(board);
        }
        board.with_start(None).map_err(|error| refused(format!("{error}")))
    }
}

/// A configuration error of this game.
fn error(field: &'static str, value: &dyn Display, remedy: impl Into<String>) -> ConfigError {
    ConfigError::new(NAME, field, value, remedy)
}
