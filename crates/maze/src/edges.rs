//! The edges that a path can still use, and those that it must use.
//!
//! A path that covers all cells uses two edges of every cell, but one of its first cell and of its
//! last. Where only as many edges are left, they are *forced*; where as many are forced, the other
//! edges are removed. An edge that would close a cycle of forced edges is removed too. These rules
//! are those of Rubin 1974, "A search procedure for Hamilton paths and circuits".
//!
//! The last cell is not known in advance, so a cell may have one edge less unless it is *strict*:
//! another cell is the last, or its colour or block rules it out. The state grows with the path and
//! is taken back in the same order, so each slide costs time in proportion to what it changes.

use crate::field::Field;

/// No cell is known to be the last.
const UNKNOWN: u32 = u32::MAX;
/// The direction back.
pub(crate) const BACK: [usize; 4] = [1, 0, 3, 2];

/// A value before a change.
#[derive(Debug)]
enum Change {
    Removed { cell: u32, mask: u8 },
    Forced { cell: u32, mask: u8 },
    Mate { cell: u32, mate: u32 },
    Strict { cell: u32 },
    LastKnown,
}

/// The path is impossible.
#[derive(Debug)]
pub(crate) struct Impossible;

/// The edges of all cells.
#[derive(Debug)]
pub(crate) struct Edges {
    steps: [isize; 4],
    /// Directions of the edges that are left, and of the forced ones, as bit masks.
    left: Vec<u8>,
    forced: Vec<u8>,
    /// The other end of the path of forced edges that ends at a cell; the cell itself if none does.
    mate: Vec<u32>,
    strict: Vec<bool>,
    start: u32,
    last: u32,
    last_dark: bool,
    changes: Vec<Change>,
    /// Cells whose edges have changed.
    queue: Vec<u32>,
    /// The cells of the path, visited or not.
    cells: Vec<u32>,
}

impl Edges {
    /// Edges without a path; [`begin`](Self::begin) sets one.
    pub(crate) fn new(field: &Field) -> Self {
        let size = field.size();
        Self {
            steps: field.steps,
            left: vec![0; size],
            forced: vec![0; size],
            mate: vec![0; size],
            strict: vec![false; size],
            start: 0,
            last: UNKNOWN,
            last_dark: false,
            changes: Vec::new(),
            queue: Vec::new(),
            cells: Vec::with_capacity(size),
        }
    }

    /// Begins a path that visits `start`, and then all open cells of `field`.
    pub(crate) fn begin(&mut self, field: &Field, start: usize) -> Result<(), Impossible> {
        self.changes.clear();
        self.queue.clear();
        self.start = start as u32;
        self.last = UNKNOWN;
        let open = |cell| field.is_open(cell) || cell == start;
        self.cells.clear();
        self.cells.extend((0..field.size()).filter(|&cell| open(cell)).map(|cell| cell as u32));
        let dark = field.is_dark(start);
        let mut surplus = 0;
        for &cell in &self.cells {
            let cell = cell as usize;
            let around = field.around(cell);
            self.left[cell] = (0..4).map(|way| u8::from(open(around[way])) << way).sum();
            self.forced[cell] = 0;
            self.mate[cell] = cell as u32;
            surplus += if field.is_dark(cell) == dark { 1 } else { -1 };
        }
        // The colours alternate along the path.
        let last_dark = match surplus {
            0 => !dark,
            1 => dark,
            _ => return Err(Impossible),
        };
        self.last_dark = last_dark;
        for &cell in &self.cells {
            let index = cell as usize;
            self.strict[index] = field.is_dark(index) != last_dark || cell == self.start;
        }
        self.queue.extend(&self.cells);
        self.settle()
    }

    /// Whether a cell is known not to be the last.
    pub(crate) fn is_strict(&self, cell: usize) -> bool {
        self.strict[cell]
    }

    /// The edges of a cell that are left, as a bit mask of directions.
    pub(crate) fn left(&self, cell: usize) -> u8 {
        self.left[cell]
    }

    /// The edges of a cell that the path must use, as a bit mask of directions.
    pub(crate) fn forced(&self, cell: usize) -> u8 {
        self.forced[cell]
    }

    /// Whether the path may end at a cell.
    pub(crate) fn may_be_last(&self, cell: usize) -> bool {
        if self.last == UNKNOWN { !self.strict[cell] } else { self.last as usize == cell }
    }

    /// The cells of the path, visited or not.
    pub(crate) fn cells(&self) -> &[u32] {
        &self.cells
    }

    /// The colour of the last cell.
    pub(crate) fn is_last_dark(&self) -> bool {
        self.last_dark
    }

