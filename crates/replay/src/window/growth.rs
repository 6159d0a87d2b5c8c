//! The size of a replay window as a function of all inserted positions.

/// A window size that grows sublinearly with the number of inserted positions.
///
/// With `N` positions inserted, the window has
///
/// ```text
/// c · (1 + β · ((N / c)^α − 1) / α)        positions once N > c, and c before
/// ```
///
/// This is the curve `N^α`, scaled to value `c` and slope `β` at `N = c` (Wu 2019, "Accelerating
/// self-play learning in Go", appendix C; KataGo used c = 250,000, α = 0.75, β = 0.4). With α = 1
/// the size grows linearly; with β = 0 it stays at `c`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Inserted positions from which the window grows, and its size until then, `c`.
    pub start: u64,
    /// The exponent, α, in (0, 1].
    pub power: f64,
    /// The slope at the start, β, in [0, 1].
    pub slope: f64,
}

/// A field of [`Growth`] that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{field} is {got}; {range}")]
pub struct GrowthError {
    field: &'static str,
    got: f64,
    range: &'static str,
}

impl Growth {
    /// A constant size.
    pub fn fixed(positions: u64) -> Self {
        Self { start: positions, power: 1.0, slope: 0.0 }
    }

    /// Validates the fields.
    pub fn check(&self) -> Result<(), GrowthError> {
        let Self { start, power, slope } = *self;
        let checks = [
            ("start", start as f64, start >= 1, "it must be at least 1"),
            ("power", power, power > 0.0 && power <= 1.0, "it must be above 0 and at most 1"),
            ("slope", slope, (0.0..=1.0).contains(&slope), "it must be from 0 to 1"),
        ];
        match checks.into_iter().find(|(.., is_good, _)| !is_good) {
            None => Ok(()),
            Some((field, got, _, range)) => Err(GrowthError { field, got, range }),
        }
    }

    /// Size of the window in positions after `total` insertions.
    pub fn size(&self, total: u64) -> u64 {
        if total <= self.start {
            return self.start;
        }
        let start = self.start as f64;
        // libm gives the same bits on every machine, so the window drops the same game at the same
        // time.
        let grown = (libm::pow(total as f64 / start, self.power) - 1.0) / self.power;
        (start * (1.0 + self.slope * grown)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KATAGO: Growth = Growth { start: 250_000, power: 0.75, slope: 0.4 };

    #[test]
    fn it_starts_at_c_with_slope_beta_and_bends_down() {
        assert_eq!((KATAGO.size(0), KATAGO.size(250_000)), (250_000, 250_000));
        assert_eq!(KATAGO.size(251_000), 250_399);
        // c (1 + 0.4 (10^0.75 − 1) / 0.75), computed independently.
        assert_eq!(KATAGO.size(2_500_000), 866_455);
        let sizes: Vec<u64> = (0..60).map(|step| KATAGO.size(step * 100_000)).collect();
        assert!(sizes.windows(3).all(|w| w[0] <= w[1] && w[1] <= w[2]));
        let grown: Vec<u64> = sizes[3..].windows(2).map(|w| w[1] - w[0]).collect();
        assert!(grown.windows(2).all(|w| w[1] <= w[0]), "{grown:?}");
    }

    #[test]
    fn a_fixed_size_and_a_linear_one_are_special_cases() {
        assert_eq!(Growth::fixed(1_000).size(u64::MAX), 1_000);
        assert_eq!(Growth { start: 1_000, power: 1.0, slope: 0.5 }.size(3_000), 2_000);
    }

    #[test]
    fn fields_out_of_range_are_named() {
        assert_eq!(KATAGO.check(), Ok(()));
        let said = |growth: Growth| growth.check().expect_err("out of range").to_string();
        assert_eq!(said(Growth { start: 0, ..KATAGO }), "start is 0; it must be at least 1");
        assert!(said(Growth { power: f64::NAN, ..KATAGO }).starts_with("power is NaN"));
        assert!(said(Growth { power: 0.0, ..KATAGO }).starts_with("power is 0"));
        assert!(said(Growth { slope: -0.1, ..KATAGO }).starts_with("slope is -0.1"));
    }
}
