//! Coordinates of a cell, as in the contest's protocol.

use std::fmt;

/// A cell by row (`x`) and column (`y`), both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// Row, the protocol's `x`.
    pub row: u16,
    /// Column, the protocol's `y`.
    pub column: u16,
}

impl Cell {
    /// The cell in `row` and `column`, counted from 1.
    pub const fn new(row: u16, column: u16) -> Self {
        Self { row, column }
    }

    /// Whether the two cells share an edge.
    pub fn is_neighbour(self, other: Self) -> bool {
        let (rows, columns) = (self.row.abs_diff(other.row), self.column.abs_diff(other.column));
        matches!((rows, columns), (0, 1) | (1, 0))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.row, self.column)
    }
}
