//! The error of the weights of ties, and what it adds to the error of ratings.
//!
//! Strengths `s` and the logarithms `λ` of the weights of ties are estimated together. With the blocks
//! `F` of the strengths, `T` of the ties and `M` between them, the covariance of the strengths is
//! `F⁻¹ + V S⁻¹ Vᵀ`, where `V = F⁻¹ M` and `S = T − Mᵀ V` (the inverse of a matrix by blocks). The second
//! term is what taking the weights of ties as known would leave out.

use super::derivatives::Derivatives;
use super::{Search, all_pairs, dot};
use crate::ratings::sparse::Factor;

/// The error of the weights of ties, and how strengths depend on them.
#[derive(Clone, Debug)]
pub(in crate::ratings) struct TieError {
    /// The columns of `V`, without the anchor.
    pub(super) columns: Vec<Vec<f64>>,
    /// `S`, factorised.
    pub(super) factor: Factor,
    /// The column of draws between two, if any occurred.
    draws: Option<usize>,
}

impl TieError {
    /// What the error of the weights adds to the variance of the difference between the log-strengths
    /// of two players. The anchor has number 0.
    ///
    /// A larger `λ` decreases the difference by the difference of the two rows of `V`. `rescaled` is
    /// how much the scale of Elo decreases it besides, per unit of the logarithm of the weight of draws.
    pub(in crate::ratings) fn variance(&self, [a, b]: [usize; 2], rescaled: f64) -> f64 {
        let entry =
            |column: &[f64], player: usize| player.checked_sub(1).map_or(0.0, |row| column[row]);
        let decrease = |column: &Vec<f64>| entry(column, a) - entry(column, b);
        let mut decreases: Vec<f64> = self.columns.iter().map(decrease).collect();
        if let Some(draws) = self.draws {
            decreases[draws] += rescaled;
        }
        dot(&decreases, &self.factor.solve(&decreases)).max(0.0)
    }
}

impl Search<'_> {
    /// Eliminates the strengths, whose information is factorised, from the equations of the ties;
    /// `None` if what remains is singular.
    pub(super) fn tie_error(&self, at: &Derivatives, strengths: &Factor) -> Option<TieError> {
        let columns: Vec<Vec<f64>> =
            at.mixed.iter().map(|column| strengths.solve(column)).collect();
        let mut matrix = at.tie_information.clone();
        for ((diagonal, mixed), column) in matrix.diagonal.iter_mut().zip(&at.mixed).zip(&columns) {
            *diagonal -= dot(mixed, column);
        }
        for (entry, (a, b)) in matrix.beside.iter_mut().zip(all_pairs(columns.len())) {
            *entry -= dot(&at.mixed[a as usize], &columns[b as usize]);
        }
        let factor = Factor::new(&self.tie_analysis, &matrix)?;
        let draws = self.sizes.iter().position(|&size| size == 2);
        Some(TieError { columns, factor, draws })
    }
}
