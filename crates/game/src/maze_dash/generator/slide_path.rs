//! A slide path that can be changed anywhere in constant time.
//!
//! The path is a doubly linked list over the cells of a padded grid. Every cell on the path has a
//! *label* that grows along the path, so that two cells can be compared by time. Labels leave gaps
//! for new cells; if a gap is used up, all labels are renewed. This is order maintenance in its
//! simplest form (Dietz and Sleator 1987, "Two algorithms for maintaining order in a list").

use crate::rng::Rng;

/// Label of a cell that is not on the path.
pub(super) const EMPTY: u64 = 0;
/// Label of a cell outside of the board: earlier than every cell of the path.
pub(super) const OUTSIDE: u64 = 1;
/// No cell.
pub(super) const NONE: u32 = u32::MAX;

/// A path with at least one cell. Cells are indices of the padded grid.
pub(super) struct SlidePath {
    stride: usize,
    labels: Vec<u64>,
    next: Vec<u32>,
    previous: Vec<u32>,
    first: u32,
    last: u32,
    /// All cells of the board in no order, those of the path first.
    cells: Vec<u32>,
    length: usize,
    /// Place of a cell in `cells`.
    places: Vec<u32>,
}

impl SlidePath {
    /// A path over `cells`, indices `y * width + x` of a board. There is at least one.
    pub(super) fn new(width: usize, height: usize, cells: &[usize]) -> Self {
        let stride = width + 2;
        let size = stride * (height + 2);
        let mut labels = vec![OUTSIDE; size];
        for y in 1..=height {
            labels[y * stride + 1..=y * stride + width].fill(EMPTY);
        }
        let padded = |&cell: &usize| ((cell / width + 1) * stride + cell % width + 1) as u32;
        let cells: Vec<u32> = cells.iter().map(padded).collect();
        let board = (0..size as u32).filter(|&cell| labels[cell as usize] == EMPTY).collect();
        let mut path = Self {
            stride,
            labels,
            next: vec![NONE; size],
            previous: vec![NONE; size],
            first: cells[0],
            last: cells[cells.len() - 1],
            places: vec![NONE; size],
            cells: board,
            length: 0,
        };
        (0_u32..).zip(&path.cells).for_each(|(place, &cell)| path.places[cell as usize] = place);
        for &cell in &cells {
            path.enlist(cell);
        }
        for pair in cells.windows(2) {
            path.link(pair[0], pair[1]);
        }
        path.renew_labels();
        path
    }

    /// The cells in order, as indices of the board.
    pub(super) fn to_cells(&self) -> Vec<usize> {
        let width = self.stride - 2;
        let cell = |cell: u32| {
            let cell = cell as usize;
            (cell / self.stride - 1) * width + cell % self.stride - 1
        };
        self.from(self.first).map(cell).collect()
    }

    /// Number of cells of the padded grid.
    pub(super) fn size(&self) -> usize {
        self.labels.len()
    }

    /// Number of cells on the path.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// A random cell of the path.
    pub(super) fn random(&self, rng: &mut Rng) -> u32 {
        self.cells[rng.below(self.length as u32) as usize]
    }

    /// A random cell that is not on the path.
    pub(super) fn random_empty(&self, rng: &mut Rng) -> Option<u32> {
        let empty = &self.cells[self.length..];
        empty.get(rng.below(empty.len() as u32) as usize).copied()
    }

    /// The first cell.
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// The cell after `cell`, or [`NONE`].
    #[inline]
    pub(super) fn next(&self, cell: u32) -> u32 {
        self.next[cell as usize]
    }

    /// The cell before `cell`, or [`NONE`].
    #[inline]
    pub(super) fn previous(&self, cell: u32) -> u32 {
        self.previous[cell as usize]
    }

    /// The label of `cell`, [`EMPTY`] or [`OUTSIDE`].
    #[inline]
    pub(super) fn label(&self, cell: u32) -> u64 {
        self.labels[cell as usize]
    }

    /// The four neighbours.
    #[inline]
    pub(super) fn neighbours(&self, cell: u32) -> [u32; 4] {
        let stride = self.stride as u32;
        [cell + stride, cell - stride, cell - 1, cell + 1]
    }

