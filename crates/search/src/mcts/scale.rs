//! The PUCT score, and the scale of its values.

use super::config::{SearchConfig, ValueScale};
use super::node_store::Edge;

/// A linear map from values to the scale of PUCT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    middle: f32,
    factor: f32,
    /// Value of a pending visit, on the scale.
    virtual_value: f32,
    /// Limit of the magnitude of a scaled value that is not among those seen.
    limit: f32,
}

impl Scale {
    /// Leaves values as they are.
    fn raw(virtual_value: f32) -> Self {
        Self { middle: 0.0, factor: 1.0, virtual_value, limit: f32::INFINITY }
    }

    /// Maps `low..=high` to −1 to 1, and everything to 0 if the range has no width.
    fn between(low: f32, high: f32, virtual_value: f32) -> Self {
        let factor = if high > low { 2.0 / (high - low) } else { 0.0 };
        Self { middle: 0.5 * (low + high), factor, virtual_value, limit: f32::INFINITY }
    }

    #[inline]
    pub(super) fn apply(self, value: f32) -> f32 {
        (value - self.middle) * self.factor
    }

    /// The scaled value of an unvisited action: a running scale clamps it to the values seen.
    #[inline]
    pub(super) fn apply_unseen(self, value: f32) -> f32 {
        self.apply(value).clamp(-self.limit, self.limit)
    }

    /// The scaled value of an edge with pending visits.
    fn with_pending(self, edge: &Edge) -> f32 {
        let completed = edge.completed() as f32;
        let pending = edge.pending as f32;
        let known = completed * self.apply(edge.mean() as f32);
        (known + pending * self.virtual_value) / (completed + pending)
    }
}

/// The scale of a tree, which may adapt to the values seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scaling {
    kind: ValueScale,
    low: f32,
    high: f32,
    virtual_value: f32,
}

impl Scaling {
    pub(super) fn new(config: &SearchConfig) -> Self {
        Self {
            kind: config.value_scale,
            low: f32::INFINITY,
            high: f32::NEG_INFINITY,
            virtual_value: config.virtual_value,
        }
    }

    /// Resets the range of values seen.
    pub(super) fn reset(&mut self) {
        (self.low, self.high) = (f32::INFINITY, f32::NEG_INFINITY);
    }

    /// Whether the scale depends on the values seen.
    #[inline]
    pub(super) fn follows(&self) -> bool {
        self.kind == ValueScale::Running
    }

    /// Extends the range by the mean value of an edge.
    #[inline]
    pub(super) fn see(&mut self, mean: f32) {
        self.low = self.low.min(mean);
        self.high = self.high.max(mean);
    }

    /// The least and the greatest mean value seen.
    #[cfg(test)]
    pub(super) fn seen(&self) -> (f32, f32) {
        (self.low, self.high)
    }

    #[inline]
    pub(super) fn scale(&self) -> Scale {
        let bounds = match self.kind {
            ValueScale::Raw => None,
            ValueScale::Bounds { low, high } => Some((low, high)),
            ValueScale::Running => (self.low <= self.high).then_some((self.low, self.high)),
        };
        let mut scale = match bounds {
            Some((low, high)) => Scale::between(low, high, self.virtual_value),
            None => Scale::raw(self.virtual_value),
        };
        if self.follows() {
            scale.limit = 1.0;
        }
        scale
    }
}

/// The PUCT score: the scaled value plus the exploration term `explore · P / (1 + n)`, where
/// `explore` is `c · √N`.
#[inline]
pub(super) fn score(edge: &Edge, explore: f32, first_play: f32, scale: Scale) -> f32 {
    let visits = edge.visits as f32;
    let value = if edge.pending > 0 {
        scale.with_pending(edge)
    } else if edge.visits > 0 {
        scale.apply(edge.sum as f32 / visits)
    } else {
        first_play
    };
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
