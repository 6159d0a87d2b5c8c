//! Means and shares with their 95 % intervals.

use serde::{Deserialize, Serialize};

/// Normal quantile of a two-sided 95 % interval.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// Student's quantiles of a two-sided 95 % interval, for 1 to 9 degrees of freedom.
const STUDENT_95: [f64; 9] =
    [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622];

/// Fewest values whose variance is trusted. With fewer, the sample variance of a run of equal or
/// nearly equal values is far too small.
const MIN_VALUES: u32 = 8;

/// Variance at or below which all values count as alike: rounding error.
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

impl Estimate {
    /// Whether both ends are known. Too few values, or values that are all alike, have no interval: its
    /// ends are infinite.
    pub fn is_bounded(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
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

    /// The mean with Student's interval. Without values the mean is 0. With fewer than two values, or
    /// with values that are all alike, the interval is infinite.
    pub fn estimate(&self) -> Estimate {
        self.dispersion().student(self.mean())
    }

    /// The mean of shares that `trials` trials make up, with Wilson's interval.
    ///
    /// The interval uses the effective sample size: as many independent trials as would give the
    /// mean the error that it has (Korn and Graubard 1998). It uses `trials` where the values are
    /// too few or all alike.
    pub fn share(&self, trials: u32) -> Estimate {
        self.dispersion().share(self.mean().clamp(0.0, 1.0), trials)
    }

    fn mean(&self) -> f64 {
        self.sum / f64::from(self.count).max(1.0)
    }

    fn dispersion(&self) -> Dispersion {
        let (n, mean) = (f64::from(self.count), self.mean());
        let variance = (self.squares - n * mean * mean).max(0.0) / (n - 1.0).max(1.0);
        Dispersion { count: self.count, variance }
    }
}

/// How much independent values differ from each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispersion {
    /// Number of values.
    pub(crate) count: u32,
    /// Unbiased variance of one value.
    pub(crate) variance: f64,
}

impl Dispersion {
    /// Student's interval of the mean `value`; infinite where the values are fewer than two or all
    /// alike.
    ///
    /// Equal values say nothing about their variance, so an interval of width 0 would be wrong.
    pub(crate) fn student(self, value: f64) -> Estimate {
        let Self { count, variance } = self;
        // The rounding error of a variance grows with the square of the values.
        let is_alike = variance <= NO_VARIANCE * (value * value).max(1.0);
        let margin = if count < 2 || is_alike {
            f64::INFINITY
        } else {
            student_95(count - 1) * (variance / f64::from(count)).sqrt()
        };
        Estimate { value, low: value - margin, high: value + margin }
    }

    /// Wilson's interval of the mean `value` of shares, as [`Mean::share`] describes it.
    pub(crate) fn share(self, value: f64, trials: u32) -> Estimate {
        let trials = if self.is_trusted() {
            value * (1.0 - value) * f64::from(self.count) / self.variance
        } else {
            f64::from(trials)
        };
        let (low, high) = wilson(value, trials);
        Estimate { value, low, high }
    }

    /// Standard error of the mean of shares; `None` where the values are too few or all alike.
    pub(crate) fn standard_error(self) -> Option<f64> {
        let error = || (self.variance / f64::from(self.count)).sqrt();
        self.is_trusted().then(error)
    }

    fn is_trusted(self) -> bool {
        self.count >= MIN_VALUES && self.variance > NO_VARIANCE
    }
}

/// Student's quantile of a two-sided 95 % interval; infinite without a degree of freedom.
///
/// From 10 degrees on it is the expansion of Abramowitz and Stegun (1964), 26.7.5. Its error is then
/// below 0.0001.
fn student_95(degrees: u32) -> f64 {
    let Some(index) = degrees.checked_sub(1) else { return f64::INFINITY };
    if let Some(exact) = STUDENT_95.get(index as usize) {
        return *exact;
    }
    let square = Z_95 * Z_95;
    let terms = [
        (square + 1.0) / 4.0,
        ((5.0 * square + 16.0) * square + 3.0) / 96.0,
        (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0,
        ((((79.0 * square + 776.0) * square + 1_482.0) * square - 1_920.0) * square - 945.0)
            / 92_160.0,
    ];
    let degrees = f64::from(degrees);
    Z_95 * (1.0 + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / degrees))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> Mean {
        let mut mean = Mean::default();
        values.iter().for_each(|&value| mean.add(value));
        mean
    }

    #[test]
    fn students_quantiles_are_those_of_the_tables() {
        for (degrees, expected) in
            [(1, 12.7062), (9, 2.2622), (10, 2.2281), (30, 2.0423), (100, 1.9840)]
        {
            let got = student_95(degrees);
            assert!((got - expected).abs() < 1e-4, "{degrees}: {got}");
        }
        assert!((1..2_000).all(|degrees| student_95(degrees) > student_95(degrees + 1)));
        assert!((student_95(u32::MAX) - Z_95).abs() < 1e-9);
        assert_eq!(student_95(0), f64::INFINITY);
    }

    #[test]
    fn a_mean_of_few_values_has_students_interval() {
        // Variance 1, so the standard error of the mean is 1 / √3.
        let Estimate { value, low, high } = mean(&[1.0, 2.0, 3.0]).estimate();
        let margin = 4.3027 / 3_f64.sqrt();
        assert!((value - 2.0).abs() < 1e-12);
        assert!((high - value - margin).abs() < 1e-9 && (value - low - margin).abs() < 1e-9);
    }

    #[test]
    fn too_few_values_and_values_that_are_all_alike_have_no_interval() {
        for values in [vec![], vec![7.0], vec![7.0; 2], vec![0.0; 9], vec![1e3 / 3.0; 50]] {
            let estimate = mean(&values).estimate();
            assert!(!estimate.is_bounded(), "{estimate:?}");
            assert_eq!((estimate.low, estimate.high), (f64::NEG_INFINITY, f64::INFINITY));
            let first = values.first().copied().unwrap_or_default();
            assert!((estimate.value - first).abs() < 1e-9, "{estimate:?}");
        }
        assert!(mean(&[7.0, 7.1]).estimate().is_bounded());
    }
}
