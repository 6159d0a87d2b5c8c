//! How many times better one series of scores is than another of the same seeds.

use crate::interval::{Dispersion, Estimate};

/// Ratio of the two sums, with its 95 % interval by the jackknife over pairs (Tukey 1958).
///
/// `scores[i]` and `base[i]` belong to the same seed. Surplus scores of the longer slice are left
/// out. The ratio of an empty or worthless base is 0. The interval is infinite for a single pair, and
/// where the ratios of all pairs are alike.
pub fn paired_ratio(scores: &[f64], base: &[f64]) -> Estimate {
    let count = scores.len().min(base.len());
    let (scores, base) = (&scores[..count], &base[..count]);
    let [sum, base_sum] = [scores, base].map(|values| values.iter().sum::<f64>());
    let ratio = |sum: f64, base: f64| if base > 0.0 { sum / base } else { 0.0 };
    let value = ratio(sum, base_sum);
    let left_out: Vec<f64> = scores
        .iter()
        .zip(base)
        .map(|(score, of_base)| ratio(sum - score, base_sum - of_base))
        .collect();
    let n = count as f64;
    let mean = left_out.iter().sum::<f64>() / n;
    let squares: f64 = left_out.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    // The variance of one of Tukey's pseudo-values, which vary n - 1 times as much as these ratios.
    Dispersion { count: count as u32, variance: squares * (n - 1.0) }.student(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proportional_scores_have_a_ratio_without_an_interval() {
        for factor in [1.0, 3.0, 0.7] {
            let base: Vec<f64> = (1..=50).map(f64::from).collect();
            let scores: Vec<f64> = base.iter().map(|score| factor * score).collect();
            let ratio = paired_ratio(&scores, &base);
            assert!((ratio.value - factor).abs() < 1e-12);
            assert!(!ratio.is_bounded(), "{ratio:?}");
        }
    }

    #[test]
    fn pairs_that_differ_widen_the_interval() {
        // The sums are 10 and 6.
        let ratio = paired_ratio(&[2.0, 3.0, 5.0], &[1.0, 2.0, 3.0]);
        let left_out = [8.0 / 5.0, 7.0 / 4.0, 5.0 / 3.0];
        let mean: f64 = left_out.iter().sum::<f64>() / 3.0;
        let squares: f64 = left_out.iter().map(|each| (each - mean).powi(2)).sum();
        // Student's quantile of two degrees of freedom.
        let margin = 4.3027 * (squares * 2.0 / 3.0).sqrt();
        assert!((ratio.value - 10.0 / 6.0).abs() < 1e-12);
        assert!((ratio.high - ratio.value - margin).abs() < 1e-9);
        assert!((ratio.value - ratio.low - margin).abs() < 1e-9);
    }

    #[test]
    fn too_few_pairs_say_nothing() {
        assert_eq!(paired_ratio(&[], &[]).value, 0.0);
        assert_eq!(paired_ratio(&[1.0], &[0.0]).value, 0.0);
        assert_eq!(paired_ratio(&[4.0, 7.0], &[2.0]).value, 2.0);
        assert!(paired_ratio(&[4.0], &[2.0]).high.is_infinite());
    }
}
