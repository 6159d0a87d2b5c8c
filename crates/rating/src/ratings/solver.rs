//! The strengths that make all results most likely.
//!
//! Newton's method moves all log-strengths and the logarithms of all weights of ties at once. The
//! log-likelihood is concave in them, and the third derivative along a step is at most `r` times as
//! large as the second, where `r` bounds the change of every exponent of the model (Sun and Tran-Dinh
//! 2019, "Generalized self-concordant functions"). Hence a step increases the likelihood
//!
//! * if it is taken as it is and `r` is at most 1: the increase is at least `1 - (e^r - 1 - r) / r²`
//!   times the slope;
//! * if it is taken as it is and the likelihood still increases at its end;
//! * if it is shortened by the factor `ln(1 + r) / r`.
//!
//! Comparing likelihoods instead would fail near the maximum, where they differ by less than their
//! rounding errors.
//!
//! One decisive game between equals is added for each size of tie, so that nothing but draws does not
//! drive a weight to infinity.
//!
//! The start follows from the results, so the solution depends on the problem alone.

use std::ops::Range;
use std::sync::Arc;

use super::sparse::{Analysis, Factor};
use super::stage::{Copies, Stage, Ties, binomial};

mod derivatives;
mod tie_error;

use derivatives::Derivatives;
use tie_error::TieError;

/// Most steps; five to ten are usual. The bound stops a cycle of rounding errors.
const MAX_STEPS: usize = 200;

/// A step that changes nothing by more than this is the last one. The error that remains is about
/// its square.
const CONVERGED: f64 = 1e-5;

/// The games between two players.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// Numbers of the two; the anchor has number 0.
    pub(super) players: (u32, u32),
    /// Where their games are in [`Problem::stages`].
    pub(super) stages: Range<usize>,
    /// Drawn games that the prior adds.
    pub(super) prior: f64,
}

impl Edge {
    /// The difference between the two players' values.
    fn difference(&self, values: &[f64]) -> f64 {
        values[self.players.0 as usize] - values[self.players.1 as usize]
    }

    /// Rows of the two in a matrix without the anchor.
    fn rows(&self) -> [Option<usize>; 2] {
        [self.players.0, self.players.1].map(|player| (player as usize).checked_sub(1))
    }
}

/// All results.
#[derive(Clone, Debug, Default)]
pub(super) struct Problem {
    /// Players, the anchor included.
    pub(super) players: usize,
    /// At most one edge for two players, in ascending order.
    pub(super) edges: Vec<Edge>,
    /// The stages of all edges.
    pub(super) stages: Vec<Stage>,
    /// The copies that remain in a stage; all different.
    pub(super) left: Vec<Copies>,
    /// Choices by the size of the tie.
    pub(super) ties: Vec<f64>,
}

/// The most likely strengths.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// Log-strengths; the anchor's is 0.
    pub(super) strength: Vec<f64>,
    /// Weights of ties.
    pub(super) ties: Ties,
    /// The Fisher information of the strengths without the anchor, factorised; `None` if it is
    /// singular.
    pub(super) factor: Option<Factor>,
    /// The error of the weights of ties; `None` if the information is singular.
    pub(super) tie_error: Option<TieError>,
}

/// A point of the search, or a step.
#[derive(Clone, Debug)]
struct Point {
    /// Log-strengths; the anchor's is 0.
    strength: Vec<f64>,
    /// Logarithms of the weights of ties, for the sizes that occurred.
    ties: Vec<f64>,
}

impl Point {
    /// The point after a part of a step.
    fn after(&self, step: &Self, part: f64) -> Self {
        let moved = |from: &[f64], by: &[f64]| {
            from.iter().zip(by).map(|(from, by)| from + part * by).collect()
        };
        let (strength, ties) =
            (moved(&self.strength, &step.strength), moved(&self.ties, &step.ties));
        Self { strength, ties }
    }
}

impl Problem {
    /// Finds the most likely strengths.
    pub(super) fn solve(&self) -> Solution {
        let sizes: Vec<usize> =
            (2..self.ties.len()).filter(|&size| self.ties[size] > 0.0).collect();
        let search = Search {
            problem: self,
            analysis: Arc::new(Analysis::new(self.players - 1, &self.pairs())),
            tie_analysis: Arc::new(Analysis::new(sizes.len(), &all_pairs(sizes.len()))),
            sizes,
        };
        let (point, at) = search.run();
        let factor = Factor::new(&search.analysis, &at.information);
        let tie_error = factor.as_ref().and_then(|factor| search.tie_error(&at, factor));
        let ties = search.weights(&point.ties);
        Solution { strength: point.strength, ties, factor, tie_error }
    }

