//! The grid: which cells are empty, blocked or part of a snake.
//!
//! The cells lie in one array, row by row, with a border of blocked cells around them. The four
//! neighbours of a cell of the grid are therefore always inside of the array.

use super::cell::Cell;
use super::empty_cells::EmptyCells;
use super::side::Side;
use crate::rng::Rng;

/// Most rows and most columns.
pub const MAX_SIDE: u16 = 600;
/// Fewest rows and fewest columns of a generated board.
pub const MIN_SIDE: u16 = 10;

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing: a snake can enter.
    Empty,
    /// Blocked from the start, or the border.
    Blocked,
    /// A cell of a live or dead snake.
    Snake(Side),
}

/// A grid of 1×1 to 600×600 cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    rows: u16,
    columns: u16,
    contents: Vec<Content>,
    empty: EmptyCells,
    /// Empty cells of each row, row 1 first.
    row_counts: Vec<u16>,
    blocked: u32,
}

/// A board that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    /// A side is 0 or larger than [`MAX_SIDE`].
    #[error("the board is {rows}x{columns}; sides are 1 to {MAX_SIDE}")]
    Size {
        /// Rows.
        rows: u16,
        /// Columns.
        columns: u16,
    },
    /// A side is smaller than generated boards have.
    #[error("the board is {rows}x{columns}; generated sides are {MIN_SIDE} to {MAX_SIDE}")]
    TooSmall {
        /// Rows.
        rows: u16,
        /// Columns.
        columns: u16,
    },
    /// A blocked cell lies outside of the grid.
    #[error(
        "the blocked cell ({cell}) is outside of the board; rows are 1 to {rows}, columns 1 to {columns}"
    )]
    Outside {
        /// The cell.
        cell: Cell,
        /// Rows.
        rows: u16,
        /// Columns.
        columns: u16,
    },
}

impl Board {
    /// A board without snakes. A blocked cell may be named more than once.
    pub fn new(
        rows: u16,
        columns: u16,
        blocked: impl IntoIterator<Item = Cell>,
    ) -> Result<Self, BoardError> {
        if !(1..=MAX_SIDE).contains(&rows) || !(1..=MAX_SIDE).contains(&columns) {
            return Err(BoardError::Size { rows, columns });
        }
        let stride = usize::from(columns) + 2;
        let mut contents = vec![Content::Blocked; stride * (usize::from(rows) + 2)];
        for row in contents.chunks_mut(stride).skip(1).take(rows.into()) {
            row[1..=columns.into()].fill(Content::Empty);
        }
        let mut count = 0;
        for cell in blocked {
            if !(1..=rows).contains(&cell.row) || !(1..=columns).contains(&cell.column) {
                return Err(BoardError::Outside { cell, rows, columns });
            }
            let content = &mut contents[usize::from(cell.row) * stride + usize::from(cell.column)];
            count += u32::from(*content == Content::Empty);
            *content = Content::Blocked;
        }
        let empty = EmptyCells::new(contents.len(), |index| contents[index] == Content::Empty);
        let count_row = |row: &[Content]| {
            row.iter().filter(|&&content| content == Content::Empty).count() as u16
        };
        let row_counts = contents.chunks(stride).skip(1).take(rows.into()).map(count_row).collect();
        Ok(Self { rows, columns, contents, empty, row_counts, blocked: count })
    }

    /// Rows.
    pub fn rows(&self) -> u16 {
        self.rows
    }

    /// Columns.
    pub fn columns(&self) -> u16 {
        self.columns
    }

    /// Cells that are blocked from the start, without the border.
    pub fn blocked_count(&self) -> u32 {
        self.blocked
    }

    /// Cells that are empty now.
    pub fn empty_count(&self) -> u32 {
        self.empty.len() as u32
    }

    /// Indices of the empty cells, in no particular order.
    pub fn empty_indices(&self) -> &[u32] {
        self.empty.members()
    }

    /// All cells with the border: row `x`, column `y` has index `x * stride + y`.
    pub fn contents(&self) -> &[Content] {
        &self.contents
    }

    /// Distance in [`contents`](Self::contents) from a cell to the one below it.
    pub fn stride(&self) -> usize {
        usize::from(self.columns) + 2
    }

