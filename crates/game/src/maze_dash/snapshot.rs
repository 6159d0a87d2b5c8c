//! The portable form of a state. Deserialisation validates it, so every state that exists can be
//! played.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::config::MAX_GAME_SIDE;
use super::state::{Field, State};

/// A state as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The rows, top row first: `.` is left, `#` an obstacle, `o` visited, `@` the head.
    pub rows: Vec<String>,
    /// Actions so far.
    pub elapsed: u32,
}

/// Reason why a snapshot is not a valid state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// A side is 0 or too large.
    #[error("rows hold {width}x{height} cells; sides are 1 to {MAX_GAME_SIDE}")]
    Size {
        /// Cells of the first row.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// A row is longer or shorter than the first.
    #[error("rows[{row}] has {got} cells, rows[0] has {width}; make all rows equally long")]
    Width {
        /// Index of the row, from the top.
        row: usize,
        /// Its cells.
        got: usize,
        /// Cells of the first row.
        width: usize,
    },
    /// An unknown cell.
    #[error("rows[{row}] holds {letter:?}; cells are '.', '#', 'o' and '@'")]
    Letter {
        /// Index of the row, from the top.
        row: usize,
        /// The character.
        letter: char,
    },
    /// All cells are obstacles.
    #[error("rows have no free cell; a free cell is '.'")]
    NoFreeCell,
    /// Two heads, or visited cells without a head.
    #[error(
        "rows have {heads} heads '@' and {visited} other visited cells 'o'; a path has one head"
    )]
    Heads {
        /// Heads.
        heads: usize,
        /// Visited cells that are not the head.
        visited: usize,
    },
    /// Visited cells that no path to the head connects.
    #[error("{apart} visited cells are not connected with the head; a path has no gaps")]
    Apart {
        /// Visited cells out of reach.
        apart: usize,
    },
}

impl From<State> for Snapshot {
    fn from(state: State) -> Self {
        let rows = (0..state.height()).rev().map(|row| {
            let cells = row * state.width()..(row + 1) * state.width();
            cells.map(|cell| mark(&state, cell)).collect()
        });
        Self { rows: rows.collect(), elapsed: state.elapsed }
    }
}

/// The character of a cell.
pub(super) fn mark(state: &State, cell: usize) -> char {
    match () {
        () if state.head() == Some(cell) => '@',
        () if state.is_left(cell) => '.',
        () if state.is_free(cell) => 'o',
        () => '#',
    }
}

impl TryFrom<Snapshot> for State {
    type Error = StateError;

    fn try_from(snapshot: Snapshot) -> Result<Self, StateError> {
        let rows: Vec<Vec<char>> = snapshot.rows.iter().map(|row| row.chars().collect()).collect();
        let (width, height) = (rows.first().map_or(0, Vec::len), rows.len());
        let most = usize::from(MAX_GAME_SIDE);
        if !(1..=most).contains(&width) || !(1..=most).contains(&height) {
            return Err(StateError::Size { width, height });
        }
        for (row, cells) in rows.iter().enumerate() {
            if cells.len() != width {
                return Err(StateError::Width { row, got: cells.len(), width });
            }
            if let Some(&letter) = cells.iter().find(|&letter| !".#o@".contains(*letter)) {
                return Err(StateError::Letter { row, letter });
            }
        }
        let marks: Vec<char> = rows.into_iter().rev().flatten().collect();
        let places = |wanted: char| {
            let found = marks.iter().enumerate().filter(move |&(_, &mark)| mark == wanted);
            found.map(|(cell, _)| cell)
        };
        let (heads, visited) = (places('@').count(), places('o').count());
        if heads > 1 || heads < visited.min(1) {
            return Err(StateError::Heads { heads, visited });
        }
        let free = (0..marks.len()).filter(|&cell| marks[cell] != '#');
        let field = Field::new(width as u16, height as u16, free);
        if field.cells == 0 {
            return Err(StateError::NoFreeCell);
        }
        let mut state = Self::new(Arc::new(field));
        for cell in places('o').chain(places('@')) {
            state.visit(cell);
        }
        let apart = visited + heads - connected(&state);
        if apart > 0 {
            return Err(StateError::Apart { apart });
        }
        state.elapsed = snapshot.elapsed;
        Ok(state)
    }
}

/// Number of visited cells that visited cells connect with the head, which counts too.
fn connected(state: &State) -> usize {
    let Some(head) = state.head() else { return 0 };
    let (width, size) = (state.width(), state.width() * state.height());
    let is_visited = |cell: usize| state.is_free(cell) && !state.is_left(cell);
    let mut seen = vec![false; size];
    seen[head] = true;
    let mut queue = vec![head];
    let mut count = 0;
    while let Some(cell) = queue.pop() {
        count += 1;
        let near = [
            (cell + width < size).then(|| cell + width),
            cell.checked_sub(width),
            (!cell.is_multiple_of(width)).then(|| cell - 1),
            (!(cell + 1).is_multiple_of(width)).then_some(cell + 1),
        ];
        for next in near.into_iter().flatten().filter(|&next| is_visited(next)) {
            if !seen[next] {
                seen[next] = true;
                queue.push(next);
            }
        }
    }
    count
}
