//! Memory layout of the cells of consecutive boards.

use super::buffer::LINE;

/// Side of the square of results of one Winograd tile.
pub(super) const TILE: usize = 4;

/// Strides of boards, rows and cells, in f32 values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) height: usize,
    pub(super) width: usize,
    /// Distance between boards, a multiple of [`LINE`].
    pub(super) board: usize,
    /// Distance between rows of a board.
    pub(super) row: usize,
    /// Distance between cells of a row.
    pub(super) cell: usize,
    /// Offset of the first cell.
    pub(super) origin: usize,
}

/// Offsets of matrix rows: one row per board and offset.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) board: usize,
    pub(super) offsets: Vec<usize>,
}

impl Grid {
    /// Boards without a frame.
    pub(super) fn plain(height: usize, width: usize, cell: usize) -> Self {
        let row = width * cell;
        let board = (height * row).next_multiple_of(LINE);
        Self { height, width, board, row, cell, origin: 0 }
    }

    /// Boards in a frame of zeros: one cell above and to the left, and enough cells on the other
    /// sides to complete the last 6×6 neighbourhood of a 4×4 tile.
    pub(super) fn framed(height: usize, width: usize, cell: usize) -> Self {
        let side = |cells: usize| cells.next_multiple_of(TILE) + 2;
        let row = side(width) * cell;
        let board = (side(height) * row).next_multiple_of(LINE);
        Self { height, width, board, row, cell, origin: row + cell }
    }

    /// One cell of `values` values per position.
    pub(super) fn flat(values: usize) -> Self {
        Self::plain(1, 1, values.next_multiple_of(LINE))
    }

    /// Offset of a cell in its board.
    pub(super) fn offset(&self, row: usize, column: usize) -> usize {
        self.origin + row * self.row + column * self.cell
    }

    /// Cells of a board.
    pub(super) fn cells(&self) -> usize {
        self.height * self.width
    }

    /// One row per cell.
    pub(super) fn rows(&self) -> Rows {
        let offsets = (0..self.cells())
            .map(|cell| self.offset(cell / self.width, cell % self.width))
            .collect();
        Rows { board: self.board, offsets }
    }

    /// One row per cell, which starts at the upper left corner of its 3×3 neighbourhood.
    pub(super) fn corners(&self) -> Rows {
        let corner = Self { origin: self.origin - self.row - self.cell, ..*self };
        corner.rows()
    }

    /// One row per board.
    pub(super) fn boards(&self) -> Rows {
        Rows { board: self.board, offsets: vec![0] }
    }
}

impl Rows {
    /// One past the last value of the rows of `boards` boards, each `reach` long.
    pub(super) fn extent(&self, boards: usize, reach: usize) -> usize {
        let Some(last) = boards.checked_sub(1) else { return 0 };
        last * self.board + self.offsets.iter().max().copied().unwrap_or(0) + reach
    }
}
