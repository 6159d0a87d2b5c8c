//! The little linear algebra that ratings need: Cholesky's factorisation.

/// The lower factor `L` of a symmetric positive definite matrix `A = L Lᵀ`, row-major.
#[derive(Debug)]
pub(super) struct Cholesky {
    factor: Vec<f64>,
    size: usize,
}

impl Cholesky {
    /// Factorises `matrix`, `[size, size]`; `None` if it is not positive definite.
    pub(super) fn new(mut matrix: Vec<f64>, size: usize) -> Option<Self> {
        for row in 0..size {
            for column in 0..=row {
                let (start, other) = (row * size, column * size);
                let dot: f64 = (0..column).map(|k| matrix[start + k] * matrix[other + k]).sum();
                let rest = matrix[start + column] - dot;
                matrix[start + column] = if row > column {
                    rest / matrix[other + column]
                } else if rest > 0.0 {
                    rest.sqrt()
                } else {
                    return None;
                };
            }
        }
        Some(Self { factor: matrix, size })
    }

    /// Solves `A x = right`.
    pub(super) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut x = self.forward(right, 0);
        for row in (0..self.size).rev() {
            let below: f64 =
                (row + 1..self.size).map(|k| self.factor[k * self.size + row] * x[k]).sum();
            x[row] = (x[row] - below) / self.factor[row * self.size + row];
        }
        x
    }

    /// The diagonal of the inverse of `A`: column `i` of `L⁻¹` has the squared length
    /// `(A⁻¹)_ii`.
    pub(super) fn inverse_diagonal(&self) -> Vec<f64> {
        let mut unit = vec![0.0; self.size];
        (0..self.size)
            .map(|column| {
                unit[column] = 1.0;
                let squared = self.forward(&unit, column).iter().map(|x| x * x).sum();
                unit[column] = 0.0;
                squared
            })
            .collect()
    }

    /// Solves `L x = right`, whose entries before `first` are 0.
    fn forward(&self, right: &[f64], first: usize) -> Vec<f64> {
        let mut x = vec![0.0; self.size];
        for row in first..self.size {
            let start = row * self.size;
            let before: f64 = (first..row).map(|k| self.factor[start + k] * x[k]).sum();
            x[row] = (right[row] - before) / self.factor[start + row];
        }
        x
    }
}
