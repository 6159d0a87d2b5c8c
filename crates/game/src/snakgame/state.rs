//! A position in packed form, for play, search and training.
//!
//! Three sets of cells hold the board; what is in none of them is blocked. A state of a small board
//! needs no memory outside of itself. [`Position`] has the same rules with faster
//! access to single cells of large boards.
//!
//! Bodies are not lists of cells: the rules read only the ends of the current snakes.

use serde::{Deserialize, Serialize};

use super::board::Board;
use super::cell::Cell;
use super::cell_set::{CellSet, Words};
use super::direction::{image, next};
use super::position::{Position, one_snake_bound};
use super::side::{Side, Snake, Snakes};
use super::snapshot::Snapshot;
use crate::digest::WordHasher;
use crate::symmetry::Symmetry;

/// A position on a board of at most [`Words::MOST_CELLS`] cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    try_from = "Snapshot",
    into = "Snapshot",
    bound(serialize = "W: Words", deserialize = "W: Words")
)]
pub struct State<W: Words> {
    pub(super) rows: u16,
    pub(super) columns: u16,
    pub(super) empty: CellSet<W>,
    /// Cells of the snakes of each side, live and dead.
    pub(super) occupied: [CellSet<W>; 2],
    /// Cells that were empty at the start.
    pub(super) free: u32,
    /// Cells of each side.
    pub(super) counts: [u32; 2],
    pub(super) snakes: [Snakes; 2],
    pub(super) to_move: Side,
    /// Turns for which Chef does nothing, the one that has just passed included; 0 if his last turn
    /// was none of a freeze.
    pub(super) frozen: u8,
    pub(super) exited: Option<Side>,
    /// Exclusive or of a number for each cell that is not empty, so that a digest of a large board
    /// need not read it.
    pub(super) cells_hash: u64,
}

/// What a cell that is not empty holds, for hashing.
#[derive(Clone, Copy)]
enum Mark {
    Blocked = 1,
    First = 2,
    Second = 3,
}

fn cell_hash(index: usize, mark: Mark) -> u64 {
    let mut hasher = WordHasher::new();
    hasher.add((index as u64) << 2 | mark as u64);
    hasher.finish()
}

impl<W: Words> State<W> {
    /// Upper bound of the bytes of a state of a board with so many cells.
    pub(super) fn bytes(cells: usize) -> usize {
        // The empty cells, and those of each side.
        size_of::<Self>() + 3 * W::heap_bytes(cells)
    }

    /// The start on a board whose sides fit the class and whose `blocked` cells lie on it.
    pub(super) fn start(rows: u16, columns: u16, blocked: impl IntoIterator<Item = Cell>) -> Self {
        let cells = usize::from(rows) * usize::from(columns);
        let mut state = Self {
            rows,
            columns,
            empty: CellSet::new(cells),
            occupied: [CellSet::new(cells), CellSet::new(cells)],
            free: cells as u32,
            counts: [0; 2],
            snakes: [Snakes::default(), Snakes::default()],
            to_move: Side::First,
            frozen: 0,
            exited: None,
            cells_hash: 0,
        };
        (0..cells).for_each(|index| state.empty.insert(index));
        for cell in blocked {
            let index = state.index(cell);
            if state.empty.contains(index) {
                state.empty.remove(index);
                state.free -= 1;
                state.cells_hash ^= cell_hash(index, Mark::Blocked);
            }
        }
        state
    }

    /// Rows.
    pub fn rows(&self) -> u16 {
        self.rows
    }

    /// Columns.
    pub fn columns(&self) -> u16 {
        self.columns
    }

