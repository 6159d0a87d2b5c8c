//! Seeded random numbers for plans of faults.
//!
//! `SplitMix64` (Steele, Lea and Flood 2014). The chores depend on no crate of the workspace, so they
//! have a generator of their own.

/// A seeded generator. The same seed gives the same plan.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn within(&mut self, low: u64, high: u64) -> u64 {
        // The bias of the remainder is below 2^-40 for the small ranges of a plan.
        low + self.bits() % (high - low + 1)
    }

    /// One of `items`, which are not empty.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.within(0, items.len() as u64 - 1) as usize]
    }

    /// Puts `items` into random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.within(0, index as u64) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_order_of_everything() {
        let shuffled = |seed| {
            let mut items: Vec<u32> = (0..20).collect();
            Random::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(shuffled(1), shuffled(1));
        assert_ne!(shuffled(1), shuffled(2));
        let mut sorted = shuffled(3);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn a_range_includes_both_ends() {
        let mut random = Random::new(7);
        let mut seen = [false; 3];
        for _ in 0..100 {
            seen[random.within(4, 6) as usize - 4] = true;
        }
        assert_eq!(seen, [true; 3]);
    }
}
