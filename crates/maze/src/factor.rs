//! A factor: edges of which every cell has as many as a path uses, two, but one for its first and its
//! last cell (Tutte 1952, "The factors of graphs").
//!
//! The edges of a path are a factor, so no path exists without one. Neighbours differ in colour, as on
//! a chessboard, so a factor is a flow from the cells of one colour to those of the other. One that
//! lost edges is repaired along augmenting paths (Ford and Fulkerson 1956, "Maximal flow through a
//! network"). The factor contains all forced edges and no removed one. When the search takes edges
//! back, it stays valid, so nothing is recorded.

mod filter;
#[cfg(test)]
mod tests;

use self::filter::Filter;
use crate::edges::{BACK, Edges, Impossible, ways};
use crate::field::Field;

/// No cell.
const NONE: u32 = u32::MAX;

/// A factor, and working memory to repair it.
#[derive(Debug)]
pub(crate) struct Factor {
    steps: [isize; 4],
    /// Directions of the chosen edges, as bit masks.
    chosen: Vec<u8>,
    /// Edges that a cell lacks.
    lacks: Vec<u8>,
    /// Whether the cell has the colour of the last cell.
    is_target: Vec<bool>,
    /// The cell that is chosen to be the last, or [`NONE`].
    last: u32,
    /// Cells of the other colour that may lack edges.
    lacking: Vec<u32>,
    /// Changes of the edges that the factor respects.
    synced: usize,
    /// The search in which a cell was reached, and the cell before it.
    seen: Vec<u32>,
    from: Vec<u32>,
    round: u32,
    queue: Vec<u32>,
    filter: Filter,
}

impl Factor {
    pub(crate) fn new(field: &Field) -> Self {
        let size = field.size();
        Self {
            steps: field.steps,
            chosen: vec![0; size],
            lacks: vec![0; size],
            is_target: vec![false; size],
            last: NONE,
            lacking: Vec::new(),
            synced: 0,
            // The last entry stands for the place after the last cell.
            seen: vec![0; size + 1],
            from: vec![0; size + 1],
            round: 0,
            queue: Vec::new(),
            filter: Filter::new(size + 1),
        }
    }

    /// Begins a factor for the edges of a new path.
    pub(crate) fn begin(&mut self, field: &Field, edges: &Edges) {
        let last_dark = edges.is_last_dark();
        self.lacking.clear();
        for &cell in edges.cells() {
            let index = cell as usize;
            self.chosen[index] = edges.forced(index);
            self.lacks[index] = edges.full(index) - self.chosen[index].count_ones() as u8;
            self.is_target[index] = field.is_dark(index) == last_dark;
            if !self.is_target[index] {
                self.lacking.push(cell);
            }
        }
        self.last = NONE;
        self.synced = edges.mark();
    }

    /// Notes that the edges return to `mark`.
    pub(crate) fn undo(&mut self, mark: usize) {
        self.synced = self.synced.min(mark);
    }

    /// Repairs the factor after changes of the edges.
    pub(crate) fn repair(&mut self, edges: &Edges) -> Result<(), Impossible> {
        for cell in edges.changed(self.synced) {
            self.respect(edges, cell as usize);
        }
        self.synced = edges.mark();
        if self.last != NONE && !edges.may_be_last(self.last as usize) {
            self.lacks[self.last as usize] += 1;
            self.last = NONE;
        }
        while let Some(&cell) = self.lacking.last() {
            if self.lacks[cell as usize] == 0 {
                self.lacking.pop();
            } else if !self.augment(edges, cell as usize) {
                return Err(Impossible);
            }
        }
        let after = self.after();
        if self.last == NONE && !self.augment(edges, after) {
            return Err(Impossible);
        }
        Ok(())
    }

