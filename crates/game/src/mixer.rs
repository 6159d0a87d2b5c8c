//! A fast fingerprint of words that is the same on every machine.
//!
//! Word by word with the finalizer of `SplitMix64` (Steele, Lea and Flood 2014). It is no
//! defence against somebody who looks for collisions.

/// A fingerprint in the making.
pub(crate) struct Mixer(u64);

impl Mixer {
    /// The fingerprint of nothing.
    pub(crate) fn new() -> Self {
        Self(0)
    }

    /// Takes one more word in.
    pub(crate) fn add(&mut self, word: u64) {
        let mut mixed = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = mixed ^ mixed >> 31;
    }

    /// The fingerprint of all words so far.
    pub(crate) fn finish(&self) -> u64 {
        self.0
    }
}
