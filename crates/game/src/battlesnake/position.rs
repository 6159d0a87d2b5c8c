//! The portable form of a position, used in JSON, records and recorded games.
//!
//! [`Position`] is plain data and may hold anything. [`Position::validate`] names the first
//! invalid field. The engine's compact state converts to and from it.

mod error;
mod validate;

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use error::{
    MAX_FOOD_PER_CELL, MAX_HAZARDS, MAX_SIDE, MAX_SNAKES, MAX_TAIL_STACK, MAX_TURN, MIN_SIDE,
    PositionError,
};

/// A cell; (0, 0) is bottom-left, up is y + 1. May lie off the board.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(from = "(i32, i32)", into = "(i32, i32)")]
pub struct Point {
    /// Column.
    pub x: i32,
    /// Row.
    pub y: i32,
}

impl From<(i32, i32)> for Point {
    fn from((x, y): (i32, i32)) -> Self {
        Self { x, y }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}

impl From<Point> for (i32, i32) {
    fn from(point: Point) -> Self {
        (point.x, point.y)
    }
}

/// A living or dead snake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snake {
    /// Health, 1 to 100 while alive; the health at death otherwise.
    pub health: i32,
    /// Cells, head first; repeated last cells are a stacked tail. Empty for a snake whose body is
    /// no longer known.
    pub body: Vec<Point>,
    /// Cause and turn of its death; `None` while alive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub death: Option<Death>,
}

/// How and when a snake died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Death {
    /// The engine's reason.
    pub cause: Cause,
    /// Index of the snake that caused the death, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<u8>,
    /// Number of the first turn in which the snake is dead.
    pub on: u32,
}

/// The engine's reasons for an elimination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Health ran out in a hazard.
    Hazard,
    /// Starved.
    OutOfHealth,
    /// Left the board.
    WallCollision,
    /// Ran into itself.
    SnakeSelfCollision,
    /// Ran into another snake's body.
    SnakeCollision,
    /// Met another head and was not longer.
    HeadCollision,
}

/// One position of a game, complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Columns.
    pub width: u8,
    /// Rows.
    pub height: u8,
    /// Turn number of the next move request.
    pub turn: u32,
    /// All snakes in engine order, dead ones included.
    pub snakes: Vec<Snake>,
    /// Food in engine order; a cell may repeat.
    pub food: Vec<Point>,
    /// Hazards in engine order; a cell listed k times is a stack of k.
    pub hazards: Vec<Point>,
    /// Royale: how often the left, right, bottom and top side has shrunk.
    #[serde(default)]
    pub shrunk: [u16; 4],
}

impl Position {
    /// Food beyond the first on its cell.
    pub(super) fn repeated_food(&self) -> usize {
        self.food.len() - self.food.iter().collect::<BTreeSet<_>>().len()
    }
}