    /// Whether the cell lies on the grid.
    pub fn contains(&self, cell: Cell) -> bool {
        (1..=self.rows).contains(&cell.row) && (1..=self.columns).contains(&cell.column)
    }

    /// Content of a cell; outside of the grid everything is blocked.
    pub fn content(&self, cell: Cell) -> Content {
        if self.contains(cell) { self.contents[self.index(cell)] } else { Content::Blocked }
    }

    /// Index of a cell of the grid in [`contents`](Self::contents).
    pub fn index(&self, cell: Cell) -> usize {
        usize::from(cell.row) * self.stride() + usize::from(cell.column)
    }

    /// The cell with an index of [`contents`](Self::contents).
    pub fn cell(&self, index: usize) -> Cell {
        Cell::new((index / self.stride()) as u16, (index % self.stride()) as u16)
    }

    /// All cells of the grid, row by row.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + use<> {
        let Self { rows, columns, .. } = *self;
        (1..=rows).flat_map(move |row| (1..=columns).map(move |column| Cell::new(row, column)))
    }

    /// The empty neighbours of a cell, in the order up, left, right, down.
    pub fn empty_neighbours(&self, cell: Cell) -> impl Iterator<Item = Cell> {
        let Cell { row, column } = cell;
        [
            Cell::new(row.wrapping_sub(1), column),
            Cell::new(row, column.wrapping_sub(1)),
            Cell::new(row, column.wrapping_add(1)),
            Cell::new(row.wrapping_add(1), column),
        ]
        .into_iter()
        .filter(|&neighbour| self.content(neighbour) == Content::Empty)
    }

    /// The empty cell with this number from 0, row by row; `None` if there are fewer.
    pub fn nth_empty(&self, number: u32) -> Option<Cell> {
        let mut left = number;
        for (row, &count) in (1..).zip(&self.row_counts) {
            if left < u32::from(count) {
                let cells = (1..=self.columns).map(|column| Cell::new(row, column));
                let mut empty = cells.filter(|&cell| self.content(cell) == Content::Empty);
                return empty.nth(left as usize);
            }
            left -= u32::from(count);
        }
        None
    }

    /// A uniform empty cell; `None` if there is none.
    pub fn sample_empty(&self, rng: &mut Rng) -> Option<Cell> {
        self.empty.sample(rng).map(|index| self.cell(index))
    }

    /// Gives an empty cell to a snake. The caller has checked that the cell is empty.
    pub(super) fn occupy(&mut self, cell: Cell, side: Side) {
        let index = self.index(cell);
        debug_assert_eq!(self.contents[index], Content::Empty, "cell {cell} is not empty");
        self.contents[index] = Content::Snake(side);
        self.empty.remove(index);
        self.row_counts[usize::from(cell.row) - 1] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_counted_and_the_border_is_blocked() {
        let corner = Cell::new(2, 3);
        let board = Board::new(2, 3, [corner, corner]).unwrap();
        assert_eq!((board.blocked_count(), board.empty_count()), (1, 5));
        assert_eq!(board.contents().len(), 4 * 5);
        assert_eq!(board.content(corner), Content::Blocked);
        for cell in [Cell::new(0, 1), Cell::new(3, 1), Cell::new(1, 4), Cell::new(9, u16::MAX)] {
            assert_eq!(board.content(cell), Content::Blocked);
        }
        for row in 1..=2 {
            for column in 1..=3 {
                let cell = Cell::new(row, column);
                assert_eq!(board.cell(board.index(cell)), cell);
            }
        }
        let near: Vec<Cell> = board.empty_neighbours(Cell::new(1, 3)).collect();
        assert_eq!(near, [Cell::new(1, 2)]);
    }

    #[test]
    fn bad_sizes_and_cells_outside_are_refused() {
        let error = |rows, columns| Board::new(rows, columns, []).unwrap_err().to_string();
        assert_eq!(error(0, 5), "the board is 0x5; sides are 1 to 600");
        assert_eq!(error(5, 601), "the board is 5x601; sides are 1 to 600");
        let error = Board::new(5, 7, [Cell::new(6, 1)]).unwrap_err();
        assert!(error.to_string().contains("(6 1) is outside"), "{error}");
    }
}
