//! The four directions, in the order in which [`Board`](super::Board) lists neighbours.

use super::cell::Cell;
use crate::symmetry::Symmetry;

/// Names of the directions, by index.
pub(super) const DIRECTIONS: [&str; 4] = ["up", "left", "right", "down"];

/// The cell next to `cell` in a direction. Beyond the first row or column a coordinate is 0, which
/// no board contains.
pub(super) fn next(cell: Cell, direction: usize) -> Cell {
    let Cell { row, column } = cell;
    match direction {
        0 => Cell::new(row.wrapping_sub(1), column),
        1 => Cell::new(row, column.wrapping_sub(1)),
        2 => Cell::new(row, column.wrapping_add(1)),
        _ => Cell::new(row.wrapping_add(1), column),
    }
}

/// Image of a direction under a symmetry.
pub(super) fn turned(direction: usize, symmetry: Symmetry) -> usize {
    // A step from the middle of a 3×3 board lands on a cell whose image shows the direction.
    let middle = Cell::new(2, 2);
    let image = image(next(middle, direction), symmetry, 3, 3);
    (0..4).find(|&turned| next(middle, turned) == image).unwrap_or_default()
}

/// Image of a cell of a board of these sides.
pub(super) fn image(cell: Cell, symmetry: Symmetry, rows: u16, columns: u16) -> Cell {
    let (x, y) = (usize::from(cell.column) - 1, usize::from(cell.row) - 1);
    let (x, y) = symmetry.cell(x, y, columns.into(), rows.into());
    Cell::new(y as u16 + 1, x as u16 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_turn_like_the_cells_that_they_lead_to() {
        for &symmetry in Symmetry::SQUARE {
            let cell = Cell::new(4, 6);
            for direction in 0..4 {
                let moved = image(next(cell, direction), symmetry, 9, 9);
                let from = image(cell, symmetry, 9, 9);
                assert_eq!(next(from, turned(direction, symmetry)), moved, "{symmetry:?}");
            }
        }
        assert_eq!(turned(0, Symmetry::FlipY), 3);
        assert_eq!(turned(1, Symmetry::FlipX), 2);
    }
}
