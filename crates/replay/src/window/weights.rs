//! Weights of positions in a window, and their rounding to numbers of copies.

use ouro_game::Rng;

use super::batch::Item;

/// Most copies of one position.
const MAX_COPIES: f32 = 1_000.0;

/// Weights of a game's positions by policy surprise.
///
/// `surprises` are KL divergences of the policy target from the network's policy, in nats. The
/// part `1 − share` of the total weight is uniform; the rest is proportional to surprise. The
/// weights add up to the number of positions. Without any surprise all weights are 1.
///
/// This is KataGo's policy surprise weighting, which uses a share of 0.5 (Wu, "Other methods
/// implemented in KataGo").
pub fn surprise_weights(surprises: &[f32], share: f32) -> Vec<f32> {
    let sum: f32 = surprises.iter().sum();
    let mean = sum / surprises.len() as f32;
    if !(mean > 0.0 && mean.is_finite()) {
        return vec![1.0; surprises.len()];
    }
    surprises.iter().map(|surprise| 1.0 - share + share * surprise / mean).collect()
}

/// Cumulative copies of the positions of game `number`, or `None` if each has one copy.
///
/// Weights are rounded at random to one of the two nearest integers, which preserves the mean.
/// The draws are keyed by the game's number, so a refilled window rounds identically.
pub(super) fn copies<T: Item>(item: &T, seed: u64, number: u64) -> Option<Box<[u32]>> {
    let positions = item.positions();
    if (0..positions).all(|position| item.weight(position) == 1.0) {
        return None;
    }
    let mut rng = Rng::indexed(seed, "copies", number);
    let mut sum = 0;
    let cumulative = (0..positions).map(|position| {
        let weight = item.weight(position);
        // NaN becomes 0.
        let weight = if weight > 0.0 { weight.min(MAX_COPIES) } else { 0.0 };
        let extra = rng.unit() < f64::from(weight.fract());
        sum += weight as u32 + u32::from(extra);
        sum
    });
    Some(cumulative.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_weight_is_even_and_half_goes_by_surprise() {
        let weights = surprise_weights(&[0.0, 0.1, 0.3], 0.5);
        let expected = [0.5, 0.5 + 0.5 * 0.75, 0.5 + 0.5 * 2.25];
        assert!(weights.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-6));
        assert!((weights.iter().sum::<f32>() - 3.0).abs() < 1e-6);
        assert_eq!(surprise_weights(&[0.0, 0.0], 0.5), [1.0, 1.0]);
        assert_eq!(surprise_weights(&[0.2, f32::INFINITY], 0.5), [1.0, 1.0]);
        assert_eq!(surprise_weights(&[], 0.5), [0.0; 0]);
    }

    #[test]
    fn weights_are_kept_on_average_and_rounded_to_their_neighbours() {
        struct Odd;
        impl Item for Odd {
            fn positions(&self) -> u32 {
                4
            }
            fn bytes(&self) -> usize {
                0
            }
            fn generation(&self) -> ouro_net::Generation {
                ouro_net::Generation(0)
            }
            fn weight(&self, position: u32) -> f32 {
                [0.25, 2.0, 3.7, f32::NAN][position as usize]
            }
        }
        let mut sums = [0_u32; 4];
        for number in 0..10_000 {
            let cumulative = copies(&Odd, 1, number).expect("weights are not 1");
            let mut before = 0;
            for (position, &up_to) in cumulative.iter().enumerate() {
                let count = up_to - before;
                assert!([0..=1, 2..=2, 3..=4, 0..=0][position].contains(&count));
                (sums[position], before) = (sums[position] + count, up_to);
            }
        }
        assert_eq!((sums[1], sums[3]), (20_000, 0));
        // Binomial with deviations 43 and 46; 6 sigma.
        assert!(sums[0].abs_diff(2_500) < 260 && sums[2].abs_diff(37_000) < 276, "{sums:?}");
    }
}
