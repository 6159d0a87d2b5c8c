//! The test of turns: a path turns only where the cell straight ahead is not free any more.
//!
//! Forced edges join cells to *segments*, which a path visits from one end to the other without a
//! gap. If the cell ahead of a turn lies in the same segment, the path must visit it before the
//! turn, which gives the segment a direction. A segment whose turns need both directions has no
//! path. Time and memory are linear.

use crate::edges::{Edges, ways};
use crate::field::Field;

/// Working memory of the test.
#[derive(Debug)]
pub(crate) struct Segments {
    /// The number of a cell's segment. A cell was found in this test if the number exceeds `base`.
    segment: Vec<u32>,
    /// The cell's place in its segment.
    place: Vec<u32>,
    base: u32,
    /// The cells of one segment in order.
    cells: Vec<u32>,
}

impl Segments {
    pub(crate) fn new(field: &Field) -> Self {
        let size = field.size();
        Self { segment: vec![0; size], place: vec![0; size], base: 0, cells: Vec::new() }
    }

    /// Whether every segment of open cells has a direction that its turns allow.
    pub(crate) fn hold(&mut self, field: &Field, edges: &Edges) -> bool {
        if self.base > u32::MAX - field.size() as u32 {
            self.segment.fill(0);
            self.base = 0;
        }
        let before = self.base;
        edges.cells().iter().all(|&cell| {
            let cell = cell as usize;
            !field.is_open(cell)
                || self.segment[cell] > before
                || !self.follow(field, edges, cell)
                || self.has_direction(field)
        })
    }

    /// Lists the segment of a cell, and returns whether the cell is an end of it. A segment is
    /// reached from one of its ends, as forced edges close no cycle.
    fn follow(&mut self, field: &Field, edges: &Edges, end: usize) -> bool {
        let inner = |cell: usize, before: usize| {
            ways(edges.forced(cell))
                .map(|way| cell.wrapping_add_signed(field.steps[way]))
                .find(|&next| next != before && field.is_open(next))
        };
        let Some(second) = inner(end, end) else { return false };
        if inner(end, second).is_some() {
            return false;
        }
        self.base += 1;
        self.cells.clear();
        let (mut before, mut cell) = (end, end);
        loop {
            self.segment[cell] = self.base;
            self.place[cell] = self.cells.len() as u32;
            self.cells.push(cell as u32);
            let Some(next) = inner(cell, before) else { return true };
            (before, cell) = (cell, next);
        }
    }

    /// Whether the listed segment has a direction that its turns allow.
    fn has_direction(&self, field: &Field) -> bool {
        let (mut forward, mut backward) = (true, true);
        for (place, three) in (1..).zip(self.cells.windows(3)) {
            let [one, turn, two] = [three[0], three[1], three[2]].map(|cell| cell as usize);
            let (ahead, behind) = (2 * turn - one, 2 * turn - two);
            if ahead != two {
                let is_own = |cell| field.is_open(cell) && self.segment[cell] == self.base;
                forward &= !(is_own(ahead) && self.place[ahead] > place);
                backward &= !(is_own(behind) && self.place[behind] < place);
            }
        }
        forward || backward
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::maze_dash::Board;

    use super::*;

    #[test]
    fn a_segment_whose_turns_need_both_directions_has_none() {
        // Each hook ends on the cell ahead of its own turn:
        //
        //   B4 B1-B0-A0-A1 A4
        //    |  |        |  |
        //   B3-B2       A2-A3
        let (left, right) =
            ([(2, 0), (1, 0), (1, 1), (0, 1), (0, 0)], [(3, 0), (4, 0), (4, 1), (5, 1), (5, 0)]);
        let both: Vec<_> = left.into_iter().rev().chain(right).collect();
        let start = 4 * 8;
        let board = Board::new(8, 5, vec![true; 40], Some(start)).expect("the board is connected");
        for (cells, holds) in [(&both[..], false), (&both[..5], true), (&both[5..], true)] {
            let mut field = Field::new(&board);
            let start = field.padded(start);
            field.visit(start);
            let mut edges = Edges::new(&field);
            edges.begin(&field, start).expect("the board has a path from its corner");
            let cells = cells.iter().map(|&(x, y)| field.padded((y + 1) * 8 + x + 1));
            let cells: Vec<_> = cells.collect();
            for two in cells.windows(2) {
                let apart = two[1] as isize - two[0] as isize;
                let way = field.steps.iter().position(|&step| step == apart);
                edges.force(two[0], way.expect("they are neighbours")).expect("the edge is left");
            }
            assert_eq!(Segments::new(&field).hold(&field, &edges), holds, "{cells:?}");
        }
    }
}
