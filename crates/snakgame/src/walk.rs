//! Long paths by a depth-first walk with the left-hand rule.
//!
//! The walk never leaves a cell unmarked again, so its time is linear in the cells that it reaches.
//! On entering a cell in some direction it first tries to turn left of that direction, then straight
//! on, then right. It thereby follows walls and fills regions in spirals. The result is the longest
//! path from the start to any cell on the walk's stack. The stack is explicit, since depths of
//! 10⁵ cells occur.

use ouro_game::Rng;
use ouro_game::snakgame::Board;

use crate::field::Field;

/// Trial paths for a new snake.
const TRIALS: usize = 8;

/// One cell on the stack.
#[derive(Clone, Copy)]
struct Frame {
    cell: u32,
    /// Direction to try next.
    direction: u8,
    /// Directions left to try.
    left: u8,
}

/// Buffers of the walk, kept between calls.
#[derive(Default)]
pub(crate) struct LongWalk {
    stamps: Vec<u32>,
    stamp: u32,
    stack: Vec<Frame>,
}

impl LongWalk {
    /// Writes the longest path that the walk from `start` finds to `path`, without `start`.
    ///
    /// `direction` is tried first. `is_free` tells which cells the path may enter.
    pub(crate) fn find(
        &mut self,
        field: Field<'_>,
        start: u32,
        direction: u8,
        is_free: impl Fn(u32) -> bool,
        path: &mut Vec<u32>,
    ) {
        self.stamps.resize(field.len(), 0);
        self.stamp += 1;
        self.stamps[start as usize] = self.stamp;
        self.stack.clear();
        self.stack.push(Frame { cell: start, direction, left: 4 });
        path.clear();
        // Frames below this height are the same as in `path`, which also holds the start.
        let mut same = 0;
        let mut is_growing = true;
        while let Some(frame) = self.stack.last_mut() {
            if frame.left == 0 {
                if is_growing && self.stack.len() > path.len() {
                    path.truncate(same);
                    path.extend(self.stack[same..].iter().map(|frame| frame.cell));
                    same = path.len();
                }
                is_growing = false;
                self.stack.pop();
                same = same.min(self.stack.len());
                continue;
            }
            let entered = frame.direction;
            frame.direction = (entered + 1) & 3;
            frame.left -= 1;
            let next = field.step(frame.cell, entered);
            if self.stamps[next as usize] != self.stamp && is_free(next) {
                self.stamps[next as usize] = self.stamp;
                // The cell behind is marked, so three directions are enough.
                self.stack.push(Frame { cell: next, direction: (entered + 3) & 3, left: 3 });
                is_growing = true;
            }
        }
        path.remove(0);
    }

    /// The longest of several paths through empty cells, each from a random empty cell; the start is
    /// its first cell. Empty if no cell is empty.
    pub(crate) fn longest_trial(
        &mut self,
        field: Field<'_>,
        board: &Board,
        rng: &mut Rng,
    ) -> Vec<u32> {
        let (mut best, mut path) = (Vec::new(), Vec::new());
        for _ in 0..TRIALS {
            let Some(cell) = board.sample_empty(rng) else { break };
            let start = board.index(cell) as u32;
            self.find(field, start, rng.below(4) as u8, |cell| field.is_empty(cell), &mut path);
            path.insert(0, start);
            if path.len() > best.len() {
                std::mem::swap(&mut best, &mut path);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouro_game::snakgame::{Cell, generate};

    #[test]
    fn the_path_is_simple_and_covers_most_of_an_open_board() {
        let board = generate(250, 250, 3).unwrap();
        let field = Field::new(&board);
        let start = board.index(Cell::new(125, 125)) as u32;
        let mut path = Vec::new();
        let mut walk = LongWalk::default();
        for _ in 0..2 {
            walk.find(field, start, 0, |cell| field.is_empty(cell), &mut path);
            let mut last = start;
            let mut seen = vec![false; field.len()];
            for &cell in &path {
                assert!(field.neighbours(last).contains(&cell) && field.is_empty(cell));
                assert!(!std::mem::replace(&mut seen[cell as usize], true));
                last = cell;
            }
            let empty = board.empty_count() as usize;
            assert!(path.len() * 10 > empty * 8, "{} of {empty} cells", path.len());
        }
    }

    #[test]
    fn the_longest_trial_starts_on_an_empty_cell_and_a_full_board_has_none() {
        let (mut walk, mut rng) = (LongWalk::default(), Rng::new(5, "trials"));
        let board = generate(30, 40, 2).unwrap();
        let field = Field::new(&board);
        let path = walk.longest_trial(field, &board, &mut rng);
        assert!(path.iter().all(|&cell| field.is_empty(cell)));
        assert!(path.windows(2).all(|pair| field.neighbours(pair[0]).contains(&pair[1])));
        assert!(path.len() * 2 > board.empty_count() as usize, "{} cells", path.len());
        let every = (1..=10).flat_map(|row| (1..=10).map(move |column| Cell::new(row, column)));
        let full = Board::new(10, 10, every).unwrap();
        assert!(walk.longest_trial(Field::new(&full), &full, &mut rng).is_empty());
    }

    #[test]
    fn a_start_without_free_neighbours_has_an_empty_path() {
        let board = generate(10, 10, 1).unwrap();
        let mut path = vec![7];
        LongWalk::default().find(Field::new(&board), 15, 0, |_| false, &mut path);
        assert!(path.is_empty());
    }
}
