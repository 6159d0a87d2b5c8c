//! Means and shares with their 95 % intervals.

use serde::{Deserialize, Serialize};

/// Normal quantile of a two-sided 95 % interval.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// Fewest values whose variance is trusted. With fewer, the sample variance of a run of equal or
/// nearly equal values is far too small.
const MIN_VALUES: u32 = 8;

/// Variance at or below which all values count as equal: rounding error.
const NO_VARIANCE: f64 = 1e-12;

/// A figure with the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The most likely value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The running mean of independent values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mean {
    count: u32,
    sum: f64,
    squares: f64,
}

impl Mean {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    /// The mean with its normal interval. Without values the mean is 0; with fewer than two the
    /// interval is infinite.
    pub fn estimate(&self) -> Estimate {
        let n = f64::from(self.count);
        let value = self.sum / n.max(1.0);
        let margin = Z_95 * (self.variance() / n).sqrt();
        let margin = if self.count < 2 { f64::INFINITY } else { margin };
        Estimate { value, low: value - margin, high: value + margin }
    }

    /// The mean of shares that `trials` trials make up, with Wilson's interval.
    ///
    /// The interval uses the effective sample size: as many independent trials as would give the
    /// mean the error that it has (Korn and Graubard 1998). It uses `trials` where the values are
    /// too few or all alike.
    pub fn share(&self, trials: u32) -> Estimate {
        let value = self.estimate().value.clamp(0.0, 1.0);
        let trials = if self.has_trusted_variance() {
            value * (1.0 - value) * f64::from(self.count) / self.variance()
        } else {
            f64::from(trials)
        };
        let (low, high) = wilson(value, trials);
        Estimate { value, low, high }
    }

    /// Standard error of the mean; `None` where the values are too few or all alike.
    pub(crate) fn standard_error(&self) -> Option<f64> {
        let error = || (self.variance() / f64::from(self.count)).sqrt();
        self.has_trusted_variance().then(error)
    }

    fn has_trusted_variance(&self) -> bool {
        self.count >= MIN_VALUES && self.variance() > NO_VARIANCE
    }

    /// Unbiased variance of one value.
    fn variance(&self) -> f64 {
        let n = f64::from(self.count);
        let mean = self.sum / n.max(1.0);
        (self.squares - n * mean * mean).max(0.0) / (n - 1.0).max(1.0)
    }
}

/// Wilson's interval of a share seen in `n` independent trials (Wilson 1927).
///
/// Unlike the normal interval it keeps a realistic width where all trials came out alike.
pub fn wilson(share: f64, n: f64) -> (f64, f64) {
    if n <= 0.0 {
        return (0.0, 1.0);
    }
    let scale = 1.0 + Z_95 * Z_95 / n;
    let centre = (share + Z_95 * Z_95 / (2.0 * n)) / scale;
    let half = Z_95 / scale * (share * (1.0 - share) / n + Z_95 * Z_95 / (4.0 * n * n)).sqrt();
    // Rounding must not push an end past the share itself.
    ((centre - half).clamp(0.0, share), (centre + half).clamp(share, 1.0))
}
