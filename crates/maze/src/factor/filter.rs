//! Edges that no factor contains, and edges that every factor contains.
//!
//! The cells, with arcs along which an augmenting path may go, are a directed graph. Two factors differ
//! in cycles of arcs, so an edge whose ends lie in different strong components is in all factors or
//! in none (Régin 1994, "A filtering algorithm for constraints of difference in CSPs"). The components
//! are found by Tarjan's algorithm (1972, "Depth-first search and linear graph algorithms") in linear
//! time.

use super::{Factor, NONE};
use crate::edges::{Edges, Impossible, ways};

/// The bit of the arc from the last cell to the place after it, beside those of the directions.
const LAST: u8 = 4;

/// Working memory of the filter.
#[derive(Debug)]
pub(super) struct Filter {
    /// Order of discovery. A cell was discovered in this pass if the number exceeds `start`.
    order: Vec<u32>,
    low: Vec<u32>,
    parent: Vec<u32>,
    /// Arcs that have not been followed, as a bit mask.
    arcs: Vec<u8>,
    /// The component of a cell: its first cell, or [`NONE`] while it is unfinished.
    component: Vec<u32>,
    /// Cells without a component.
    stack: Vec<u32>,
    /// Cells that may be the last, and how many arcs to them have been followed.
    ends: Vec<u32>,
    ends_seen: usize,
    count: u32,
    /// Edges that stay as they are, by one cell and the direction.
    fixed: Vec<(u32, u8)>,
}

impl Filter {
    pub(super) fn new(places: usize) -> Self {
        Self {
            order: vec![0; places],
            low: vec![0; places],
            parent: vec![0; places],
            arcs: vec![0; places],
            component: vec![NONE; places],
            stack: Vec::new(),
            ends: Vec::new(),
            ends_seen: 0,
            count: 0,
            fixed: Vec::new(),
        }
    }

    /// Finds the components of all cells and the edges between them.
    fn find(&mut self, factor: &Factor, edges: &Edges) {
        if self.count > u32::MAX - self.order.len() as u32 {
            self.order.fill(0);
            self.count = 0;
        }
        let start = self.count;
        let free = |cell: u32| edges.left(cell as usize) & !edges.forced(cell as usize);
        self.ends.clear();
        self.ends.extend(edges.cells().iter().filter(|&&cell| edges.may_be_last(cell as usize)));
        self.ends_seen = 0;
        self.explore(factor, edges, factor.after(), start);
        for &cell in edges.cells() {
            if free(cell) != 0 && self.order[cell as usize] <= start {
                self.explore(factor, edges, cell as usize, start);
            }
        }
        self.fixed.clear();
        for &cell in edges.cells() {
            if factor.is_target[cell as usize] {
                continue;
            }
            for way in ways(free(cell)) {
                let other = factor.beside(cell as usize, way);
                if self.component[cell as usize] != self.component[other] {
                    self.fixed.push((cell, way as u8));
                }
            }
        }
    }

    /// Finds the components of the cells that arcs reach from `root`.
    fn explore(&mut self, factor: &Factor, edges: &Edges, root: usize, start: u32) {
        let mut cell = root;
        self.discover(factor, edges, root, root);
        loop {
            if let Some(next) = self.follow(factor, cell) {
                if self.order[next] <= start {
                    self.discover(factor, edges, next, cell);
                    cell = next;
                } else if self.component[next] == NONE {
                    self.low[cell] = self.low[cell].min(self.order[next]);
                }
                continue;
            }
            if self.low[cell] == self.order[cell] {
                while let Some(member) = self.stack.pop() {
                    self.component[member as usize] = cell as u32;
                    if member as usize == cell {
                        break;
                    }
                }
            }
            if cell == root {
                return;
            }
            let parent = self.parent[cell] as usize;
            self.low[parent] = self.low[parent].min(self.low[cell]);
            cell = parent;
        }
    }

    fn discover(&mut self, factor: &Factor, edges: &Edges, cell: usize, parent: usize) {
        self.count += 1;
        self.order[cell] = self.count;
        self.low[cell] = self.count;
        self.parent[cell] = parent as u32;
        self.component[cell] = NONE;
        self.stack.push(cell as u32);
        self.arcs[cell] = if cell == factor.after() {
            0
        } else {
            factor.arcs(edges, cell) | u8::from(cell as u32 == factor.last) << LAST
        };
    }

    /// The end of an arc from a cell that has not been followed.
    fn follow(&mut self, factor: &Factor, cell: usize) -> Option<usize> {
        if cell == factor.after() {
            let &end = self.ends.get(self.ends_seen)?;
            self.ends_seen += 1;
            // The arc of the cell that is chosen to be the last leads the other way.
            return if end == factor.last { self.follow(factor, cell) } else { Some(end as usize) };
        }
        let arcs = self.arcs[cell];
        self.arcs[cell] = arcs & arcs.wrapping_sub(1);
        match arcs.trailing_zeros() as u8 {
            8.. => None,
            LAST => Some(factor.after()),
            way => Some(factor.beside(cell, way.into())),
        }
    }
}

impl Factor {
    /// Removes the edges that no factor contains, forces those that every factor contains, and
    /// excludes last cells that no factor has. The factor must be whole. Returns whether anything
    /// changed.
    pub(crate) fn filter(&mut self, edges: &mut Edges) -> Result<bool, Impossible> {
        let mark = edges.mark();
        let mut filter = std::mem::replace(&mut self.filter, Filter::new(0));
        filter.find(self, edges);
        let component = filter.component[self.after()];
        for &end in &filter.ends {
            if end != self.last && filter.component[end as usize] != component {
                edges.exclude_last(end);
            }
        }
        let settled = filter.fixed.iter().try_for_each(|&(cell, way)| {
            let (cell, way) = (cell as usize, usize::from(way));
            if self.chosen[cell] >> way & 1 == 1 {
                return edges.force(cell, way);
            }
            edges.remove(cell, way);
            Ok(())
        });
        self.filter = filter;
        settled?;
        edges.settle()?;
        Ok(edges.mark() != mark)
    }
}
