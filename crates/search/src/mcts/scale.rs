//! From values to the scale of PUCT, and PUCT itself.

use super::arena::Edge;
use super::config::{SearchConfig, ValueScale};

/// A linear map to the range in which values are compared with priors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    middle: f32,
    factor: f32,
}

impl Scale {
    /// Leaves values as they are.
    pub(super) const RAW: Self = Self { middle: 0.0, factor: 1.0 };

    /// Maps `low..=high` to −1 to 1; a range without width to 0.
    fn between(low: f32, high: f32) -> Self {
        let factor = if high > low { 2.0 / (high - low) } else { 0.0 };
        Self { middle: 0.5 * (low + high), factor }
    }

    #[inline]
    pub(super) fn apply(self, value: f32) -> f32 {
        (value - self.middle) * self.factor
    }

    /// The value that is mapped to `scaled`.
    pub(super) fn undo(self, scaled: f32) -> f32 {
        if self.factor > 0.0 { self.middle + scaled / self.factor } else { self.middle }
    }
}

/// The scale of a tree, which may follow the values seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scaling {
    kind: ValueScale,
    low: f32,
    high: f32,
}

impl Scaling {
    pub(super) fn new(config: &SearchConfig) -> Self {
        Self { kind: config.value_scale, low: f32::INFINITY, high: f32::NEG_INFINITY }
    }

    /// Forgets the values seen.
    pub(super) fn reset(&mut self) {
        (self.low, self.high) = (f32::INFINITY, f32::NEG_INFINITY);
    }

    /// Whether values seen matter.
    #[inline]
    pub(super) fn follows(&self) -> bool {
        self.kind == ValueScale::Running
    }

    /// Takes the mean value of an edge into account.
    #[inline]
    pub(super) fn see(&mut self, mean: f32) {
        self.low = self.low.min(mean);
        self.high = self.high.max(mean);
    }

    #[inline]
    pub(super) fn scale(&self) -> Scale {
        match self.kind {
            ValueScale::Raw => Scale::RAW,
            ValueScale::Bounds { low, high } => Scale::between(low, high),
            ValueScale::Running if self.high < self.low => Scale::RAW,
            ValueScale::Running => Scale::between(self.low, self.high),
        }
    }
}

/// The score that PUCT compares: scaled value, plus what the prior grants to an action that
/// was tried seldom. `explore` is `c · √N`.
#[inline]
pub(super) fn score(edge: &Edge, explore: f32, first_play: f32, scale: Scale) -> f32 {
    let visits = edge.visits as f32;
    let value = if edge.visits > 0 { scale.apply(edge.sum as f32 / visits) } else { first_play };
    value + explore * edge.prior / (1.0 + visits)
}

/// The edge with the greatest score, the first of equals; 0 if there are none.
#[inline]
pub(super) fn best(edges: &[Edge], explore: f32, first_play: f32, scale: Scale) -> usize {
    let (mut best, mut best_score) = (0, f32::NEG_INFINITY);
    for (index, edge) in edges.iter().enumerate() {
        let score = score(edge, explore, first_play, scale);
        if score > best_score {
            (best, best_score) = (index, score);
        }
    }
    best
}
