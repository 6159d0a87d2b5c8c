//! The promotion rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SprtConfig;
use crate::cluster::ClusterShape;

/// Threshold steps in a whole. Integer steps of 0.01 % make the comparison with half points exact.
const SCALE: u32 = 10_000;

/// Most games of a match.
const MOST_GAMES: u32 = 100_000;

/// The promotion rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GateConfig {
    /// Most games of a decision. Each seed is played once per seat; a remainder is not played.
    #[schemars(range(min = 1, max = MOST_GAMES))]
    pub games: u32,
    /// Share of points above which the candidate is promoted, from 0.5 to 0.9999. It counts in steps of
    /// 0.0001.
    #[schemars(range(min = 0.5, max = 0.9999))]
    pub threshold: f64,
    /// Whether the sequential test may end a match early. Otherwise only certainty ends it.
    pub sequential: bool,
    /// The sequential test.
    pub sprt: SprtConfig,
}

impl Default for GateConfig {
    fn default() -> Self {
        Self { games: 400, threshold: 0.55, sequential: true, sprt: SprtConfig::default() }
    }
}

/// Why a [`GateConfig`] is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum GateConfigError {
    /// Less than one whole cluster, or too many games.
    #[error(
        "gate.games is {games}; write a number from {least} to {MOST_GAMES}, since each seed is played {least} times"
    )]
    Games {
        /// The value.
        games: u32,
        /// Games of one seed.
        least: u32,
    },
    /// A threshold below one half, or one that no player can exceed.
    #[error("gate.threshold is {0}; write a number from 0.5 to 0.9999")]
    Threshold(f64),
    /// Hypotheses outside (0, 1) or out of order.
    #[error("gate.sprt.low is {low} and gate.sprt.high is {high}; write 0 < low < high < 1")]
    Hypotheses {
        /// The lower one.
        low: f64,
        /// The higher one.
        high: f64,
    },
    /// Hypotheses on the same side of the threshold.
    #[error(
        "gate.threshold is {threshold}, not between gate.sprt.low {low} and gate.sprt.high {high}; move one of them"
    )]
    Outside {
        /// The threshold.
        threshold: f64,
        /// The lower hypothesis.
        low: f64,
        /// The higher one.
        high: f64,
    },
    /// An error rate outside (0, 0.5).
    #[error("gate.sprt.{field} is {value}; write a number above 0 and below 0.5")]
    Errors {
        /// `alpha` or `beta`.
        field: &'static str,
        /// The value.
        value: f64,
    },
}

impl GateConfig {
    /// Checks every field, for games of this shape.
    pub fn validate(&self, shape: ClusterShape) -> Result<(), GateConfigError> {
        if self.clusters(shape) == 0 || self.games > MOST_GAMES {
            return Err(GateConfigError::Games { games: self.games, least: shape.games() });
        }
        // A higher one is rounded to 1, which no player exceeds.
        if !(0.5..=0.9999).contains(&self.threshold) {
            return Err(GateConfigError::Threshold(self.threshold));
        }
        let SprtConfig { low, high, alpha, beta } = self.sprt;
        if !(low > 0.0 && low < high && high < 1.0) {
            return Err(GateConfigError::Hypotheses { low, high });
        }
        let threshold = self.threshold;
        if !(low..=high).contains(&threshold) {
            return Err(GateConfigError::Outside { threshold, low, high });
        }
        for (field, value) in [("alpha", alpha), ("beta", beta)] {
            if !(value > 0.0 && value < 0.5) {
                return Err(GateConfigError::Errors { field, value });
            }
        }
        Ok(())
    }

    /// The sequential test, if it is enabled.
    pub(super) fn sequential_test(&self) -> Option<SprtConfig> {
        self.sequential.then_some(self.sprt)
    }

    /// Whole clusters in [`games`](Self::games).
    pub(super) fn clusters(&self, shape: ClusterShape) -> u32 {
        self.games / shape.games()
    }

    /// Half points that promote: the fewest whose share exceeds the threshold.
    pub(super) fn required_half_points(&self, shape: ClusterShape) -> u64 {
        let threshold = (self.threshold * f64::from(SCALE)).round() as u64;
        let all = u64::from(self.clusters(shape)) * u64::from(shape.half_points());
        all * threshold / u64::from(SCALE) + 1
    }

    /// Probability of promotion in games for two without the sequential test, for a candidate that
    /// wins and draws independent games with these probabilities.
    ///
    /// Exact: the distribution of its points is computed by convolution.
    pub fn promotion_probability(&self, win: f64, draw: f64) -> f64 {
        let loss = 1.0 - win - draw;
        let games = 2 * self.clusters(ClusterShape { seats: 2 }) as usize;
        let mut points = vec![0.0; 2 * games + 1];
        points[0] = 1.0;
        for game in 1..=games {
            for half_points in (0..=2 * game).rev() {
                let one_less = if half_points >= 1 { points[half_points - 1] } else { 0.0 };
                let two_less = if half_points >= 2 { points[half_points - 2] } else { 0.0 };
                points[half_points] = points[half_points] * loss + one_less * draw + two_less * win;
            }
        }
        points.iter().skip(self.required_half_points(ClusterShape { seats: 2 }) as usize).sum()
    }
}
