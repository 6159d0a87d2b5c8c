//! The portable form of a state.
//!
//! Deserialisation validates all fields, so every state that exists can be played. Two properties
//! are not checked: whether the cells of a side can be divided into paths of the given lengths, and
//! whether the score of the dead snakes is exactly one that those lengths give. The rules never
//! read more than what is checked.

use serde::{Deserialize, Serialize};

use super::board::MAX_SIDE;
use super::cell::Cell;
use super::cell_set::Words;
use super::chef::LONGEST_FREEZE;
use super::side::{Side, Snake, Snakes, snake_score};
use super::state::State;

/// Marks of the cells in the rows of a snapshot: empty, blocked, first and second side.
const MARKS: [u8; 4] = *b".#ab";

/// A state as JSON; cells are `[row, column]`, counted from 1 at the top left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Rows from the top: `.` empty, `#` blocked, `a` and `b` cells of the two sides.
    pub board: Vec<String>,
    /// The snakes of the two sides.
    pub snakes: [SnakesSnapshot; 2],
    /// The side whose turn it is: 0 or 1.
    pub to_move: u8,
    /// Turns for which Chef does nothing, the one that has just passed included.
    pub frozen: u8,
    /// The side that has ended the game with EXIT.
    pub exited: Option<u8>,
}

/// The snakes of one side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnakesSnapshot {
    /// The ends of the current snake; `null` before the first.
    pub ends: Option<[(u16, u16); 2]>,
    /// Cells of the current snake; 0 before the first.
    pub length: u32,
    /// Snakes so far.
    pub count: u32,
    /// Score of the snakes before the current one.
    pub dead_score: u64,
}

/// Reason why a snapshot is not a valid state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// A side is 0 or too large.
    #[error(
        "board has {rows} rows and {columns} columns; it must have 1 to {MAX_SIDE} of each, at most {most} cells"
    )]
    Size {
        /// Rows given.
        rows: usize,
        /// Columns of the first row.
        columns: usize,
        /// Cells that this class of board holds.
        most: usize,
    },
    /// A row is shorter or longer than the first.
    #[error("board[{row}] has {got} cells; the first row has {columns}")]
    Ragged {
        /// Row, from 0.
        row: usize,
        /// Its cells.
        got: usize,
        /// Columns of the first row.
        columns: usize,
    },
    /// A character that stands for no content.
    #[error("board[{row}] has an unknown cell in column {column}; cells are . # a b")]
    Mark {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
    },
    /// A field contradicts the board or another field.
    #[error("snakes[{side}].{field} is {value}; {remedy}")]
    Snakes {
        /// The side.
        side: usize,
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What it must be.
        remedy: &'static str,
    },
    /// An end that is no cell of its side, or ends that no snake of this length has.
    #[error("snakes[{side}].ends are {ends:?}; {remedy}")]
    Ends {
        /// The side.
        side: usize,
        /// The ends given.
        ends: [(u16, u16); 2],
        /// What they must be.
        remedy: &'static str,
    },
    /// Numbers of cells that no sequence of turns gives.
    #[error(
        "the sides have {first} and {second} cells with side {to_move} to move; the first side moves first and at least as often"
    )]
    OutOfTurn {
        /// Cells of the first side.
        first: u32,
        /// Cells of the second side.
        second: u32,
        /// The side to move.
        to_move: u8,
    },
    /// No such side.
    #[error("{field} is {value}; sides are 0 and 1")]
    Side {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u8,
    },
    /// A freeze that Chef cannot make.
    #[error(
        "frozen is {value}; it must be 0 to {LONGEST_FREEZE}, and 0 while the second side is to move"
    )]
    Frozen {
        /// Turns given.
        value: u8,
    },
}

impl<W: Words> From<State<W>> for Snapshot {
    fn from(state: State<W>) -> Self {
        let columns = usize::from(state.columns);
        let mark = |index: usize| {
            let mark = if state.empty.contains(index) {
                0
            } else {
                let owner = state.occupied.iter().position(|set| set.contains(index));
                owner.map_or(1, |side| side + 2)
            };
            char::from(MARKS[mark])
        };
        let row = |row: usize| (row * columns..(row + 1) * columns).map(mark).collect();
        let board = (0..usize::from(state.rows)).map(row).collect();
        let snakes = state.snakes.each_ref().map(|snakes| {
            let current = snakes.current();
            SnakesSnapshot {
                ends: current.map(|snake| snake.ends.map(|end| (end.row, end.column))),
                length: current.map_or(0, |snake| snake.length),
                count: snakes.count(),
                dead_score: snakes.dead_score(),
            }
        });
        let exited = state.exited.map(|side| side as u8);
        Self { board, snakes, to_move: state.to_move as u8, frozen: state.frozen, exited }
    }
}

impl<W: Words> TryFrom<Snapshot> for State<W> {
    type Error = StateError;

