//! The symmetries of a rectangular board.

use serde::{Deserialize, Serialize};

/// An element of the dihedral group of the square, acting on cells `(x, y)`.
///
/// Rotations are counter-clockwise when y points up. Elements that swap width and height
/// (`Rotate90`, `Rotate270`, `Transpose`, `AntiTranspose`) need a square board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Symmetry {
    /// Nothing moves.
    Identity,
    /// Left and right swap.
    FlipX,
    /// Top and bottom swap.
    FlipY,
    /// Half a turn.
    Rotate180,
    /// Quarter turn, counter-clockwise.
    Rotate90,
    /// Quarter turn, clockwise.
    Rotate270,
    /// Mirror in the diagonal x = y.
    Transpose,
    /// Mirror in the other diagonal.
    AntiTranspose,
}

impl Symmetry {
    /// All eight, for square boards.
    pub const SQUARE: &'static [Self] = &[
        Self::Identity,
        Self::FlipX,
        Self::FlipY,
        Self::Rotate180,
        Self::Rotate90,
        Self::Rotate270,
        Self::Transpose,
        Self::AntiTranspose,
    ];

    /// The four symmetries of an oblong board.
    pub const OBLONG: &'static [Self] =
        &[Self::Identity, Self::FlipX, Self::FlipY, Self::Rotate180];

    /// The identity and the left-right mirror, for boards with gravity.
    pub const MIRROR: &'static [Self] = &[Self::Identity, Self::FlipX];

    /// Image of the cell `(x, y)` on a `width × height` board.
    pub const fn cell(self, x: usize, y: usize, width: usize, height: usize) -> (usize, usize) {
        let (right, top) = (width - 1, height - 1);
        match self {
            Self::Identity => (x, y),
            Self::FlipX => (right - x, y),
            Self::FlipY => (x, top - y),
            Self::Rotate180 => (right - x, top - y),
            Self::Rotate90 => (top - y, x),
            Self::Rotate270 => (y, right - x),
            Self::Transpose => (y, x),
            Self::AntiTranspose => (top - y, right - x),
        }
    }

    /// The symmetry that undoes this one.
    #[must_use]
    pub const fn inverse(self) -> Self {
        match self {
            Self::Rotate90 => Self::Rotate270,
            Self::Rotate270 => Self::Rotate90,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symmetry_is_undone_by_its_inverse() {
        for &symmetry in Symmetry::SQUARE {
            for x in 0..5 {
                for y in 0..5 {
                    let (u, v) = symmetry.cell(x, y, 5, 5);
                    assert_eq!(symmetry.inverse().cell(u, v, 5, 5), (x, y));
                }
            }
        }
    }
}
