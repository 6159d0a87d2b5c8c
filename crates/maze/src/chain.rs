//! The test of the cells that are left: can one path from the head cover them?
//!
//! The test looks at the graph of the head, all open cells and the edges left. Its *blocks* are the
//! maximal parts without a cut vertex (Hopcroft and Tarjan 1973, "Efficient algorithms for graph
//! manipulation"). A path that visits every cell once enters a block by one cut vertex and leaves it by
//! another, so the blocks must form a chain, and the head lies in the first block only. Neighbours
//! differ in colour, as on a chessboard. So a block whose ends have the same colour has one cell more
//! of that colour, and a block whose ends differ has as many of both. Time and memory are linear.

use crate::edges::Edges;
use crate::field::Field;

/// Working memory of the test.
#[derive(Debug)]
pub(crate) struct Chain {
    /// Order of discovery. A cell was discovered in this test if the number exceeds `base`.
    order: Vec<u32>,
    low: Vec<u32>,
    parent: Vec<u32>,
    /// Next direction to look in.
    next: Vec<u8>,
    /// Whether the cell closes a block below it.
    cuts: Vec<bool>,
    base: u32,
    /// Cells of unfinished blocks.
    cells: Vec<u32>,
    /// Cells that the last test found not to be the last of the path.
    pub(crate) excluded: Vec<u32>,
}

impl Chain {
    pub(crate) fn new(field: &Field) -> Self {
        let size = field.size();
        Self {
            order: vec![0; size],
            low: vec![0; size],
            parent: vec![0; size],
            next: vec![0; size],
            cuts: vec![false; size],
            base: 0,
            cells: Vec::with_capacity(size),
            excluded: Vec::new(),
        }
    }

    /// Whether the test finds no reason against a path from the head over all open cells.
    pub(crate) fn holds(&mut self, field: &Field, edges: &Edges) -> bool {
        self.excluded.clear();
        if self.base > u32::MAX - 2 * field.size() as u32 {
            self.order.fill(0);
            self.base = 0;
        }
        let root = field.head();
        let before = self.base;
        let mut count = before;
        self.cells.clear();
        self.discover(root, 0, &mut count);
        let mut cell = root;
        let fits = loop {
            let direction = self.next[cell] as usize;
            if direction < 4 {
                self.next[cell] += 1;
                let next = cell.wrapping_add_signed(field.steps[direction]);
                if edges.left(cell) >> direction & 1 == 0 || !field.is_open(next) && next != root {
                    continue;
                }
                if self.order[next] > before {
                    self.low[cell] = self.low[cell].min(self.order[next]);
                } else {
                    self.discover(next, cell, &mut count);
                    cell = next;
                }
                continue;
            }
            if cell == root {
                break (count - before) as usize == field.left() + 1;
            }
            let parent = self.parent[cell] as usize;
            if self.low[cell] >= self.order[parent] {
                if self.cuts[parent] || !self.block_fits(field, edges, parent, cell) {
                    break false;
                }
                self.cuts[parent] = true;
            } else {
                self.low[parent] = self.low[parent].min(self.low[cell]);
            }
            cell = parent;
        };
        self.base = count;
        fits
    }

    fn discover(&mut self, cell: usize, parent: usize, count: &mut u32) {
        *count += 1;
        self.order[cell] = *count;
        self.low[cell] = *count;
        self.parent[cell] = parent as u32;
        self.next[cell] = 0;
        self.cuts[cell] = false;
        self.cells.push(cell as u32);
    }

    /// Removes the finished block with cells from `entry` to `last` in order of discovery. Returns
    /// whether it has at most one exit and colours that fit.
    fn block_fits(&mut self, field: &Field, edges: &Edges, entry: usize, last: usize) -> bool {
        let first = self.excluded.len();
        let entry_dark = field.is_dark(entry);
        // Cells of the colour of the entry, less those of the other.
        let mut surplus = 1;
        let mut exit = None;
        while let Some(cell) = self.cells.pop() {
            let cell = cell as usize;
            surplus += if field.is_dark(cell) == entry_dark { 1 } else { -1 };
            if !edges.is_strict(cell) {
                self.excluded.push(cell as u32);
            }
            if self.cuts[cell] {
                if exit.is_some() {
                    return false;
                }
                exit = Some(cell);
            }
            if cell == last {
                break;
            }
        }
        match exit {
            Some(exit) => surplus == i32::from(field.is_dark(exit) == entry_dark),
            // The path ends in the block that has no exit, on a cell of one colour.
            None if surplus == 0 || surplus == 1 => {
                let end_dark = entry_dark == (surplus == 1);
                let mut kept = first;
                for index in first..self.excluded.len() {
                    let cell = self.excluded[index];
                    if field.is_dark(cell as usize) != end_dark {
                        self.excluded[kept] = cell;
                        kept += 1;
                    }
                }
                self.excluded.truncate(kept);
                true
            }
            None => false,
        }
    }
}
