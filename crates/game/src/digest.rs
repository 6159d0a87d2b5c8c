//! Portable 64-bit digests of states and of serialised values.
//!
//! Both hash functions are defined by arithmetic on words and bytes, never by memory layout, so
//! every machine computes the same digest. Neither is cryptographic: a digest catches a replay
//! that drifts, not an attacker who constructs collisions.

use serde::Serialize;

/// Hashes 64-bit words one by one with the finaliser of `SplitMix64`.
///
/// Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators".
pub(crate) struct WordHasher(u64);

impl WordHasher {
    /// A hasher that has read no word.
    pub(crate) fn new() -> Self {
        Self(0)
    }

    /// Reads one more word.
    pub(crate) fn add(&mut self, word: u64) {
        let mut mixed = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = mixed ^ mixed >> 31;
    }

    /// The digest of all words read so far.
    pub(crate) fn finish(&self) -> u64 {
        self.0
    }
}

/// FNV-1a over the JSON form of a value.
///
/// Slow, but the same on every machine. [`Game::digest`](crate::Game::digest) uses it unless a
/// game provides a faster digest of its own.
pub fn digest_serialized<T: Serialize>(value: &T) -> u64 {
    /// Hashes the bytes that serde writes, so that no buffer is allocated for them.
    struct Fnv(u64);
    impl std::io::Write for Fnv {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            for &byte in bytes {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    let written = serde_json::to_writer(&mut hash, value);
    debug_assert!(written.is_ok(), "states serialise to JSON");
    hash.0
}
