//! The diagonal of the inverse.
//!
//! Takahashi's recurrence gives the entries of the inverse inside the pattern of the factor, from the
//! last column to the first, without forming the inverse (Takahashi, Fagan and Chin 1973). A column
//! needs the entries between its own rows. For a block, they are among those of its parent.

use super::analysis::{Analysis, Block};
use super::factor::{Factor, PANEL};

/// The entries of the inverse between the columns and rows of a block, and the block's children that
/// have not used them yet.
struct Dense {
    size: usize,
    values: Vec<f64>,
    children: usize,
}

impl Factor {
    /// The diagonal of the inverse.
    pub(in crate::ratings) fn inverse_diagonal(&self) -> Vec<f64> {
        let analysis = &*self.analysis;
        let mut diagonal = vec![0.0; analysis.position.len()];
        // The ancestors that are still needed; the last one is the parent of the next block.
        let mut ancestors: Vec<Dense> = Vec::new();
        let mut spare = Vec::new();
        for block in analysis.blocks.iter().rev() {
            let size = block.height();
            let values = std::mem::take(&mut spare);
            let mut dense = Dense { size, values, children: block.children };
            dense.values.clear();
            dense.values.resize(size * size, 0.0);
            if block.parent.is_some()
                && let Some(mut parent) = ancestors.pop()
            {
                dense.copy_rows(&parent, analysis, block);
                parent.children -= 1;
                if parent.children > 0 {
                    ancestors.push(parent);
                } else {
                    spare = parent.values;
                }
            }
            self.invert(block, &mut dense);
            for column in 0..block.columns {
                diagonal[block.first + column] = dense.values[column * (size + 1)];
            }
            if block.children > 0 {
                ancestors.push(dense);
            }
        }
        analysis.position.iter().map(|&position| diagonal[position as usize]).collect()
    }

    /// Computes the columns of a block, from the entries between the rows beneath.
    fn invert(&self, block: &Block, dense: &mut Dense) {
        let (size, lower) = (dense.size, &self.lower[block.entry_range()]);
        let mut sums = vec![0.0; PANEL * size];
        let mut end = block.columns;
        while end > 0 {
            let start = (end - 1) / PANEL * PANEL;
            let factors = &lower[start * size..end * size];
            let known = &dense.values[end * size..];
            products(factors, known, size, end, &mut sums);
            for column in (start..end).rev() {
                let factors = &lower[column * size..(column + 1) * size];
                let sum = &mut sums[(column - start) * size..][..size];
                // `products` had no entries of this panel yet.
                let inside = dense.values.chunks_exact(size).take(end).skip(column + 1);
                for (sum, known) in sum[column + 1..].iter_mut().zip(inside.clone()) {
                    *sum = dot(&known[end..], &factors[end..]);
                }
                for (known, factor) in inside.zip(&factors[column + 1..]) {
                    for (sum, value) in sum[column + 1..].iter_mut().zip(&known[column + 1..]) {
                        *sum += factor * value;
                    }
                }
                let mut own = 1.0 / self.pivots[block.first + column];
                for row in column + 1..size {
                    own += factors[row] * sum[row];
                    dense.values[column * size + row] = -sum[row];
                    dense.values[row * size + column] = -sum[row];
                }
                dense.values[column * (size + 1)] = own;
            }
            end = start;
        }
    }
}

impl Dense {
    /// Copies the entries between the rows beneath a block.
    fn copy_rows(&mut self, parent: &Self, analysis: &Analysis, block: &Block) {
        let rows = &analysis.in_parent[block.row_range()];
        let columns = self.values.chunks_exact_mut(self.size).skip(block.columns);
        for (column, &from) in columns.zip(rows) {
            let from = &parent.values[from as usize * parent.size..][..parent.size];
            for (value, &row) in column[block.columns..].iter_mut().zip(rows) {
                *value = from[row as usize];
            }
        }
    }
}

/// Sums of the columns `known` from row `end` on, weighted by each column of `factors`. The first of
/// them has the number `end`.
fn products(factors: &[f64], known: &[f64], size: usize, end: usize, sums: &mut [f64]) {
    let panel = factors.chunks_exact(size);
    sums.fill(0.0);
    for (index, column) in known.chunks_exact(size).enumerate() {
        for (sum, factors) in sums.chunks_exact_mut(size).zip(panel.clone()) {
            let factor = factors[end + index];
            for (sum, value) in sum[end..].iter_mut().zip(&column[end..]) {
                *sum += factor * value;
            }
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
