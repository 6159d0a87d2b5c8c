//! The portable form of a state.
//!
//! Deserialisation validates all fields, so every state that exists can be played.

use serde::{Deserialize, Serialize};

use super::config::{MAX_SIZE, MIN_SIZE};
use super::state::State;
use crate::grid::STEPS;

/// A state as JSON; cells are `[x, y]`, (0, 0) bottom-left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Rows and columns.
    pub size: u8,
    /// Cells of the snake, head first, at least two.
    pub body: Vec<(u8, u8)>,
    /// The apple; `null` between eating one and drawing the next.
    pub apple: Option<(u8, u8)>,
    /// Time steps since the start.
    pub elapsed: u32,
}

/// Reason why a snapshot is not a valid state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// A side outside the range of boards or of this size class.
    #[error("size is {size}; it must be {MIN_SIZE} to {MAX_SIZE}, with at most {limit} cells")]
    Size {
        /// The side given.
        size: u8,
        /// Cells that this class of board holds.
        limit: usize,
    },
    /// Too short for a snake, or longer than the board.
    #[error("body has {got} cells; it must have 2 to {most}")]
    Length {
        /// Cells given.
        got: usize,
        /// Cells of the board.
        most: usize,
    },
    /// A cell that is not on the board.
    #[error("{field} is ({x}, {y}), off the board of side {size}")]
    OffBoard {
        /// Path of the field.
        field: String,
        /// Column given.
        x: u8,
        /// Row given.
        y: u8,
        /// Rows and columns.
        size: u8,
    },
    /// Two consecutive cells of the body that are not neighbours.
    #[error("body[{index}] is ({x}, {y}), which is not next to body[{}]", index - 1)]
    Gap {
        /// Index of the later cell.
        index: usize,
        /// Its column.
        x: u8,
        /// Its row.
        y: u8,
    },
    /// A cell that the body enters twice.
    #[error("body[{index}] is ({x}, {y}), where the body has been before")]
    Overlap {
        /// Index of the later cell.
        index: usize,
        /// Its column.
        x: u8,
        /// Its row.
        y: u8,
    },
    /// An apple under the snake.
    #[error("apple is ({x}, {y}), a cell of the body")]
    AppleOnBody {
        /// Its column.
        x: u8,
        /// Its row.
        y: u8,
    },
}

impl<const W: usize> From<State<W>> for Snapshot {
    fn from(state: State<W>) -> Self {
        let size = state.size();
        let point = |cell: usize| ((cell % size) as u8, (cell / size) as u8);
        let mut body: Vec<_> = state.trail().map(point).collect();
        body.reverse();
        Self { size: state.size, body, apple: state.apple().map(point), elapsed: state.elapsed }
    }
}

impl<const W: usize> TryFrom<Snapshot> for State<W> {
    type Error = StateError;

    fn try_from(snapshot: Snapshot) -> Result<Self, StateError> {
        let Snapshot { size, body, apple, elapsed } = snapshot;
        let (side, limit) = (usize::from(size), 64 * W);
        if !(MIN_SIZE..=MAX_SIZE).contains(&size) || side * side > limit {
            return Err(StateError::Size { size, limit });
        }
        let (got, most) = (body.len(), side * side);
        if !(2..=most).contains(&got) {
            return Err(StateError::Length { got, most });
        }
        let cell = |field: String, (x, y): (u8, u8)| {
            if x >= size || y >= size {
                return Err(StateError::OffBoard { field, x, y, size });
            }
            Ok(usize::from(y) * side + usize::from(x))
        };
        let tail = cell(format!("body[{}]", got - 1), body[got - 1])?;
        let mut state = Self::single_cell(size, tail);
        for index in (0..got - 1).rev() {
            let (from, (x, y)) = (body[index + 1], body[index]);
            let next = cell(format!("body[{index}]"), (x, y))?;
            let step = (i32::from(x) - i32::from(from.0), i32::from(y) - i32::from(from.1));
            let Some(direction) = STEPS.iter().position(|&known| known == step) else {
                let (x, y) = from;
                return Err(StateError::Gap { index: index + 1, x, y });
            };
            if state.occupied.contains(next) {
                return Err(StateError::Overlap { index, x, y });
            }
            state.push_head(direction, next);
            state.length += 1;
        }
        if let Some((x, y)) = apple {
            let cell = cell("apple".to_owned(), (x, y))?;
            if state.occupied.contains(cell) {
                return Err(StateError::AppleOnBody { x, y });
            }
            state.set_apple(Some(cell));
        }
        state.elapsed = elapsed;
        Ok(state)
    }
}
