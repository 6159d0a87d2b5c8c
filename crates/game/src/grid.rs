//! Sets of cells and the four directions, for games on a board of square cells.
//!
//! Cell `(x, y)` has index `y * width + x`; (0, 0) is bottom-left.

mod bits;

pub use bits::Bits;

use crate::symmetry::Symmetry;

/// Names of the four directions, by index.
pub const DIRECTIONS: [&str; 4] = ["up", "down", "left", "right"];
/// Steps of the four directions as `(dx, dy)`.
pub const STEPS: [(i32, i32); 4] = [(0, 1), (0, -1), (-1, 0), (1, 0)];

/// Image of a direction under a symmetry.
pub fn turned(direction: usize, symmetry: Symmetry) -> usize {
    // A step from the middle of a 3×3 board lands on a cell whose image shows the direction.
    let (dx, dy) = STEPS[direction & 3];
    let (x, y) = symmetry.cell((1 + dx) as usize, (1 + dy) as usize, 3, 3);
    let image = (x as i32 - 1, y as i32 - 1);
    STEPS.iter().position(|&step| step == image).unwrap_or_default()
}