    /// The cells from `cell` on.
    pub(super) fn from(&self, cell: u32) -> impl Iterator<Item = u32> + '_ {
        let next = |&cell: &u32| Some(self.next(cell)).filter(|&next| next != NONE);
        std::iter::successors(Some(cell), next)
    }

    /// Whether the path turns at `cell`, and both sides are free when it does.
    pub(super) fn is_decision(&self, cell: u32) -> bool {
        let (before, after) = (self.previous(cell), self.next(cell));
        if before == NONE || after == NONE || after == ahead(before, cell) {
            return false;
        }
        let other = ahead(after, cell);
        self.label(other) > self.label(cell)
    }

    /// Replaces the cells between `from` and `to` by `cells`. The path ends with `cells` if `to` is
    /// [`NONE`].
    pub(super) fn replace(&mut self, from: u32, to: u32, cells: &[u32]) {
        let mut old = self.next(from);
        while old != to {
            let next = self.next(old);
            self.remove(old);
            old = next;
        }
        let mut before = from;
        for &cell in cells {
            self.enlist(cell);
            self.link(before, cell);
            before = cell;
        }
        let top = if to == NONE {
            self.next[before as usize] = NONE;
            self.last = before;
            u64::MAX
        } else {
            self.link(before, to);
            self.label(to)
        };
        self.label_between(self.label(from), top, cells);
    }

    /// Replaces the cells before `to` by `cells`, which are in order.
    pub(super) fn replace_start(&mut self, to: u32, cells: &[u32]) {
        let mut old = self.first;
        while old != to {
            let next = self.next(old);
            self.remove(old);
            old = next;
        }
        self.previous[to as usize] = NONE;
        self.first = to;
        let mut after = to;
        for &cell in cells.iter().rev() {
            self.enlist(cell);
            self.previous[cell as usize] = NONE;
            self.link(cell, after);
            after = cell;
        }
        self.first = after;
        self.label_between(OUTSIDE, self.label(to), cells);
    }

    /// Takes cells off the end until `length` are left, at least one.
    pub(super) fn trim(&mut self, length: usize) {
        while self.len() > length.max(1) {
            let last = self.last;
            self.last = self.previous(last);
            self.next[self.last as usize] = NONE;
            self.remove(last);
        }
    }

    /// Labels `cells` between two labels, or all cells anew.
    fn label_between(&mut self, low: u64, high: u64, cells: &[u32]) {
        let step = (high - low) / (cells.len() as u64 + 1);
        // Cells that are added at the ends stay near, so that the ends do not run out of labels.
        let step = step.min(1 << 40);
        if step == 0 {
            return self.renew_labels();
        }
        let base = if low == OUTSIDE { high - step * (cells.len() as u64 + 1) } else { low };
        let mut label = base;
        for &cell in cells {
            label += step;
            self.labels[cell as usize] = label;
        }
    }

    fn renew_labels(&mut self) {
        let step = u64::MAX / 2 / (self.length as u64 + 1);
        let mut label = u64::MAX / 4;
        let mut cell = self.first;
        while cell != NONE {
            label += step;
            self.labels[cell as usize] = label;
            cell = self.next(cell);
        }
    }

    fn link(&mut self, before: u32, after: u32) {
        self.next[before as usize] = after;
        self.previous[after as usize] = before;
    }

    /// Moves `cell` to the cells of the path.
    fn enlist(&mut self, cell: u32) {
        self.swap(cell, self.length);
        self.length += 1;
    }

    /// Moves `cell` to the cells that are not on the path.
    fn remove(&mut self, cell: u32) {
        self.length -= 1;
        self.swap(cell, self.length);
        self.labels[cell as usize] = EMPTY;
        self.next[cell as usize] = NONE;
        self.previous[cell as usize] = NONE;
    }

    fn swap(&mut self, cell: u32, place: usize) {
        let (from, other) = (self.places[cell as usize], self.cells[place]);
        self.cells.swap(from as usize, place);
        self.places[other as usize] = from;
        self.places[cell as usize] = place as u32;
    }
}

/// The cell after `cell` in the direction from `before` to `cell`.
#[inline]
pub(super) fn ahead(before: u32, cell: u32) -> u32 {
    cell.wrapping_add(cell.wrapping_sub(before))
}