    fn try_from(snapshot: Snapshot) -> Result<Self, StateError> {
        let side = |field, value| match value {
            0 => Ok(Side::First),
            1 => Ok(Side::Second),
            _ => Err(StateError::Side { field, value }),
        };
        let mut state = read_board(&snapshot.board)?;
        state.to_move = side("to_move", snapshot.to_move)?;
        state.exited = snapshot.exited.map(|value| side("exited", value)).transpose()?;
        state.frozen = snapshot.frozen;
        for (index, snakes) in snapshot.snakes.iter().enumerate() {
            state.snakes[index] = read_snakes(&state, index, snakes)?;
        }
        let [first, second] = state.counts;
        let ahead = u32::from(state.to_move == Side::Second);
        if first < second + ahead {
            return Err(StateError::OutOfTurn { first, second, to_move: snapshot.to_move });
        }
        let value = state.frozen;
        if u32::from(value) > LONGEST_FREEZE || value > 0 && state.to_move == Side::Second {
            return Err(StateError::Frozen { value });
        }
        Ok(state)
    }
}

/// A state with the cells of a board and no snakes yet.
fn read_board<W: Words>(board: &[String]) -> Result<State<W>, StateError> {
    let (rows, columns) = (board.len(), board.first().map_or(0, String::len));
    let most = W::MOST_CELLS;
    let sides = 1..=usize::from(MAX_SIDE);
    if !sides.contains(&rows) || !sides.contains(&columns) || rows * columns > most {
        return Err(StateError::Size { rows, columns, most });
    }
    // Bytes are counted, so a row with a character of several bytes may be of any length; that
    // character is refused below.
    if let Some(row) = board.iter().position(|line| line.len() != columns) {
        return Err(StateError::Ragged { row, got: board[row].len(), columns });
    }
    let mut cells = [Vec::new(), Vec::new(), Vec::new()];
    for (row, line) in board.iter().enumerate() {
        for (column, mark) in line.bytes().enumerate() {
            match MARKS.iter().position(|&known| known == mark) {
                Some(0) => {}
                Some(kind) => {
                    cells[kind - 1].push(Cell::new(row as u16 + 1, column as u16 + 1));
                }
                None => return Err(StateError::Mark { row, column }),
            }
        }
    }
    let [blocked, first, second] = cells;
    let mut state = State::start(rows as u16, columns as u16, blocked);
    for (cells, side) in [(first, Side::First), (second, Side::Second)] {
        for cell in cells {
            state.occupy(state.index(cell), side);
        }
    }
    Ok(state)
}

/// The snakes of one side, checked against the cells of the board.
fn read_snakes<W: Words>(
    state: &State<W>,
    side: usize,
    snakes: &SnakesSnapshot,
) -> Result<Snakes, StateError> {
    let SnakesSnapshot { ends, length, count, dead_score } = *snakes;
    let refuse = |field, value: u64, remedy| Err(StateError::Snakes { side, field, value, remedy });
    let cells = state.counts[side];
    let Some(ends) = ends else {
        return match (length, count, dead_score, cells) {
            (0, 0, 0, 0) => Ok(Snakes::default()),
            (0, 0, 0, _) => refuse("count", 0, "the board has cells of this side"),
            (0, 0, ..) => refuse("dead_score", dead_score, "it must be 0 before the first snake"),
            (0, ..) => refuse("count", count.into(), "it must be 0 without a current snake"),
            _ => refuse("length", length.into(), "it must be 0 without a current snake"),
        };
    };
    if !(1..=cells).contains(&length) {
        return refuse("length", length.into(), "it must be 1 to the cells of this side");
    }
    let dead_cells = cells - length;
    let dead_snakes = count.checked_sub(1);
    if !dead_snakes.is_some_and(|dead| dead <= dead_cells && (dead > 0 || dead_cells == 0)) {
        return refuse(
            "count",
            count.into(),
            "the other cells of this side must be its dead snakes",
        );
    }
    // One snake of all cells but one for each other snake scores most.
    let longest = dead_cells - dead_snakes.unwrap_or(0).saturating_sub(1);
    if dead_score > snake_score(longest) {
        return refuse("dead_score", dead_score, "the dead snakes have too few cells for it");
    }
    let [from, to] = ends.map(|(row, column)| Cell::new(row, column));
    let is_own = |&end: &Cell| state.owner(end).is_some_and(|owner| owner as usize == side);
    if ![from, to].iter().all(is_own) {
        return Err(StateError::Ends { side, ends, remedy: "both must be cells of this side" });
    }
    let distance =
        u32::from(from.row.abs_diff(to.row)) + u32::from(from.column.abs_diff(to.column));
    let steps = length - 1;
    if distance > steps || (steps - distance) % 2 != 0 || (distance == 0) != (steps == 0) {
        let remedy = "no snake of this length joins them";
        return Err(StateError::Ends { side, ends, remedy });
    }
    Ok(Snakes::from_parts(Some(Snake { ends: [from, to], length }), dead_score, count))
}
