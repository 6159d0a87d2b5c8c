//! The numbers of a factor, and solutions.
//!
//! The factorisation is multifrontal (Duff and Reid 1983; Liu 1992): each block subtracts its
//! contribution from a dense matrix of the rows beneath, which its parent adds to its own entries.

use std::sync::Arc;

use super::analysis::{Analysis, Block};
use super::graph::Matrix;

/// Columns that are applied to others together, so that each of these is read once for all of them.
pub(super) const PANEL: usize = 4;

/// The factor `L D Lᵀ` of a positive definite matrix.
#[derive(Clone, Debug)]
pub(in crate::ratings) struct Factor {
    pub(super) analysis: Arc<Analysis>,
    /// `L` by blocks. Its diagonal is 1 and not stored; entries above the diagonal have no meaning.
    pub(super) lower: Vec<f64>,
    /// `D` by position.
    pub(super) pivots: Vec<f64>,
}

impl Factor {
    /// Factorises; `None` if the matrix is not positive definite.
    pub(in crate::ratings) fn new(analysis: &Arc<Analysis>, matrix: &Matrix) -> Option<Self> {
        let mut lower = vec![0.0; analysis.entries];
        let mut pivots = vec![0.0; analysis.position.len()];
        let diagonal = analysis.diagonal.iter().zip(&matrix.diagonal);
        for (&entry, &value) in diagonal.chain(analysis.beside.iter().zip(&matrix.beside)) {
            lower[entry] = value;
        }
        // Contributions of the blocks whose parents are still to come, and of one block.
        let (mut waiting, mut own) = (Contributions::default(), Vec::new());
        for block in &analysis.blocks {
            let entries = &mut lower[block.entry_range()];
            own.clear();
            own.resize(block.beneath * block.beneath, 0.0);
            for _ in 0..block.children {
                waiting.add_last(block, entries, &mut own);
            }
            let pivots = &mut pivots[block.first..block.first + block.columns];
            eliminate(block, entries, pivots)?;
            contribute(block, entries, pivots, &mut own);
            if block.beneath > 0 {
                waiting.push(analysis, block, &own);
            }
        }
        Some(Self { analysis: analysis.clone(), lower, pivots })
    }

    /// Solves `A x = right`.
    pub(in crate::ratings) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; right.len()];
        for (&position, &value) in self.analysis.position.iter().zip(right) {
            x[position as usize] = value;
        }
        for block in &self.analysis.blocks {
            self.forward(block, &mut x);
        }
        for block in self.analysis.blocks.iter().rev() {
            self.backward(block, &mut x);
        }
        self.analysis.position.iter().map(|&position| x[position as usize]).collect()
    }

    /// The rows `wanted` of the solution of `A x = right`, where `right` has few entries.
    ///
    /// Only blocks between these rows and the roots take part.
    pub(in crate::ratings) fn solve_sparse(
        &self,
        right: &[(usize, f64)],
        wanted: &[usize],
    ) -> Vec<f64> {
        let analysis = &*self.analysis;
        let mut x = vec![0.0; analysis.position.len()];
        for &(row, value) in right {
            x[analysis.position[row] as usize] += value;
        }
        for block in analysis.ancestors(right.iter().map(|&(row, _)| row)) {
            self.forward(&analysis.blocks[block], &mut x);
        }
        for block in analysis.ancestors(wanted.iter().copied()).into_iter().rev() {
            self.backward(&analysis.blocks[block], &mut x);
        }
        wanted.iter().map(|&row| x[analysis.position[row] as usize]).collect()
    }

    /// Eliminates the unknowns of a block from the rows beneath.
    fn forward(&self, block: &Block, x: &mut [f64]) {
        let rows = &self.analysis.rows[block.row_range()];
        for (index, column) in
            self.lower[block.entry_range()].chunks_exact(block.height()).enumerate()
        {
            let (own, value) = (block.first + index, x[block.first + index]);
            let (within, beneath) = column.split_at(block.columns);
            for (x, factor) in x[own + 1..].iter_mut().zip(&within[index + 1..]) {
                *x -= factor * value;
            }
            for (&row, factor) in rows.iter().zip(beneath) {
                x[row as usize] -= factor * value;
            }
        }
    }

    /// Finds the unknowns of a block from those of the rows beneath.
    fn backward(&self, block: &Block, x: &mut [f64]) {
        let rows = &self.analysis.rows[block.row_range()];
        let columns = self.lower[block.entry_range()].chunks_exact(block.height());
        for (index, column) in columns.enumerate().rev() {
            let own = block.first + index;
            let (within, beneath) = column.split_at(block.columns);
            let within =
                within[index + 1..].iter().zip(&x[own + 1..]).map(|(factor, x)| factor * x);
            let beneath = beneath.iter().zip(rows).map(|(factor, &row)| factor * x[row as usize]);
            x[own] = x[own] / self.pivots[own] - within.chain(beneath).sum::<f64>();
        }
    }
}