    /// Drops removed edges of a cell, and chooses its forced ones.
    fn respect(&mut self, edges: &Edges, cell: usize) {
        ways(self.chosen[cell] & !edges.left(cell)).for_each(|way| self.drop_edge(cell, way));
        for way in ways(edges.forced(cell) & !self.chosen[cell]) {
            let other = self.beside(cell, way);
            for end in [cell, other] {
                if self.lacks[end] == 0 {
                    let spare = self.chosen[end] & !edges.forced(end);
                    if spare == 0 {
                        // The cell is chosen to be the last.
                        self.lacks[end] = 1;
                        self.last = NONE;
                    } else {
                        self.drop_edge(end, spare.trailing_zeros() as usize);
                    }
                }
            }
            self.toggle(cell, way);
            self.lacks[cell] -= 1;
            self.lacks[other] -= 1;
        }
    }

    /// Adds an edge to the factor, or takes it out.
    fn toggle(&mut self, cell: usize, way: usize) {
        let other = self.beside(cell, way);
        self.chosen[cell] ^= 1 << way;
        self.chosen[other] ^= 1 << BACK[way];
    }

    /// Drops a chosen edge.
    fn drop_edge(&mut self, cell: usize, way: usize) {
        let other = self.beside(cell, way);
        self.toggle(cell, way);
        for end in [cell, other] {
            self.lacks[end] += 1;
            if !self.is_target[end] {
                self.lacking.push(end as u32);
            }
        }
    }

    /// Gives a source an edge more by an augmenting path. Returns whether there is one.
    fn augment(&mut self, edges: &Edges, source: usize) -> bool {
        if self.round == u32::MAX {
            self.seen.fill(0);
            self.round = 0;
        }
        self.round += 1;
        let after = self.after();
        self.queue.clear();
        self.queue.push(source as u32);
        self.seen[source] = self.round;
        let mut next = 0;
        while let Some(&cell) = self.queue.get(next) {
            next += 1;
            let cell = cell as usize;
            if cell == after {
                for &other in edges.cells() {
                    if edges.may_be_last(other as usize) && other != self.last {
                        self.reach(other as usize, cell);
                    }
                }
                continue;
            }
            if self.is_target[cell] && self.lacks[cell] > 0 {
                self.flip(source, cell);
                return true;
            }
            if cell as u32 == self.last {
                self.reach(after, cell);
            }
            for way in ways(self.arcs(edges, cell)) {
                self.reach(self.beside(cell, way), cell);
            }
        }
        false
    }

    /// The edges by which an augmenting path may leave a cell, as a bit mask of directions. It reaches
    /// cells of the last cell's colour by edges that are not chosen, and leaves them by chosen ones.
    fn arcs(&self, edges: &Edges, cell: usize) -> u8 {
        if self.is_target[cell] {
            self.chosen[cell] & !edges.forced(cell)
        } else {
            edges.left(cell) & !self.chosen[cell]
        }
    }

    /// The place after the last cell, a source whose edge leads to the last cell.
    fn after(&self) -> usize {
        self.chosen.len()
    }

    fn beside(&self, cell: usize, way: usize) -> usize {
        cell.wrapping_add_signed(self.steps[way])
    }

    fn reach(&mut self, cell: usize, from: usize) {
        if self.seen[cell] != self.round {
            self.seen[cell] = self.round;
            self.from[cell] = from as u32;
            self.queue.push(cell as u32);
        }
    }

    /// Changes the edges of the augmenting path from `source` to `target`.
    fn flip(&mut self, source: usize, target: usize) {
        let after = self.after();
        self.lacks[target] -= 1;
        if source != after {
            self.lacks[source] -= 1;
        }
        let mut cell = target;
        while cell != source {
            let before = self.from[cell] as usize;
            if before == after {
                self.last = cell as u32;
            } else if cell != after {
                let apart = cell as isize - before as isize;
                if let Some(way) = self.steps.iter().position(|&step| step == apart) {
                    self.toggle(before, way);
                }
            }
            cell = before;
        }
    }
}
