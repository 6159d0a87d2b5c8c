//! The two sides and the snakes that each of them has made.

use super::cell::Cell;

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Moves first. In the official game this is the contestant.
    First,
    /// Moves second. In the official game this is Chef.
    Second,
}

impl Side {
    /// The opponent.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// A live snake: its two ends and its length. Its body is on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snake {
    /// The ends; the same cell twice if the length is 1.
    pub ends: [Cell; 2],
    /// Cells.
    pub length: u32,
}

impl Snake {
    /// The snake after it has grown from an end to `to`; `None` if `from` is not an end.
    pub(super) fn extended(mut self, from: Cell, to: Cell) -> Option<Self> {
        let end = self.ends.iter_mut().find(|end| **end == from)?;
        *end = to;
        self.length += 1;
        Some(self)
    }
}

/// Score of one snake: (L − 1)·⌊√L⌋.
pub fn snake_score(length: u32) -> u64 {
    u64::from(length.saturating_sub(1)) * u64::from(length.isqrt())
}

/// All snakes of one side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snakes {
    current: Option<Snake>,
    dead_score: u64,
    count: u32,
}

impl Snakes {
    /// The snake that the side can extend; `None` before its first.
    pub fn current(&self) -> Option<Snake> {
        self.current
    }

    /// Score of the snakes before the current one.
    pub(super) fn dead_score(&self) -> u64 {
        self.dead_score
    }

    /// Snakes from their parts, which the caller has checked.
    pub(super) fn from_parts(current: Option<Snake>, dead_score: u64, count: u32) -> Self {
        Self { current, dead_score, count }
    }

    /// Snakes so far, the current one included.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Score of all snakes, the current one included.
    pub fn score(&self) -> u64 {
        self.dead_score + self.current.map_or(0, |snake| snake_score(snake.length))
    }

    pub(super) fn start(&mut self, cell: Cell) {
        self.dead_score = self.score();
        self.current = Some(Snake { ends: [cell, cell], length: 1 });
        self.count += 1;
    }

    pub(super) fn replace(&mut self, snake: Snake) {
        self.current = Some(snake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_single_snakes() {
        let scores: Vec<u64> = [0, 1, 2, 3, 4, 6, 9, 360_000].map(snake_score).to_vec();
        assert_eq!(scores, [0, 0, 1, 2, 6, 10, 24, 359_999 * 600]);
    }

    #[test]
    fn a_snake_of_one_cell_grows_to_both_sides() {
        let [a, b, c] = [1, 2, 3].map(|column| Cell::new(1, column));
        let snake = Snake { ends: [b, b], length: 1 };
        let snake = snake.extended(b, c).unwrap().extended(b, a).unwrap();
        assert_eq!((snake.ends, snake.length), ([c, a], 3));
        assert_eq!(snake.extended(b, a), None);
    }
}