/// Contributions of blocks to their parents: lower triangles of dense matrices, by column.
#[derive(Default)]
struct Contributions<'a> {
    values: Vec<f64>,
    /// The rows of each contribution, as indices in the parent.
    rows: Vec<&'a [u32]>,
}

impl<'a> Contributions<'a> {
    fn push(&mut self, analysis: &'a Analysis, block: &Block, values: &[f64]) {
        self.values.extend_from_slice(values);
        self.rows.push(&analysis.in_parent[block.row_range()]);
    }

    /// Takes the last contribution and adds it to the entries of a parent and to the parent's own
    /// contribution.
    fn add_last(&mut self, parent: &Block, entries: &mut [f64], own: &mut [f64]) {
        let Some(rows) = self.rows.pop() else { return };
        let start = self.values.len() - rows.len() * rows.len();
        for (index, column) in self.values[start..].chunks_exact(rows.len()).enumerate() {
            let to = rows[index] as usize;
            let (target, above) = match to.checked_sub(parent.columns) {
                None => (&mut entries[to * parent.height()..], 0),
                Some(to) => (&mut own[to * parent.beneath..], parent.columns),
            };
            for (&row, value) in rows[index..].iter().zip(&column[index..]) {
                target[row as usize - above] += value;
            }
        }
        self.values.truncate(start);
    }
}

/// Factorises the columns of a block; `None` if a pivot is not positive.
fn eliminate(block: &Block, entries: &mut [f64], pivots: &mut [f64]) -> Option<()> {
    let height = block.height();
    for index in 0..block.columns {
        let (done, rest) = entries.split_at_mut(index * height);
        // Columns before this panel have been subtracted already.
        let panel = index / PANEL * PANEL;
        subtract(&mut rest[index..height], index, &done[panel * height..], &pivots[panel..index]);
        let pivot = rest[index];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return None;
        }
        pivots[index] = pivot;
        rest[index + 1..height].iter_mut().for_each(|value| *value /= pivot);
        if index + 1 == panel + PANEL {
            let (done, rest) = entries.split_at_mut((index + 1) * height);
            let (done, pivots) = (&done[panel * height..], &pivots[panel..=index]);
            for (ahead, column) in rest.chunks_exact_mut(height).enumerate() {
                let row = index + 1 + ahead;
                subtract(&mut column[row..], row, done, pivots);
            }
        }
    }
    Some(())
}

/// Subtracts the columns of a block from the matrix of the rows beneath.
fn contribute(block: &Block, entries: &[f64], pivots: &[f64], own: &mut [f64]) {
    for (index, column) in own.chunks_exact_mut(block.beneath.max(1)).enumerate() {
        subtract(&mut column[index..], block.columns + index, entries, pivots);
    }
}

/// Subtracts `L D Lᵀ` from the end of a column, from the diagonal in `row` on. `columns` are those of
/// `L` with their pivots, each as high as `row` and the target together.
fn subtract(target: &mut [f64], row: usize, columns: &[f64], pivots: &[f64]) {
    let height = row + target.len();
    let panels = pivots.chunks_exact(PANEL);
    let rest = panels.remainder();
    for (columns, pivots) in columns.chunks_exact(PANEL * height).zip(panels) {
        let [a, b, c, d] =
            [0, 1, 2, 3].map(|index| &columns[index * height + row..][..target.len()]);
        let [p, q, r, s] = [0, 1, 2, 3].map(|index| columns[index * height + row] * pivots[index]);
        for (index, value) in target.iter_mut().enumerate() {
            *value = *value - p * a[index] - q * b[index] - r * c[index] - s * d[index];
        }
    }
    let columns = &columns[(pivots.len() - rest.len()) * height..];
    for (column, pivot) in columns.chunks_exact(height).zip(rest) {
        let factor = column[row] * pivot;
        for (value, entry) in target.iter_mut().zip(&column[row..]) {
            *value -= factor * entry;
        }
    }
}
