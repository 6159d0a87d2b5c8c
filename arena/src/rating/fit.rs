//! The strengths that make all results most likely.
//!
//! Newton's method on a concave function, with steps halved until they help. The weights of ties
//! are found beside it: each is scaled by how many ties were seen over how many the model expects,
//! with one decisive game of equals added to what was seen, so that nothing but draws does not drive
//! a weight to infinity.

use super::sparse::{Factor, Sparse};
use super::stage::{Likelihood, Stage, Ties};

const MAX_STEPS: usize = 100;
/// Rounds between strengths and ties at most.
const MAX_ROUNDS: usize = 30;

/// What two players have played.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// Places of the two; the anchor has place 0.
    pub(super) players: (usize, usize),
    /// Their games.
    pub(super) stages: Vec<Stage>,
    /// Drawn games that the prior adds.
    pub(super) prior: f64,
}

impl Edge {
    fn likelihood(&self, strength: &[f64], ties: &Ties) -> Likelihood {
        let d = strength[self.players.0] - strength[self.players.1];
        let mut sum = Likelihood::default();
        for stage in &self.stages {
            sum += stage.likelihood(d, ties);
        }
        if self.prior > 0.0 {
            sum += Stage::virtual_draws(self.prior).likelihood(d, &vec![0.0, 1.0]);
        }
        sum
    }
}

/// All results.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// Players, the anchor included.
    pub(super) players: usize,
    pub(super) edges: Vec<Edge>,
}

/// The most likely strengths.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// Log-strengths, the anchor's 0.
    pub(super) strength: Vec<f64>,
    /// Weights of ties.
    pub(super) ties: Ties,
    /// The Fisher information without the anchor, factorised; `None` if it is singular.
    pub(super) factor: Option<Factor>,
}

impl Problem {
    /// Finds the strengths, starting from a guess.
    pub(super) fn solve(&self, start: (Vec<f64>, Ties)) -> Solution {
        let (mut strength, mut ties) = start;
        let largest = self.largest_tie();
        ties.resize(largest + 1, 0.5);
        for (size, weight) in ties.iter_mut().enumerate() {
            let start = if *weight > 0.0 { *weight } else { 0.5 };
            *weight = if self.is_seen(size) { start } else { 0.0 };
        }
        ties[1] = 1.0;
        for _ in 0..MAX_ROUNDS {
            self.climb(&mut strength, &ties);
            if self.scale(&mut ties, &strength) < 1e-9 {
                break;
            }
        }
        self.climb(&mut strength, &ties);
        let factor = Factor::new(self.slope(&strength, &ties).1);
        Solution { strength, ties, factor }
    }

    fn largest_tie(&self) -> usize {
        let stages = self.edges.iter().flat_map(|edge| &edge.stages);
        stages.map(|stage| stage.seen().len() - 1).max().unwrap_or(1).max(1)
    }

    fn is_seen(&self, size: usize) -> bool {
        let mut stages = self.edges.iter().flat_map(|edge| &edge.stages);
        stages.any(|stage| stage.seen().get(size).is_some_and(|&count| count > 0.0))
    }

    fn value(&self, strength: &[f64], ties: &Ties) -> f64 {
        self.edges.iter().map(|edge| edge.likelihood(strength, ties).value).sum()
    }

    /// Gradient and Fisher information without the anchor.
    fn slope(&self, strength: &[f64], ties: &Ties) -> (Vec<f64>, Sparse) {
        let free = self.players - 1;
        let mut gradient = vec![0.0; free];
        let mut information = Sparse::zero(free);
        for edge in &self.edges {
            let likelihood = edge.likelihood(strength, ties);
            let [a, b] = [edge.players.0, edge.players.1].map(|place| place.checked_sub(1));
            for (place, sign) in [(a, 1.0), (b, -1.0)] {
                if let Some(place) = place {
                    gradient[place] += sign * likelihood.slope;
                    information.add_diagonal(place, likelihood.information);
                }
            }
            if let (Some(a), Some(b)) = (a, b) {
                information.add(a, b, -likelihood.information);
            }
        }
        (gradient, information)
    }

    /// Newton's method until it stands still.
    fn climb(&self, strength: &mut Vec<f64>, ties: &Ties) {
        let mut value = self.value(strength, ties);
        for _ in 0..MAX_STEPS {
            let (gradient, information) = self.slope(strength, ties);
            let Some(factor) = Factor::new(information) else { return };
            let step = factor.solve(gradient);
            // Newton overshoots where results are one-sided: halve until it helps.
            let mut scale = 1.0;
            let improved = loop {
                let mut next = strength.clone();
                for (t, delta) in next[1..].iter_mut().zip(&step) {
                    *t += scale * delta;
                }
                let reached = self.value(&next, ties);
                if reached >= value {
                    break Some((next, reached));
                }
                scale /= 2.0;
                if scale < 1e-10 {
                    break None;
                }
            };
            let Some((next, reached)) = improved else { return };
            (*strength, value) = (next, reached);
            if step.iter().all(|delta| delta.abs() < 1e-9) {
                return;
            }
        }
    }

    /// Brings the ties that the model expects nearer to those seen; the largest relative change.
    fn scale(&self, ties: &mut Ties, strength: &[f64]) -> f64 {
        let mut sums = vec![(0.0, 0.0); ties.len()];
        for edge in &self.edges {
            let d = strength[edge.players.0] - strength[edge.players.1];
            for stage in &edge.stages {
                for (sum, (seen, expected)) in sums.iter_mut().zip(stage.ties(d, ties)) {
                    sum.0 += seen;
                    sum.1 += expected;
                }
            }
        }
        let mut change: f64 = 0.0;
        for (size, weight) in ties.iter_mut().enumerate().skip(2) {
            if *weight > 0.0 {
                let expected = sums[size].1 + *weight / (2.0 + *weight);
                let factor = sums[size].0 / expected;
                *weight *= factor;
                change = change.max((factor - 1.0).abs());
            }
        }
        change
    }
}
