//! Sets of cells as bits.
//!
//! A [`Bits`] of `W` words holds cells `0..64 * W`. Comparing, merging or counting a whole board
//! is a few word operations.

use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

/// A set of cells, one bit each, cell 0 lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bits<const W: usize>(pub [u64; W]);

impl<const W: usize> Bits<W> {
    /// No cell.
    pub const EMPTY: Self = Self([0; W]);

    /// A single cell.
    #[inline]
    pub fn one(cell: usize) -> Self {
        let bit = 1 << (cell % 64);
        Self(std::array::from_fn(|word| if word == cell / 64 { bit } else { 0 }))
    }

    /// The cells `0..count`.
    pub fn first(count: usize) -> Self {
        let mut bits = Self::EMPTY;
        for cell in 0..count.min(64 * W) {
            bits.insert(cell);
        }
        bits
    }

    /// Whether the cell is in the set.
    #[inline]
    pub fn contains(&self, cell: usize) -> bool {
        self.0[cell / 64] >> (cell % 64) & 1 == 1
    }

    /// Adds a cell.
    #[inline]
    pub fn insert(&mut self, cell: usize) {
        self.0[cell / 64] |= 1 << (cell % 64);
    }

    /// Removes a cell.
    #[inline]
    pub fn remove(&mut self, cell: usize) {
        self.0[cell / 64] &= !(1 << (cell % 64));
    }

    /// Adds or removes a cell.
    #[inline]
    pub fn set(&mut self, cell: usize, member: bool) {
        let word = &mut self.0[cell / 64];
        *word = *word & !(1 << (cell % 64)) | u64::from(member) << (cell % 64);
    }

    /// Whether the set has no cell.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Number of cells in the set.
    #[inline]
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The cells of this set that are not in `other`.
    #[inline]
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// Every cell moved up by `by` indices. Cells that pass the last index are dropped.
    #[inline]
    #[must_use]
    pub fn raised(self, by: usize) -> Self {
        let (words, bits) = (by / 64, by % 64);
        let word =
            |index: Option<usize>| index.and_then(|index| self.0.get(index)).copied().unwrap_or(0);
        Self(std::array::from_fn(|index| {
            let (own, below) = (index.checked_sub(words), index.checked_sub(words + 1));
            // Two shifts, since a shift by 64 overflows if `bits` is 0.
            word(own) << bits | word(below) >> 1 >> (63 - bits)
        }))
    }

    /// Every cell moved down by `by` indices. Cells that pass index 0 are dropped.
    #[inline]
    #[must_use]
    pub fn lowered(self, by: usize) -> Self {
        let (words, bits) = (by / 64, by % 64);
        let word = |index: usize| self.0.get(index).copied().unwrap_or(0);
        Self(std::array::from_fn(|index| {
            word(index + words) >> bits | word(index + words + 1) << 1 << (63 - bits)
        }))
    }

    /// [`raised`](Self::raised) by less than 64: faster, since no word moves by a whole index.
    #[inline]
    #[must_use]
    pub fn raised_little(self, by: usize) -> Self {
        debug_assert!(by < 64);
        let bits = by % 64;
        Self(std::array::from_fn(|index| {
            let below = if index == 0 { 0 } else { self.0[index - 1] };
            self.0[index] << bits | below >> 1 >> (63 - bits)
        }))
    }

    /// [`lowered`](Self::lowered) by less than 64: faster, since no word moves by a whole index.
    #[inline]
    #[must_use]
    pub fn lowered_little(self, by: usize) -> Self {
        debug_assert!(by < 64);
        let bits = by % 64;
        Self(std::array::from_fn(|index| {
            let above = if index + 1 < W { self.0[index + 1] } else { 0 };
            self.0[index] >> bits | above << 1 << (63 - bits)
        }))
    }

    /// The `n`-th cell of the set in ascending order.
    #[inline]
    pub fn nth(&self, n: u32) -> Option<usize> {
        let mut left = n;
        for (index, &word) in self.0.iter().enumerate() {
            let count = word.count_ones();
            if left < count {
                let rest = (0..left).fold(word, |rest, _| rest & (rest - 1));
                return Some(index * 64 + rest.trailing_zeros() as usize);
            }
            left -= count;
        }
        None
    }

    /// The cells in the set, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(index, word)| {
            std::iter::successors((word != 0).then_some(word), |rest| {
                let rest = rest & (rest - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |rest| index * 64 + rest.trailing_zeros() as usize)
        })
    }
}

impl<const W: usize> BitAnd for Bits<W> {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }
}

impl<const W: usize> BitOr for Bits<W> {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

impl<const W: usize> Not for Bits<W> {
    type Output = Self;
    #[inline]
    fn not(self) -> Self {
        Self(self.0.map(|word| !word))
    }
}

impl<const W: usize> BitAndAssign for Bits<W> {
    #[inline]
    fn bitand_assign(&mut self, other: Self) {
        *self = *self & other;
    }
}

impl<const W: usize> BitOrAssign for Bits<W> {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_listed_and_numbered_in_ascending_order_across_words() {
        let mut bits = Bits::<2>::EMPTY;
        for cell in [127, 64, 3, 63] {
            bits.insert(cell);
        }
        bits.set(90, true);
        bits.set(90, false);
        assert_eq!(bits.iter().collect::<Vec<_>>(), [3, 63, 64, 127]);
        let numbered: Vec<_> = (0..5).map(|n| bits.nth(n)).collect();
        assert_eq!(numbered, [Some(3), Some(63), Some(64), Some(127), None]);
        assert_eq!(bits.count(), 4);
    }

    #[test]
    fn shifted_sets_hold_the_shifted_cells_and_lose_what_leaves() {
        let mut bits = Bits::<3>::EMPTY;
        let cells = [0, 1, 62, 63, 64, 100, 127, 128, 191];
        for cell in cells {
            bits.insert(cell);
        }
        for by in [0, 1, 7, 63, 64, 65, 127, 128, 129, 190, 191, 192, 500] {
            let raised: Vec<_> = cells.iter().map(|cell| cell + by).filter(|&c| c < 192).collect();
            assert_eq!(bits.raised(by).iter().collect::<Vec<_>>(), raised, "{by}");
            let lowered: Vec<_> = cells.iter().filter_map(|cell| cell.checked_sub(by)).collect();
            assert_eq!(bits.lowered(by).iter().collect::<Vec<_>>(), lowered, "{by}");
            if by < 64 {
                assert_eq!(bits.raised_little(by), bits.raised(by), "{by}");
                assert_eq!(bits.lowered_little(by), bits.lowered(by), "{by}");
            }
        }
        let rest = bits.without(Bits::first(100));
        assert_eq!(rest.iter().collect::<Vec<_>>(), [100, 127, 128, 191]);
    }

    #[test]
    fn the_first_cells_are_those_below_the_count() {
        assert_eq!(Bits::<2>::first(70).iter().collect::<Vec<_>>(), (0..70).collect::<Vec<_>>());
        assert!(Bits::<2>::first(0).is_empty());
    }
}