    /// The position as `side` sees it: that side is the first. Time is linear in the board.
    ///
    /// # Panics
    ///
    /// Never: the sides of a state are those of a board.
    pub fn seen_by(&self, side: Side) -> Position {
        let sides = [side, side.other()];
        let is_blocked = |cell: &Cell| !self.is_empty(*cell) && self.owner(*cell).is_none();
        let rows = 1..=self.rows;
        let cells =
            rows.flat_map(|row| (1..=self.columns).map(move |column| Cell::new(row, column)));
        let mut board = Board::new(self.rows, self.columns, cells.filter(is_blocked))
            .expect("the sides of a state are those of a board");
        for (owner, seen) in sides.into_iter().zip([Side::First, Side::Second]) {
            for index in self.occupied[owner as usize].iter() {
                board.occupy(self.cell(index), seen);
            }
        }
        let snakes = sides.map(|side| self.snakes(side).clone());
        let to_move = if self.to_move == side { Side::First } else { Side::Second };
        Position::from_parts(board, snakes, to_move, self.exited.is_some())
    }

    /// Cells that are empty now.
    pub fn empty_count(&self) -> u32 {
        self.free - self.counts[0] - self.counts[1]
    }

    /// The empty cells, row by row.
    pub fn empty_cells(&self) -> impl Iterator<Item = Cell> + '_ {
        self.empty.iter().map(|index| self.cell(index))
    }

    /// Whether the cell is on the board and empty.
    pub fn is_empty(&self, cell: Cell) -> bool {
        self.contains(cell) && self.empty.contains(self.index(cell))
    }

    /// The side whose snakes hold the cell; `None` if it is empty, blocked or off the board.
    pub fn owner(&self, cell: Cell) -> Option<Side> {
        let holds = |side: &Side| self.occupied[*side as usize].contains(self.index(cell));
        let on_board = self.contains(cell);
        [Side::First, Side::Second].into_iter().find(|side| on_board && holds(side))
    }

    /// The snakes of a side.
    pub fn snakes(&self, side: Side) -> &Snakes {
        &self.snakes[side as usize]
    }

    /// The side whose turn it is, or would be had the game not ended.
    pub fn to_move(&self) -> Side {
        self.to_move
    }

    /// Turns for which Chef does nothing, the one that has just passed included.
    pub fn frozen_turns(&self) -> u8 {
        self.frozen
    }

    /// The side that has ended the game with EXIT.
    pub fn exited(&self) -> Option<Side> {
        self.exited
    }

    /// Whether no cell is empty or a side has exited.
    pub fn is_over(&self) -> bool {
        self.exited.is_some() || self.empty_count() == 0
    }

    /// Cells of a side, which is the number of its turns that were not frozen.
    pub fn cell_count(&self, side: Side) -> u32 {
        self.counts[side as usize]
    }

    /// A side's score as a share of [`one_snake_bound`].
    #[expect(clippy::cast_precision_loss, reason = "scores stay below 2^53")]
    pub(super) fn share(&self, side: Side) -> f64 {
        let bound = one_snake_bound(self.free).max(1);
        self.snakes(side).score() as f64 / bound as f64
    }

    pub(super) fn contains(&self, cell: Cell) -> bool {
        (1..=self.rows).contains(&cell.row) && (1..=self.columns).contains(&cell.column)
    }

    /// Number of a cell of the board, row by row from 0.
    pub(super) fn index(&self, cell: Cell) -> usize {
        let (row, column) = (usize::from(cell.row), usize::from(cell.column));
        row.wrapping_sub(1).wrapping_mul(self.columns.into()).wrapping_add(column.wrapping_sub(1))
    }

    /// The cell with a number.
    pub(super) fn cell(&self, index: usize) -> Cell {
        let columns = usize::from(self.columns);
        Cell::new((index / columns) as u16 + 1, (index % columns) as u16 + 1)
    }

    /// Empty neighbours of a cell, 0 to 4.
    pub(super) fn empty_neighbours(&self, cell: Cell) -> u32 {
        (0..4).map(|direction| u32::from(self.is_empty(next(cell, direction)))).sum()
    }

    /// The possible extensions of a side's current snake, bit `4 * end + direction`.
    ///
    /// A snake of one cell has its first end only, so that no extension is listed twice. A cell
    /// next to both ends is listed for each of them, since the snakes that result differ.
    pub(super) fn extensions(&self, side: Side) -> u8 {
        let Some(snake) = self.snakes(side).current() else { return 0 };
        let ends = if snake.length > 1 { 2 } else { 1 };
        (0..4 * ends).fold(0, |bits, bit| {
            let target = next(snake.ends[bit / 4], bit % 4);
            bits | u8::from(self.is_empty(target)) << bit
        })
    }

    /// The cell that an extension adds; `None` without a snake.
    pub(super) fn target(&self, side: Side, extension: usize) -> Option<Cell> {
        let snake = self.snakes(side).current()?;
        Some(next(*snake.ends.get(extension / 4)?, extension % 4))
    }

    /// Starts a snake on an empty cell.
    pub(super) fn start_snake(&mut self, side: Side, cell: Cell) {
        self.snakes[side as usize].start(cell);
        self.occupy(self.index(cell), side);
    }

    /// Extends a snake; the extension is one of [`extensions`](Self::extensions).
    pub(super) fn extend_snake(&mut self, side: Side, extension: usize) {
        let (Some(mut snake), Some(to)) =
            (self.snakes(side).current(), self.target(side, extension))
        else {
            debug_assert!(false, "the extension is possible");
            return;
        };
        snake.ends[extension / 4] = to;
        snake.length += 1;
        self.snakes[side as usize].replace(snake);
        self.occupy(self.index(to), side);
    }

    /// Gives an empty cell to a side.
    pub(super) fn occupy(&mut self, index: usize, side: Side) {
        debug_assert!(self.empty.contains(index), "the cell is empty");
        let mark = if side == Side::First { Mark::First } else { Mark::Second };
        self.empty.remove(index);
        self.occupied[side as usize].insert(index);
        self.counts[side as usize] += 1;
        self.cells_hash ^= cell_hash(index, mark);
    }

    /// The image under a symmetry. A symmetry that swaps the sides needs a square board; on any
    /// other one nothing moves.
    pub(super) fn image(&self, symmetry: Symmetry) -> Self {
        let (rows, columns) = (self.rows, self.columns);
        if rows != columns && !Symmetry::OBLONG.contains(&symmetry) {
            return self.clone();
        }
        let moved = |cell: Cell| image(cell, symmetry, rows, columns);
        let blocked = (0..usize::from(rows) * usize::from(columns)).filter(|&index| {
            !self.empty.contains(index) && !self.occupied.iter().any(|set| set.contains(index))
        });
        let mut state = Self::start(rows, columns, blocked.map(|index| moved(self.cell(index))));
        for side in [Side::First, Side::Second] {
            for index in self.occupied[side as usize].iter() {
                state.occupy(state.index(moved(self.cell(index))), side);
            }
            let snakes = self.snakes(side);
            let current =
                snakes.current().map(|snake| Snake { ends: snake.ends.map(moved), ..snake });
            state.snakes[side as usize] =
                Snakes::from_parts(current, snakes.dead_score(), snakes.count());
        }
        Self { to_move: self.to_move, frozen: self.frozen, exited: self.exited, ..state }
    }

    /// A digest of everything that determines the rest of the game and its result. Constant time.
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = WordHasher::new();
        hasher.add(self.cells_hash);
        hasher.add(u64::from(self.rows) << 16 | u64::from(self.columns));
        for snakes in &self.snakes {
            hasher.add(snakes.dead_score());
            hasher.add(snakes.count().into());
            if let Some(Snake { ends, length }) = snakes.current() {
                hasher.add(ends.into_iter().fold(0, |word, end| {
                    word << 32 | u64::from(end.row) << 16 | u64::from(end.column)
                }));
                hasher.add(length.into());
            }
        }
        let exited = self.exited.map_or(0, |side| side as u64 + 1);
        hasher.add(u64::from(self.frozen) << 8 | exited << 4 | self.to_move as u64);
        hasher.finish()
    }
}
