//! Cholesky factorisation of a sparse symmetric matrix, and the diagonal of its inverse.
//!
//! The matrices are those of a graph: an entry off the diagonal for every two players that have met,
//! few per player however many players there are. Players are eliminated by minimum degree (Markowitz
//! 1957; Tinney and Walker 1967). That keeps the factor almost as sparse as the graph, since old
//! candidates form a chain. Entries of the inverse inside the factor's pattern come from Takahashi's
//! recurrence (Takahashi, Fagan and Chin 1973), without forming the inverse.

use std::collections::{BTreeMap, BTreeSet};

/// A symmetric matrix: the diagonal, and per row the entries off the diagonal.
#[derive(Clone, Debug)]
pub(super) struct Sparse {
    diagonal: Vec<f64>,
    rows: Vec<BTreeMap<usize, f64>>,
}

impl Sparse {
    /// The zero matrix.
    pub(super) fn zero(size: usize) -> Self {
        Self { diagonal: vec![0.0; size], rows: vec![BTreeMap::new(); size] }
    }

    /// Adds to an entry of the diagonal.
    pub(super) fn add_diagonal(&mut self, index: usize, value: f64) {
        self.diagonal[index] += value;
    }

    /// Adds to an entry and to its mirror image.
    pub(super) fn add(&mut self, a: usize, b: usize, value: f64) {
        *self.rows[a].entry(b).or_default() += value;
        *self.rows[b].entry(a).or_default() += value;
    }
}

/// One eliminated row: `pivot` in `D` and the column `below` in `L` of `L D Lᵀ`.
#[derive(Clone, Debug)]
struct Column {
    index: usize,
    pivot: f64,
    below: Vec<(usize, f64)>,
}

/// The factor of a positive definite matrix.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    size: usize,
    columns: Vec<Column>,
}

impl Factor {
    /// Factorises; `None` if the matrix is not positive definite.
    pub(super) fn new(matrix: Sparse) -> Option<Self> {
        let Sparse { mut diagonal, mut rows } = matrix;
        let size = diagonal.len();
        let mut queue: BTreeSet<(usize, usize)> =
            rows.iter().enumerate().map(|(index, row)| (row.len(), index)).collect();
        let mut columns = Vec::with_capacity(size);
        while let Some((_, index)) = queue.pop_first() {
            let pivot = diagonal[index];
            if !(pivot > 0.0 && pivot.is_finite()) {
                return None;
            }
            let row = std::mem::take(&mut rows[index]);
            let below: Vec<(usize, f64)> =
                row.iter().map(|(&other, &value)| (other, value / pivot)).collect();
            for &(a, factor) in &below {
                queue.remove(&(rows[a].len(), a));
                rows[a].remove(&index);
                diagonal[a] -= factor * factor * pivot;
                for &(b, other) in &below {
                    if b != a {
                        *rows[a].entry(b).or_default() -= factor * other * pivot;
                    }
                }
                queue.insert((rows[a].len(), a));
            }
            columns.push(Column { index, pivot, below });
        }
        Some(Self { size, columns })
    }

    /// Solves `A x = right`.
    pub(super) fn solve(&self, mut right: Vec<f64>) -> Vec<f64> {
        for Column { index, below, .. } in &self.columns {
            let value = right[*index];
            for &(other, factor) in below {
                right[other] -= factor * value;
            }
        }
        for Column { index, pivot, below } in self.columns.iter().rev() {
            let above: f64 = below.iter().map(|&(other, factor)| factor * right[other]).sum();
            right[*index] = right[*index] / pivot - above;
        }
        right
    }

    /// The diagonal of the inverse.
    pub(super) fn inverse_diagonal(&self) -> Vec<f64> {
        let mut diagonal = vec![0.0; self.size];
        // Entries of the inverse beside the diagonal, by row.
        let mut beside: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); self.size];
        for Column { index, pivot, below } in self.columns.iter().rev() {
            let mut own = 1.0 / pivot;
            for &(a, factor) in below {
                let entry = |b: usize| {
                    if a == b { diagonal[a] } else { beside[a].get(&b).copied().unwrap_or(0.0) }
                };
                let value: f64 = -below.iter().map(|&(b, other)| other * entry(b)).sum::<f64>();
                own -= factor * value;
                beside[a].insert(*index, value);
                beside[*index].insert(a, value);
            }
            diagonal[*index] = own;
        }
        diagonal
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::Rng;

    use super::*;

    /// A random matrix of a sparse graph, made positive definite by its diagonal, and the same
    /// written out.
    fn random(seed: u64, size: usize, edges: usize) -> (Sparse, Vec<Vec<f64>>) {
        let mut rng = Rng::new(seed, "sparse");
        let mut sparse = Sparse::zero(size);
        let mut dense = vec![vec![0.0; size]; size];
        for (index, row) in dense.iter_mut().enumerate() {
            let value = 0.1 + rng.unit();
            sparse.add_diagonal(index, value);
            row[index] += value;
        }
        for _ in 0..edges {
            let (a, b) = (rng.below(size as u32) as usize, rng.below(size as u32) as usize);
            if a != b {
                let weight = rng.unit();
                sparse.add(a, b, -weight);
                dense[a][b] -= weight;
                dense[b][a] -= weight;
                for index in [a, b] {
                    sparse.add_diagonal(index, weight);
                    dense[index][index] += weight;
                }
            }
        }
        (sparse, dense)
    }

    #[test]
    fn solutions_and_inverses_are_those_of_the_matrix_written_out() {
        for (seed, size, edges) in [(1, 1, 0), (2, 5, 4), (3, 12, 30), (4, 40, 60), (5, 30, 400)] {
            let (sparse, dense) = random(seed, size, edges);
            let factor = Factor::new(sparse).unwrap();
            let diagonal = factor.inverse_diagonal();
            for column in 0..size {
                let mut unit = vec![0.0; size];
                unit[column] = 1.0;
                let x = factor.solve(unit);
                for (row, entries) in dense.iter().enumerate() {
                    let product: f64 = entries.iter().zip(&x).map(|(a, x)| a * x).sum();
                    let expected = f64::from(u8::from(row == column));
                    assert!((product - expected).abs() < 1e-9, "{seed}: {product}");
                }
                assert!((x[column] - diagonal[column]).abs() < 1e-9, "{seed}: {column}");
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_refused() {
        let mut singular = Sparse::zero(2);
        singular.add_diagonal(0, 1.0);
        singular.add_diagonal(1, 1.0);
        singular.add(0, 1, -1.0);
        assert!(Factor::new(singular).is_none());
    }
}
