//! The strengths that make all results most likely.
//!
//! Two steps alternate until both stand still: one moves all strengths, the other the weights of
//! ties, one size at a time. Both are damped Newton steps (Sun and Tran-Dinh 2019, "Generalized
//! self-concordant functions"): the log-likelihood is concave in the differences of log-strengths
//! and in the logarithm of each weight, and its third derivative is at most as large as its second.
//! A Newton step that changes none of them by more than `r`, shortened by the factor `ln(1 + r) / r`,
//! therefore increases the likelihood. Comparing likelihoods instead would fail near the maximum,
//! where they differ by less than their rounding errors.
//!
//! One decisive game between equals is added for each size of tie, so that nothing but draws does not
//! drive a weight to infinity.
//!
//! The search always starts from equal strengths, so its result depends on the problem alone.

use std::collections::BTreeMap;

use super::sparse::{Factor, Sparse};
use super::stage::{Derivatives, Stage, TieCounts, Ties};
use crate::cluster::Ranking;

/// Most steps; ten to thirty are usual. The bound stops a cycle of rounding errors.
const MAX_STEPS: usize = 200;

/// Where the search for the weight of ties starts.
const FIRST_TIE_WEIGHT: f64 = 0.5;

/// Change of log-strengths and relative change of weights at which the search ends, 2e-7 Elo points.
const CONVERGED: f64 = 1e-9;

/// The games between two players.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// Indices of the two; the anchor has index 0.
    players: (usize, usize),
    stages: Vec<Stage>,
    /// Drawn games that the prior adds.
    pub(super) prior: f64,
}

impl Edge {
    /// The games of two players, by ranking as the first one sees it, without a prior.
    pub(super) fn new(players: (usize, usize), rankings: &BTreeMap<Ranking, u32>) -> Self {
        let mut stages: Vec<Stage> = Vec::new();
        for (ranking, &count) in rankings {
            for stage in Stage::of(ranking, f64::from(count)) {
                match stages.iter_mut().find(|known| known.joins(&stage)) {
                    Some(known) => known.join(&stage),
                    None => stages.push(stage),
                }
            }
        }
        Self { players, stages, prior: 0.0 }
    }

    /// The difference between the two players' values.
    fn difference(&self, values: &[f64]) -> f64 {
        values[self.players.0] - values[self.players.1]
    }

    fn derivatives(&self, strength: &[f64], ties: &Ties) -> Derivatives {
        let d = self.difference(strength);
        let mut sum = Derivatives::of_draws(self.prior, d);
        for stage in &self.stages {
            sum += stage.derivatives(d, ties);
        }
        sum
    }
}

/// All results.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// Players, the anchor included.
    pub(super) players: usize,
    /// At most one edge for two players, in ascending order.
    pub(super) edges: Vec<Edge>,
}

/// The most likely strengths.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// Log-strengths; the anchor's is 0.
    pub(super) strength: Vec<f64>,
    /// Weights of ties.
    pub(super) ties: Ties,
    /// The Fisher information without the anchor, factorised; `None` if it is singular.
    pub(super) factor: Option<Factor>,
}

impl Problem {
    /// Finds the most likely strengths, starting from equal ones.
    pub(super) fn solve(&self) -> Solution {
        let mut strength = vec![0.0; self.players];
        let mut ties = self.first_ties();
        for _ in 0..MAX_STEPS {
            let moved = self.step(&mut strength, &ties);
            let scaled = self.update_ties(&mut ties, &strength);
            if moved.max(scaled) < CONVERGED {
                break;
            }
        }
        let factor = Factor::new(self.derivatives(&strength, &ties).1);
        Solution { strength, ties, factor }
    }

    /// Weights of ties to start from: 0 for sizes that never occurred.
    fn first_ties(&self) -> Ties {
        let stages = || self.edges.iter().flat_map(|edge| &edge.stages);
        let largest = stages().map(|stage| stage.tied().len() - 1).max().unwrap_or(1).max(1);
        let mut ties = vec![0.0; largest + 1];
        for stage in stages() {
            for (weight, &count) in ties.iter_mut().zip(stage.tied()) {
                if count > 0.0 {
                    *weight = FIRST_TIE_WEIGHT;
                }
            }
        }
        ties[1] = 1.0;
        ties
    }

    /// Gradient and Fisher information without the anchor.
    fn derivatives(&self, strength: &[f64], ties: &Ties) -> (Vec<f64>, Sparse) {
        let free = self.players - 1;
        let mut gradient = vec![0.0; free];
        let mut information = Sparse::zero(free);
        for edge in &self.edges {
            let Derivatives { slope, information: weight } = edge.derivatives(strength, ties);
            let [a, b] = [edge.players.0, edge.players.1].map(|index| index.checked_sub(1));
            for (index, sign) in [(a, 1.0), (b, -1.0)] {
                if let Some(index) = index {
                    gradient[index] += sign * slope;
                    information.add_diagonal(index, weight);
                }
            }
            if let (Some(a), Some(b)) = (a, b) {
                information.add(a, b, -weight);
            }
        }
        (gradient, information)
    }

    /// Takes a damped Newton step in the strengths. Returns the largest change of a difference that
    /// the undamped step makes.
    fn step(&self, strength: &mut [f64], ties: &Ties) -> f64 {
        let (gradient, information) = self.derivatives(strength, ties);
        // The prior makes the matrix positive definite, except by rounding where strengths lie
        // hundreds of units apart. The strengths found so far are the best answer then.
        let Some(factor) = Factor::new(information) else { return 0.0 };
        let mut step = vec![0.0];
        step.extend(factor.solve(gradient));
        let differences = self.edges.iter().map(|edge| edge.difference(&step).abs());
        let largest = differences.fold(0.0, f64::max);
        for (t, delta) in strength.iter_mut().zip(&step) {
            *t += damped(*delta, largest);
        }
        largest
    }

    /// Takes a damped Newton step in the logarithm of each weight of ties. Returns the largest undamped
    /// change.
    fn update_ties(&self, ties: &mut Ties, strength: &[f64]) -> f64 {
        let mut largest: f64 = 0.0;
        for size in 2..ties.len() {
            if ties[size] == 0.0 {
                continue;
            }
            // The decisive game between equals: a tie had the weight of one player of two.
            let tie = ties[size] / (2.0 + ties[size]);
            let mut sum = TieCounts { seen: 0.0, expected: tie, variance: tie * (1.0 - tie) };
            for edge in &self.edges {
                let d = edge.difference(strength);
                for stage in &edge.stages {
                    sum += stage.ties(size, d, ties);
                }
            }
            let step = (sum.seen - sum.expected) / sum.variance;
            ties[size] *= libm::exp(damped(step, step.abs()));
            largest = largest.max(step.abs());
        }
        largest
    }
}

/// Part of a Newton step that is safe, if the step changes no argument by more than `largest`.
fn damped(step: f64, largest: f64) -> f64 {
    if largest > 0.0 { step * libm::log1p(largest) / largest } else { step }
}