    /// Edges of a cell in the path, unless it is the last.
    pub(crate) fn full(&self, cell: usize) -> u8 {
        if cell as u32 == self.start { 1 } else { 2 }
    }

    /// Cells whose edges have changed after `mark`.
    pub(crate) fn changed(&self, mark: usize) -> impl Iterator<Item = u32> {
        self.changes[mark..].iter().filter_map(|change| match *change {
            Change::Removed { cell, .. } | Change::Forced { cell, .. } => Some(cell),
            _ => None,
        })
    }

    /// A point to return to with [`undo`](Self::undo).
    pub(crate) fn mark(&self) -> usize {
        self.changes.len()
    }

    /// Takes back all changes after `mark`.
    pub(crate) fn undo(&mut self, mark: usize) {
        self.queue.clear();
        while self.changes.len() > mark {
            match self.changes.pop() {
                Some(Change::Removed { cell, mask }) => self.left[cell as usize] = mask,
                Some(Change::Forced { cell, mask }) => self.forced[cell as usize] = mask,
                Some(Change::Mate { cell, mate }) => self.mate[cell as usize] = mate,
                Some(Change::Strict { cell }) => self.strict[cell as usize] = false,
                Some(Change::LastKnown) => self.last = UNKNOWN,
                None => return,
            }
        }
    }

    /// Notes that a cell is not the last. [`settle`](Self::settle) draws the conclusions.
    pub(crate) fn exclude_last(&mut self, cell: u32) {
        if !self.strict[cell as usize] {
            self.strict[cell as usize] = true;
            self.changes.push(Change::Strict { cell });
            self.queue.push(cell);
        }
    }

    /// The path uses the edge of `cell` in direction `way`.
    pub(crate) fn force(&mut self, cell: usize, way: usize) -> Result<(), Impossible> {
        if self.forced[cell] >> way & 1 == 1 {
            return Ok(());
        }
        let other = cell.wrapping_add_signed(self.steps[way]);
        let (one, two) = (self.mate[cell], self.mate[other]);
        if self.left[cell] >> way & 1 == 0 || one as usize == other {
            return Err(Impossible);
        }
        for (cell, way) in [(cell, way), (other, BACK[way])] {
            self.changes.push(Change::Forced { cell: cell as u32, mask: self.forced[cell] });
            self.forced[cell] |= 1 << way;
            self.queue.push(cell as u32);
        }
        for (end, mate) in [(one, two), (two, one)] {
            self.changes.push(Change::Mate { cell: end, mate: self.mate[end as usize] });
            self.mate[end as usize] = mate;
        }
        let apart = two as isize - one as isize;
        if let Some(way) = self.steps.iter().position(|&step| step == apart)
            && self.forced[one as usize] >> way & 1 == 0
        {
            self.remove(one as usize, way);
        }
        Ok(())
    }

    /// Removes an edge that is not forced.
    pub(crate) fn remove(&mut self, cell: usize, way: usize) {
        if self.left[cell] >> way & 1 == 0 {
            return;
        }
        let other = cell.wrapping_add_signed(self.steps[way]);
        for (cell, way) in [(cell, way), (other, BACK[way])] {
            self.changes.push(Change::Removed { cell: cell as u32, mask: self.left[cell] });
            self.left[cell] &= !(1 << way);
            self.queue.push(cell as u32);
        }
    }

    /// Applies the rules until nothing changes.
    pub(crate) fn settle(&mut self) -> Result<(), Impossible> {
        while let Some(cell) = self.queue.pop() {
            let index = cell as usize;
            let full = if cell == self.start { 1 } else { 2 };
            let (left, forced) = (self.left[index], self.forced[index]);
            let spare = left & !forced;
            if forced.count_ones() > full {
                return Err(Impossible);
            }
            if forced.count_ones() == full {
                ways(spare).for_each(|way| self.remove(index, way));
                continue;
            }
            let count = left.count_ones();
            if count > full {
                continue;
            }
            if count < full && self.last != cell {
                if self.strict[index] || self.last != UNKNOWN || count + 1 < full {
                    return Err(Impossible);
                }
                self.last = cell;
                self.changes.push(Change::LastKnown);
                self.queue.extend(&self.cells);
            }
            if count < full || self.strict[index] || self.last != UNKNOWN {
                for way in ways(spare) {
                    self.force(index, way)?;
                }
            }
            if count + 1 < full {
                return Err(Impossible);
            }
        }
        Ok(())
    }
}

/// The directions of a bit mask.
pub(crate) fn ways(mask: u8) -> impl Iterator<Item = usize> {
    (0..4).filter(move |way| mask >> way & 1 == 1)
}
