//! The cells of a large board as text: the whole board, or what has changed since the last text.
//!
//! A text is a list of runs of equal cells, row by row from the top. A run is a count, which is
//! left out if it is 1, and a mark. Cells after the last run stay as they are.
//!
//! | mark | cells |
//! |---|---|
//! | space | as they are |
//! | `.` | empty |
//! | `#` | blocked |
//! | `A` to `E` | of the first seat |
//! | `a` to `e` | of the second seat |
//!
//! The letter of a seat says where a body came from: from nowhere, from above, from the right, from
//! below or from the left. The script draws bodies with these links. It reads the format in `canvas.js`.

use std::fmt::Write;

/// An empty cell.
pub(super) const EMPTY: u8 = b'.';
/// A blocked cell.
pub(super) const BLOCKED: u8 = b'#';
/// A cell that keeps its mark.
pub(super) const KEPT: u8 = b' ';

/// The first letters of the two seats.
const SEATS: [u8; 2] = [b'A', b'a'];

/// The cells of a board, and those that changed since the last text.
#[derive(Clone, Debug)]
pub(super) struct Raster {
    width: usize,
    /// One mark for each cell, row by row from the top.
    cells: Vec<u8>,
    changed: Vec<usize>,
    /// Whether the first text, that of the whole board, has been taken.
    is_shown: bool,
}

impl Raster {
    /// A board of these marks, row by row from the top.
    pub(super) fn new(width: usize, cells: Vec<u8>) -> Self {
        Self { width, cells, changed: Vec::new(), is_shown: false }
    }

    /// The marks, row by row from the top.
    #[cfg(test)]
    pub(super) fn cells(&self) -> &[u8] {
        &self.cells
    }

    /// Starts a body of seat 0 or 1.
    pub(super) fn start(&mut self, cell: usize, seat: usize) {
        self.set(cell, SEATS[seat]);
    }

    /// Extends a body in a straight line, from the cell `from` of the body up to the cell `to`.
    pub(super) fn extend(&mut self, from: usize, to: usize, seat: usize) {
        let is_column = from % self.width == to % self.width;
        let step = if is_column { self.width } else { 1 };
        // The letter names the side that the body came from.
        let letter = SEATS[seat]
            + match (is_column, to > from) {
                (true, true) => 1,
                (false, false) => 2,
                (true, false) => 3,
                (false, true) => 4,
            };
        let mut cell = from;
        while cell != to {
            cell = if to > from { cell + step } else { cell - step };
            self.set(cell, letter);
        }
    }

    fn set(&mut self, cell: usize, mark: u8) {
        self.cells[cell] = mark;
        self.changed.push(cell);
    }

    /// The text of the whole board at the first call, then that of the changes since the last.
    pub(super) fn take_text(&mut self) -> String {
        let mut text = String::new();
        let mut changed = std::mem::take(&mut self.changed);
        if !std::mem::replace(&mut self.is_shown, true) {
            for run in self.cells.chunk_by(|left, right| left == right) {
                push_run(&mut text, run.len(), run[0]);
            }
            return text;
        }
        changed.sort_unstable();
        changed.dedup();
        let mut end = 0;
        for run in changed
            .chunk_by(|&left, &right| left + 1 == right && self.cells[left] == self.cells[right])
        {
            push_run(&mut text, run[0] - end, KEPT);
            push_run(&mut text, run.len(), self.cells[run[0]]);
            end = run[0] + run.len();
        }
        text
    }
}

fn push_run(text: &mut String, count: usize, mark: u8) {
    // Writing to a string cannot fail.
    let _ = match count {
        0 => return,
        1 => write!(text, "{}", char::from(mark)),
        _ => write!(text, "{count}{}", char::from(mark)),
    };
}

#[cfg(test)]
mod tests {
    use super::super::tests::apply;
    use super::*;

    #[test]
    fn the_first_text_is_the_whole_board_and_later_ones_are_the_changes() {
        let mut raster = Raster::new(4, b"...##.......".to_vec());
        assert_eq!(raster.take_text(), "3.2#7.");
        assert_eq!(raster.take_text(), "");
        raster.start(2, 1);
        raster.extend(2, 10, 1);
        raster.extend(10, 8, 1);
        assert_eq!(raster.take_text(), "2 a3 b 2cb");
        assert_eq!(raster.cells(), b"..a##.b.ccb.");
        raster.start(11, 0);
        raster.extend(11, 7, 0);
        assert_eq!(raster.take_text(), "7 D3 A");
        raster.extend(4, 5, 0);
        assert_eq!(raster.take_text(), "5 E");
    }

    #[test]
    fn texts_give_the_cells_back() {
        let mut rng = ouro_game::Rng::new(3, "raster");
        let mut below = |limit: usize| (rng.bits() % limit as u64) as usize;
        for (width, height) in [(1, 1), (1, 9), (7, 1), (13, 11)] {
            let cells = (0..width * height).map(|_| [EMPTY, BLOCKED][below(2)]).collect();
            let mut raster = Raster::new(width, cells);
            let mut read = vec![b'?'; width * height];
            for _ in 0..200 {
                apply(&mut read, &raster.take_text());
                assert_eq!(read, raster.cells());
                for _ in 0..below(4) {
                    let (row, column) = (below(height), below(width));
                    let from = row * width + column;
                    let to = if below(2) == 0 {
                        row * width + below(width)
                    } else {
                        below(height) * width + column
                    };
                    raster.start(from, below(2));
                    raster.extend(from, to, below(2));
                }
            }
        }
    }
}
