//! Positions that have been refuted, in a table of fixed size.
//!
//! A position is a head and the cells that are left; whether it has a solution depends on nothing
//! else. Paths that visit the same cells in another order, and later rounds of a search, reach the
//! same positions again. The keys are those of Zobrist 1970, "A new hashing method with application
//! for game playing". A look-up finds the key of another position with a probability of at most 2⁻⁴⁴:
//! one key is compared, whose place agrees in 20 of 64 bits.

/// Entries of the table, as a power of two: 8 MiB.
const BITS: u32 = 20;

/// A table of keys. A new one replaces the old one at its place.
#[derive(Debug)]
pub(crate) struct Refuted {
    keys: Vec<u64>,
}

impl Refuted {
    pub(crate) fn new() -> Self {
        Self { keys: vec![0; 1 << BITS] }
    }

    /// Whether the position with this key has been refuted. A key that was replaced is not found.
    pub(crate) fn contains(&self, key: u64) -> bool {
        self.keys[Self::place(key)] == key
    }

    pub(crate) fn insert(&mut self, key: u64) {
        self.keys[Self::place(key)] = key;
    }

    fn place(key: u64) -> usize {
        (key >> (64 - BITS)) as usize
    }
}

/// The part of a cell in the keys of positions: a fixed random number (splitmix64; Steele, Lea and
/// Flood 2014, "Fast splittable pseudorandom number generators").
pub(crate) fn cell_key(cell: usize) -> u64 {
    let mut bits = (cell as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
