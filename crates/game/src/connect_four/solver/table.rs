//! A transposition table that never confuses two positions.
//!
//! Multiplying a 64-bit key by an odd constant permutes the keys. The top bits of the product
//! choose a bucket and the entry keeps enough of the rest to distinguish all keys of the bucket
//! apart, so a hit is always the right position.

/// Bounds on the score of a position, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) lower: i32,
    pub(super) upper: i32,
}

/// Scores of the largest board lie within ±27; 6 bits hold ±31.
const OFFSET: i32 = 32;
const PAYLOAD_BITS: u32 = 16;

/// Two entries per bucket: the first is replaced only by an entry of at least as much work, the
/// second always.
#[derive(Clone, Debug)]
pub(super) struct Table {
    entries: Vec<u64>,
    shift: u32,
}

impl Table {
    pub(super) fn new(bits: u32) -> Self {
        let bits = bits.clamp(PAYLOAD_BITS + 1, 30);
        // A bucket is two entries, hence one bit less.
        Self { entries: vec![0; 1 << bits], shift: 64 - (bits - 1) }
    }

    pub(super) fn clear(&mut self) {
        self.entries.fill(0);
    }

    #[inline]
    const fn locate(&self, key: u64) -> (usize, u64) {
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed >> self.shift) as usize * 2, mixed << PAYLOAD_BITS)
    }

    /// The bounds of a position, if the table holds them.
    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<Bounds> {
        let (bucket, tag) = self.locate(key);
        let held = |entry: u64| entry & !0xffff == tag && entry & 0xffff != 0;
        let entry = [self.entries[bucket], self.entries[bucket + 1]].into_iter().find(|&e| held(e));
        entry.map(|entry| Bounds {
            lower: (entry >> 4 & 63) as i32 - OFFSET,
            upper: (entry >> 10 & 63) as i32 - OFFSET,
        })
    }

    /// Stores bounds that took `nodes` positions to find.
    #[inline]
    pub(super) fn put(&mut self, key: u64, bounds: Bounds, nodes: u64) {
        let (bucket, tag) = self.locate(key);
        let effort = u64::from((nodes.ilog2() / 2).min(15));
        let entry = tag
            | ((bounds.upper + OFFSET) as u64 & 63) << 10
            | ((bounds.lower + OFFSET) as u64 & 63) << 4
            | effort;
        let first = self.entries[bucket];
        if first & !0xffff == tag {
            self.entries[bucket] = entry;
        } else if effort >= first & 15 {
            self.entries[bucket + 1] = first;
            self.entries[bucket] = entry;
        } else {
            self.entries[bucket + 1] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn a_hit_is_always_the_position_that_was_stored() {
        let mut table = Table::new(17);
        let mut rng = Rng::new(5, "test");
        let mut stored = std::collections::BTreeMap::new();
        for _ in 0..200_000 {
            let key = rng.bits();
            let lower = rng.below(55) as i32 - 27;
            let bounds = Bounds { lower, upper: (lower + rng.below(9) as i32).min(27) };
            table.put(key, bounds, 1 + u64::from(rng.below(1_000)));
            stored.insert(key, bounds);
            assert_eq!(table.get(key), Some(bounds));
        }
        let hits = stored.iter().filter(|(key, _)| table.get(**key).is_some()).count();
        assert!(hits > 80_000, "{hits} hits");
        for (&key, &bounds) in &stored {
            assert!(table.get(key).is_none_or(|found| found == bounds));
        }
        table.clear();
        assert!(stored.keys().all(|&key| table.get(key).is_none()));
    }
}
