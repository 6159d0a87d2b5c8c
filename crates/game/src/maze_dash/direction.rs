//! The four directions of a slide.

use crate::grid::STEPS;

/// A direction, with the index that it has in [`DIRECTIONS`](crate::grid::DIRECTIONS).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Towards larger `y`.
    Up,
    /// Towards smaller `y`.
    Down,
    /// Towards smaller `x`.
    Left,
    /// Towards larger `x`.
    Right,
}

impl Direction {
    /// All directions, by index.
    pub const ALL: [Self; 4] = [Self::Up, Self::Down, Self::Left, Self::Right];

    /// The letter of the public notation: `U`, `D`, `L` or `R`.
    pub const fn letter(self) -> char {
        match self {
            Self::Up => 'U',
            Self::Down => 'D',
            Self::Left => 'L',
            Self::Right => 'R',
        }
    }

    /// The direction with this letter, in either case.
    pub fn from_letter(letter: char) -> Option<Self> {
        Self::ALL.into_iter().find(|direction| direction.letter() == letter.to_ascii_uppercase())
    }

    /// The step as `(dx, dy)`.
    pub const fn step(self) -> (i32, i32) {
        STEPS[self as usize]
    }

    /// The two directions at a right angle.
    pub const fn sides(self) -> [Self; 2] {
        match self {
            Self::Up | Self::Down => [Self::Left, Self::Right],
            Self::Left | Self::Right => [Self::Up, Self::Down],
        }
    }
}
