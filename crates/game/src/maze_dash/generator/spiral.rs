//! The path that covers a whole board without an obstacle: a spiral from a corner inwards.

use crate::rng::Rng;

/// The first `length` cells of a spiral in a random orientation, as indices `y * width + x`.
pub(super) fn spiral(width: usize, height: usize, length: usize, rng: &mut Rng) -> Vec<usize> {
    let [flip_x, flip_y, upwards] = [rng.below(2), rng.below(2), rng.below(2)].map(|bit| bit == 1);
    // Columns and rows of the unoriented spiral, which begins along its columns.
    let (columns, rows) = if upwards { (height, width) } else { (width, height) };
    let (mut left, mut right, mut bottom, mut top) = (0, columns, 0, rows);
    let mut cells = Vec::with_capacity(columns * rows);
    while left < right && bottom < top {
        cells.extend((left..right).map(|x| (x, bottom)));
        cells.extend((bottom + 1..top).map(|y| (right - 1, y)));
        if bottom + 1 < top && left + 1 < right {
            cells.extend((left..right - 1).rev().map(|x| (x, top - 1)));
            cells.extend((bottom + 1..top - 1).rev().map(|y| (left, y)));
        }
        (left, bottom) = (left + 1, bottom + 1);
        (right, top) = (right.saturating_sub(1), top.saturating_sub(1));
    }
    cells.truncate(length);
    let oriented = |(column, row): (usize, usize)| {
        let (x, y) = if upwards { (row, column) } else { (column, row) };
        let x = if flip_x { width - 1 - x } else { x };
        let y = if flip_y { height - 1 - y } else { y };
        y * width + x
    };
    cells.into_iter().map(oriented).collect()
}
