//! Maze Dash, the puzzle of arXiv 2005.14156, known as Mortal Coil if the start is free.
//!
//! A board is a rectangle of free cells and obstacles. A path starts on a free cell and visits
//! every free cell once, in unit steps. **It turns only where the cell straight ahead is an
//! obstacle, outside of the board or visited already.** A path is therefore a sequence of *slides*,
//! each of which ends where the next cell is not free. At a stop with one free side the next slide
//! is forced; all others are *decisions*.
//!
//! [`Board`] is the puzzle. [`Solution`] is a path in the public notation, and [`Solution::check`]
//! decides whether it solves a board. [`generate`] makes solvable boards with an exact number of
//! obstacles from a seed.

mod board;
mod direction;
mod format;
mod generator;
mod solution;
mod trail;

pub use board::{Board, BoardError, MAX_SIDE};
pub use direction::Direction;
pub use generator::{GenerateError, Style, generate, generate_in_style};
pub use solution::{Solution, SolutionError};
pub use trail::Trail;
