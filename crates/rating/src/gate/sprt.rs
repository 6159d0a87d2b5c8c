//! A sequential test of a mean score between two hypotheses.
//!
//! The method is the generalised sequential probability ratio test. After every cluster of games
//! the test updates the log-likelihood ratio of the two hypotheses. It ends when the ratio leaves
//! the interval between Wald's bounds `ln(β / (1 − α))` and `ln((1 − β) / α)` (Wald 1945).
//!
//! The distribution of a cluster's score is unknown and only its mean is tested. Each likelihood is
//! therefore the largest that any distribution on the observed scores has with that mean (Van den
//! Bergh, "A practical introduction to the GSPRT"; fishtest's pentanomial model is the case of
//! pairs). For observed shares `q_i` of clusters with score `a_i` that distribution is
//! `p_i = q_i / (1 + x (a_i − s))`, with `x` such that the mean is `s`.
//!
//! Two rare clusters, a lost and a won one, are added to the observed ones. Without them no mean
//! below 1 could explain a run of wins, and the ratio would be infinite after the first cluster.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Weight of the added worst and best cluster: small enough not to move a ratio visibly.
const RARE: f64 = 1e-3;

/// The hypotheses and error rates of the sequential test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SprtConfig {
    /// Share of points of a candidate that should be rejected.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub low: f64,
    /// Share of points of a candidate that should be promoted.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub high: f64,
    /// Probability of promoting at `low`, by Wald's bounds.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 0.5))]
    pub alpha: f64,
    /// Probability of rejecting at `high`, by Wald's bounds.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 0.5))]
    pub beta: f64,
}

impl Default for SprtConfig {
    fn default() -> Self {
        Self { low: 0.5, high: 0.6, alpha: 0.05, beta: 0.05 }
    }
}

impl SprtConfig {
    /// The log-likelihood ratios at or beyond which the test rejects and promotes.
    pub fn bounds(&self) -> (f64, f64) {
        ((self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln())
    }
}

/// Counts of cluster scores and their log-likelihood ratio.
#[derive(Clone, Debug)]
pub(super) struct Sprt {
    config: SprtConfig,
    /// Most half points of a cluster.
    best: u32,
    /// Number of clusters by half points.
    counts: BTreeMap<u32, u32>,
    /// Lagrange multipliers of the last ratio. The next search starts there: one more cluster
    /// moves them little.
    multipliers: [f64; 2],
    ratio: f64,
}

impl Sprt {
    pub(super) fn new(config: SprtConfig, best: u32) -> Self {
        let counts = BTreeMap::new();
        Self { config, best, counts, multipliers: [0.0; 2], ratio: 0.0 }
    }

    /// Adds a cluster with this many half points.
    pub(super) fn add(&mut self, half_points: u32) {
        *self.counts.entry(half_points).or_default() += 1;
        self.ratio = self.compute();
    }

    /// Log-likelihood of `high` minus that of `low`; 0 before the first cluster.
    pub(super) fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Number of clusters by half points.
    pub(super) fn counts(&self) -> &BTreeMap<u32, u32> {
        &self.counts
    }

    fn compute(&mut self) -> f64 {
        let best = f64::from(self.best);
        let seen = self.counts.iter().map(|(&half, &count)| (f64::from(half) / best, count.into()));
        let scores: Vec<(f64, f64)> = seen.chain([(0.0, RARE), (1.0, RARE)]).collect();
        let [low, high] = [self.config.low, self.config.high];
        let [x_low, x_high] = [(low, self.multipliers[0]), (high, self.multipliers[1])]
            .map(|(mean, start)| multiplier(&scores, mean, start));
        self.multipliers = [x_low, x_high];
        scores
            .iter()
            .map(|&(score, count)| {
                count * ((x_low * (score - low)).ln_1p() - (x_high * (score - high)).ln_1p())
            })
            .sum()
    }
}

/// The `x` with `Σ n_i (a_i − s) / (1 + x (a_i − s)) = 0`.
///
/// The sum falls with `x` between its poles at `−1 / (1 − s)` and `1 / s`, so Newton's method is
/// safeguarded by bisection of that bracket.
fn multiplier(scores: &[(f64, f64)], mean: f64, start: f64) -> f64 {
    let (mut low, mut high) = (-1.0 / (1.0 - mean), 1.0 / mean);
    let mut x = start.clamp(0.999 * low, 0.999 * high);
    for _ in 0..100 {
        let (mut sum, mut slope) = (0.0, 0.0);
        for &(score, count) in scores {
            let term = (score - mean) / (1.0 + x * (score - mean));
            sum += count * term;
            slope -= count * term * term;
        }
        if sum > 0.0 {
            low = x;
        } else {
            high = x;
        }
        let newton = x - sum / slope;
        let next = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
        if (next - x).abs() <= 1e-13 * (1.0 + x.abs()) {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(pairs: &[(u32, u32)]) -> f64 {
        let mut sprt = Sprt::new(SprtConfig::default(), 4);
        for &(half_points, times) in pairs {
            (0..times).for_each(|_| sprt.add(half_points));
        }
        sprt.ratio()
    }

    #[test]
    fn the_bounds_are_walds() {
        let (low, high) = SprtConfig::default().bounds();
        assert!((high - 2.944).abs() < 1e-3 && (low + high).abs() < 1e-12, "{low} {high}");
    }

    #[test]
    fn wins_alone_weigh_the_ratio_of_the_two_shares() {
        // Each won pair is 0.6 / 0.5 times as likely under the higher hypothesis.
        assert!((ratio(&[(4, 10)]) - 10.0 * 1.2_f64.ln()).abs() < 0.02);
        assert!((ratio(&[(0, 10)]) - 10.0 * 0.8_f64.ln()).abs() < 0.02);
        assert_eq!(ratio(&[]), 0.0);
    }

    #[test]
    fn the_ratio_of_a_large_match_is_near_the_normal_approximation() {
        // 1,000 pairs of mean 0.56: N (s1 - s0) (2 m - s0 - s1) / (2 v).
        let pairs = [(0, 100), (1, 100), (2, 310), (3, 310), (4, 180)];
        let n: f64 = pairs.iter().map(|&(_, count)| f64::from(count)).sum();
        let moment = |power: i32| -> f64 {
            let sum = pairs
                .iter()
                .map(|&(half, count)| (f64::from(half) / 4.0).powi(power) * f64::from(count));
            sum.sum::<f64>() / n
        };
        let (mean, variance) = (moment(1), moment(2) - moment(1).powi(2));
        let normal = n * 0.1 * (2.0 * mean - 1.1) / (2.0 * variance);
        let exact = ratio(&pairs);
        assert!((exact - normal).abs() < 0.15 * normal.abs().max(1.0), "{exact} {normal}");
    }

    #[test]
    fn the_order_of_results_does_not_matter() {
        let first = ratio(&[(0, 7), (2, 30), (4, 20)]);
        let other = ratio(&[(4, 20), (0, 7), (2, 30)]);
        assert!((first - other).abs() < 1e-9, "{first} {other}");
    }
}
