//! First and second derivatives of the log-likelihood.

use super::{Edge, Point, Search, all_pairs, dot};
use crate::ratings::sparse::Matrix;
use crate::ratings::stage::{self, Choices, Moments};

/// Derivatives of the log-likelihood at a point.
#[derive(Clone, Debug)]
pub(super) struct Derivatives {
    /// By the log-strengths without the anchor's.
    pub(super) strength: Vec<f64>,
    /// By the logarithms of the weights of ties.
    pub(super) ties: Vec<f64>,
    /// Negated second derivatives by two log-strengths.
    pub(super) information: Matrix,
    /// Negated second derivatives by the logarithm of each weight of ties and by the log-strengths.
    pub(super) mixed: Vec<Vec<f64>>,
    /// Negated second derivatives by the logarithms of two weights of ties.
    pub(super) tie_information: Matrix,
}

impl Derivatives {
    /// The derivative in the direction of a step.
    pub(super) fn along(&self, step: &Point) -> f64 {
        dot(&self.strength, &step.strength[1..]) + dot(&self.ties, &step.ties)
    }
}

impl Search<'_> {
    /// The derivatives at a point.
    pub(super) fn derivatives(&self, point: &Point) -> Derivatives {
        let problem = self.problem;
        let weights = self.weights(&point.ties);
        let choices: Vec<Choices> =
            problem.left.iter().map(|&left| Choices::new(left, &weights)).collect();
        let mut sums = self.prior_of_ties(&weights);
        let (mut moments, mut beside) = (Moments::default(), 0);
        for edge in &problem.edges {
            let d = edge.difference(&point.strength);
            let mut sum = stage::Derivatives::of_draws(edge.prior, d);
            for stage in &problem.stages[edge.stages.clone()] {
                choices[stage.left].moments(d, &mut moments);
                sum += stage.derivatives(&moments);
                self.add_ties(edge, stage.count, &moments, &mut sums);
            }
            let rows = edge.rows();
            for (row, sign) in rows.into_iter().zip([1.0, -1.0]) {
                if let Some(row) = row {
                    sums.strength[row] += sign * sum.slope;
                    sums.information.diagonal[row] += sum.information;
                }
            }
            if let [Some(_), Some(_)] = rows {
                sums.information.beside[beside] = -sum.information;
                beside += 1;
            }
        }
        sums
    }

    /// The derivatives of the decisive game between equals for each size of tie, and the number of
    /// ties seen.
    fn prior_of_ties(&self, weights: &[f64]) -> Derivatives {
        let rows = self.problem.players - 1;
        let sizes = self.sizes.len();
        let mut sums = Derivatives {
            strength: vec![0.0; rows],
            ties: vec![0.0; sizes],
            information: Matrix::zero(rows, self.analysis.edges()),
            mixed: vec![vec![0.0; rows]; sizes],
            tie_information: Matrix::zero(sizes, all_pairs(sizes).len()),
        };
        for (index, &size) in self.sizes.iter().enumerate() {
            // A tie had the weight of one player of two.
            let tie = weights[size] / (2.0 + weights[size]);
            sums.ties[index] = self.problem.ties[size] - tie;
            sums.tie_information.diagonal[index] = tie * (1.0 - tie);
        }
        sums
    }

    /// Adds what the model expects of ties in some choices of two players.
    fn add_ties(&self, edge: &Edge, count: f64, moments: &Moments, sums: &mut Derivatives) {
        let mut beside = 0;
        for (index, &size) in self.sizes.iter().enumerate() {
            let tie = moments.ties[size];
            sums.ties[index] -= count * tie.chance;
            sums.tie_information.diagonal[index] += count * tie.chance * (1.0 - tie.chance);
            for &other in &self.sizes[index + 1..] {
                sums.tie_information.beside[beside] -=
                    count * tie.chance * moments.ties[other].chance;
                beside += 1;
            }
            for (row, sign) in edge.rows().into_iter().zip([1.0, -1.0]) {
                if let Some(row) = row {
                    sums.mixed[index][row] += sign * count * tie.covariance;
                }
            }
        }
    }
}