    /// Rows of the edges between two players other than the anchor.
    fn pairs(&self) -> Vec<(u32, u32)> {
        let free = self.edges.iter().map(|edge| edge.players).filter(|&(first, _)| first > 0);
        free.map(|(first, second)| (first - 1, second - 1)).collect()
    }

    /// The logarithm of the weight of ties of a size among equals. Ties are compared with choices of
    /// one player, in proportion to the number of sets.
    fn first_tie(&self, size: usize) -> f64 {
        let sets = |size: usize| -> f64 {
            let sets = |stage: &Stage| {
                let (first, second) = self.left[stage.left];
                stage.count * binomial(first + second, size as u32)
            };
            self.stages.iter().map(sets).sum()
        };
        // The decisive game of the prior has two sets.
        let [tied, single] = [self.ties[size] / sets(size), (self.ties[1] + 1.0) / (sets(1) + 2.0)];
        libm::log(tied / single)
    }
}

/// All pairs of numbers below `size`.
fn all_pairs(size: usize) -> Vec<(u32, u32)> {
    let size = size as u32;
    (0..size).flat_map(|first| (first + 1..size).map(move |second| (first, second))).collect()
}

/// A search for the maximum of the likelihood.
struct Search<'a> {
    problem: &'a Problem,
    /// Sizes of ties that occurred.
    sizes: Vec<usize>,
    /// Of the information without the anchor.
    analysis: Arc<Analysis>,
    /// Of the information of the weights of ties.
    tie_analysis: Arc<Analysis>,
}

impl Search<'_> {
    /// The maximum, and the derivatives there.
    fn run(&self) -> (Point, Derivatives) {
        let problem = self.problem;
        let mut point = Point {
            strength: vec![0.0; problem.players],
            ties: self.sizes.iter().map(|&size| problem.first_tie(size)).collect(),
        };
        let mut at = self.derivatives(&point);
        for _ in 0..MAX_STEPS {
            // The prior makes the matrix positive definite, except by rounding where strengths lie
            // hundreds of units apart. The strengths found so far are the best answer then.
            let Some(step) = self.newton_step(&at) else { break };
            let largest = self.largest(&step);
            (point, at) = self.advance(&point, &step, largest);
            if largest < CONVERGED {
                break;
            }
        }
        (point, at)
    }

    /// Weights of ties by size.
    fn weights(&self, logarithms: &[f64]) -> Ties {
        let mut weights = vec![0.0; self.problem.ties.len().max(2)];
        weights[1] = 1.0;
        for (&size, &logarithm) in self.sizes.iter().zip(logarithms) {
            weights[size] = libm::exp(logarithm);
        }
        weights
    }

    /// The step to the maximum of the quadratic approximation; `None` if it has none.
    fn newton_step(&self, at: &Derivatives) -> Option<Point> {
        let factor = Factor::new(&self.analysis, &at.information)?;
        // Ties first: strengths are eliminated from their equations.
        let mut strength = factor.solve(&at.strength);
        let tie_error = self.tie_error(at, &factor)?;
        let mut right = at.ties.clone();
        for (right, mixed) in right.iter_mut().zip(&at.mixed) {
            *right -= dot(mixed, &strength);
        }
        let ties = tie_error.factor.solve(&right);
        for (column, tie) in tie_error.columns.iter().zip(&ties) {
            for (strength, entry) in strength.iter_mut().zip(column) {
                *strength -= tie * entry;
            }
        }
        // The anchor stays where it is.
        strength.insert(0, 0.0);
        Some(Point { strength, ties })
    }

    /// The largest difference that a step makes to any two exponents of the same choice.
    fn largest(&self, step: &Point) -> f64 {
        let differences =
            self.problem.edges.iter().map(|edge| edge.difference(&step.strength).abs());
        let (low, high) = step
            .ties
            .iter()
            .fold((0.0_f64, 0.0_f64), |(low, high), &tie| (low.min(tie), high.max(tie)));
        differences.fold(0.0, f64::max) + (high - low)
    }

    /// Takes the whole Newton step if the likelihood does not fall again within it, else its damped
    /// part, which is always safe.
    fn advance(&self, from: &Point, step: &Point, largest: f64) -> (Point, Derivatives) {
        let point = from.after(step, 1.0);
        let derivatives = self.derivatives(&point);
        if largest <= 1.0 || derivatives.along(step) >= 0.0 {
            return (point, derivatives);
        }
        let point = from.after(step, libm::log1p(largest) / largest);
        let derivatives = self.derivatives(&point);
        (point, derivatives)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
