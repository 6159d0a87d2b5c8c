//! Seeded, portable randomness.
//!
//! An [`Rng`] is keyed by a seed, a purpose and an index. Two uses of one seed therefore share no
//! numbers: the food of game 7 does not depend on how its players explored. `ChaCha8` turns the
//! key into the state of xoshiro256++ (Blackman and Vigna, 2021), which generates the numbers.
//! Both algorithms are specified bit for bit, so every machine draws the same numbers.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Purpose of the generator that set-ups and chance nodes draw from.
pub const GAME_RNG: &str = "game";

/// Bytes of a purpose that enter the key: what seed (8 bytes) leaves of `ChaCha8`'s 32.
const PURPOSE_BYTES: usize = 24;

/// A seeded random number generator. A clone continues with the same numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The generator of `purpose` under `seed`.
    pub fn new(seed: u64, purpose: &str) -> Self {
        Self::indexed(seed, purpose, 0)
    }

    /// The `index`-th generator of `purpose` under `seed`: one per game, worker or step.
    ///
    /// Only the first 24 bytes of `purpose` distinguish generators.
    pub fn indexed(seed: u64, purpose: &str, index: u64) -> Self {
        debug_assert!(purpose.len() <= PURPOSE_BYTES, "purpose {purpose:?} is too long");
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        for (slot, byte) in key[8..].iter_mut().zip(purpose.bytes()) {
            *slot = byte;
        }
        let mut chacha = ChaCha8Rng::from_seed(key);
        // ChaCha's own stream number holds the index, so all 24 bytes are left to the purpose.
        chacha.set_stream(index);
        let mut state = [0; 32];
        chacha.fill_bytes(&mut state);
        Self(Xoshiro256PlusPlus::from_seed(state))
    }

    /// Derives a new generator from one draw of this one.
    ///
    /// Meant for many short-lived uses, such as one rollout each: deriving a key every time would
    /// cost more than the use. `SplitMix64` expands the draw to the new state, as the authors of
    /// xoshiro advise.
    #[inline]
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(self.0.next_u64()))
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform integer in `0..bound`; 0 if `bound` is 0.
    ///
    /// Unbiased: multiplication with rejection (Lemire 2019, "Fast random integer generation
    /// in an interval", algorithm 5).
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        let mut product = u64::from((self.bits() >> 32) as u32) * u64::from(bound);
        if (product as u32) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u32) < threshold {
                product = u64::from((self.bits() >> 32) as u32) * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }

    /// A uniform number in `[0, 1)` with 53 random bits.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit an f64 exactly")]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Puts a slice into uniformly random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u32 + 1) as usize;
            items.swap(last, other);
        }
    }

    /// Draws an index in proportion to `weights`, which are finite and not negative.
    ///
    /// If rounding runs past the sum, the result is the index of the last positive weight. It is
    /// 0 if no weight is positive.
    pub fn weighted(&mut self, weights: &[f32]) -> usize {
        let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        let mut left = self.unit() * total;
        let mut chosen = 0;
        for (index, &weight) in weights.iter().enumerate() {
            if weight > 0.0 {
                chosen = index;
                left -= f64::from(weight);
                if left < 0.0 {
                    break;
                }
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_purpose_and_index_each_give_another_rng() {
        let first = |mut rng: Rng| rng.bits();
        let base = first(Rng::new(1, "game"));
        assert_eq!(base, first(Rng::indexed(1, "game", 0)));
        assert_ne!(base, first(Rng::new(2, "game")));
        assert_ne!(base, first(Rng::new(1, "policy")));
        assert_ne!(base, first(Rng::indexed(1, "game", 1)));
    }

    #[test]
    fn generators_draw_the_same_numbers_on_every_machine() {
        let mut rng = Rng::indexed(42, "game", 7);
        // Computed from the published definitions of ChaCha8 and xoshiro256++ in another language.
        let bits = [rng.bits(), rng.bits(), rng.bits()];
        assert_eq!(
            bits,
            [4_044_399_838_300_741_851, 12_122_361_859_140_160_148, 9_511_647_957_060_576_091]
        );
        let bounds = [2, 3, 10, 1_000, u32::MAX];
        assert_eq!(bounds.map(|bound| rng.below(bound)), [1, 1, 7, 721, 21_280_009]);
        assert_eq!(rng.unit().to_bits(), 0x3fdb_76a8_f97e_97fc);
        let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
        rng.shuffle(&mut order);
        assert_eq!(order, [2, 7, 5, 4, 1, 3, 0, 6]);
        let drawn: Vec<usize> = (0..8).map(|_| rng.weighted(&[1.0, 0.5, 2.5])).collect();
        assert_eq!(drawn, [2, 2, 2, 2, 2, 2, 1, 1]);
        // The next number depends on every draw above, so it detects one draw too many.
        assert_eq!(rng.bits(), 7_834_009_249_331_993_731);
    }

    #[test]
    fn forks_differ_from_each_other_and_leave_the_parent_one_draw_further() {
        let mut rng = Rng::new(5, "test");
        let mut plain = rng.clone();
        let [mut first, mut second] = [rng.fork(), rng.fork()];
        plain.bits();
        plain.bits();
        assert_eq!(rng, plain);
        let starts = [first.bits(), second.bits(), plain.bits()];
        assert!(starts[0] != starts[1] && starts[1] != starts[2] && starts[0] != starts[2]);
        // Bits of a thousand first draws: binomial(1000, 1/2) each; 6 sigma.
        let mut ones = [0_u32; 64];
        for _ in 0..1_000 {
            let draw = rng.fork().bits();
            (0..64).for_each(|bit| ones[bit] += (draw >> bit & 1) as u32);
        }
        assert!(ones.iter().all(|&count| count.abs_diff(500) < 95), "{ones:?}");
    }

    #[test]
    fn bounded_integers_stay_below_their_bound_and_reach_all_of_it() {
        let mut rng = Rng::new(3, "test");
        let mut seen = [0_u32; 7];
        for _ in 0..7_000 {
            seen[rng.below(7) as usize] += 1;
        }
        // Each count is binomial(7000, 1/7): 1000 with deviation 29.3; 6 sigma.
        assert!(seen.iter().all(|&count| count.abs_diff(1_000) < 176), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }

    #[test]
    fn weighted_draws_never_pick_a_zero_weight() {
        let mut rng = Rng::new(4, "test");
        for _ in 0..1_000 {
            assert_eq!(rng.weighted(&[0.0, 2.0, 0.0]), 1);
        }
        assert_eq!(rng.weighted(&[]), 0);
    }
}
