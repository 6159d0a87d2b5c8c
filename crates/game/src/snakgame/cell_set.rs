//! Sets of cells as bits, inside of a state for small boards and on the heap for large ones.
//!
//! Cells are numbered row by row from 0, without a border.

use std::fmt::Debug;

/// Memory of a set of cells: words of 64 cells each, cell 0 lowest.
pub trait Words:
    Clone + Debug + PartialEq + Eq + Send + Sync + AsRef<[u64]> + AsMut<[u64]> + 'static
{
    /// Most cells of a set.
    const MOST_CELLS: usize;

    /// Words with room for `cells` cells, all 0.
    fn zeros(cells: usize) -> Self;

    /// Bytes on the heap of words with room for `cells` cells.
    fn heap_bytes(cells: usize) -> usize;
}

/// 1,024 cells without an allocation.
impl Words for [u64; 16] {
    const MOST_CELLS: usize = 64 * 16;

    fn zeros(_cells: usize) -> Self {
        [0; 16]
    }

    fn heap_bytes(_cells: usize) -> usize {
        0
    }
}

/// The cells of any board, in one allocation.
impl Words for Box<[u64]> {
    const MOST_CELLS: usize = 600 * 600;

    fn zeros(cells: usize) -> Self {
        vec![0; cells.div_ceil(64)].into_boxed_slice()
    }

    fn heap_bytes(cells: usize) -> usize {
        8 * cells.div_ceil(64)
    }
}

/// A set of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CellSet<W>(W);

impl<W: Words> CellSet<W> {
    /// No cell, with room for `cells` cells.
    pub(super) fn new(cells: usize) -> Self {
        Self(W::zeros(cells))
    }

    /// Whether the cell is in the set; no cell beyond the room is.
    pub(super) fn contains(&self, cell: usize) -> bool {
        self.words().get(cell / 64).is_some_and(|word| word >> (cell % 64) & 1 == 1)
    }

    /// Adds a cell.
    pub(super) fn insert(&mut self, cell: usize) {
        self.0.as_mut()[cell / 64] |= 1 << (cell % 64);
    }

    /// Removes a cell.
    pub(super) fn remove(&mut self, cell: usize) {
        self.0.as_mut()[cell / 64] &= !(1 << (cell % 64));
    }

    /// The words, cell 0 lowest.
    pub(super) fn words(&self) -> &[u64] {
        self.0.as_ref()
    }

    /// The cells in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words().iter().enumerate().flat_map(|(index, &word)| {
            std::iter::successors((word != 0).then_some(word), |rest| {
                let rest = rest & (rest - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |rest| index * 64 + rest.trailing_zeros() as usize)
        })
    }

    /// The `n`-th cell in ascending order. It counts bits, 64 cells at a time.
    pub(super) fn nth(&self, n: u32) -> Option<usize> {
        let mut left = n;
        for (index, &word) in self.words().iter().enumerate() {
            let count = word.count_ones();
            if left < count {
                let rest = (0..left).fold(word, |rest, _| rest & (rest - 1));
                return Some(index * 64 + rest.trailing_zeros() as usize);
            }
            left -= count;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<W: Words>() {
        let mut set = CellSet::<W>::new(1_000);
        for cell in [999, 64, 63, 3, 500] {
            set.insert(cell);
        }
        set.remove(500);
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 63, 64, 999]);
        let numbered: Vec<_> = (0..5).map(|n| set.nth(n)).collect();
        assert_eq!(numbered, [Some(3), Some(63), Some(64), Some(999), None]);
        assert!(set.contains(63) && !set.contains(62) && !set.contains(500));
        assert!(!set.contains(1_000_000));
    }

    #[test]
    fn cells_are_listed_and_numbered_in_ascending_order() {
        check::<[u64; 16]>();
        check::<Box<[u64]>>();
    }
}
