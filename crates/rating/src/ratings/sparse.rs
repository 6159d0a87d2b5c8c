//! Factorisation of sparse symmetric matrices, and entries of their inverses.
//!
//! The matrices are those of a graph: an entry off the diagonal for every two players that have met,
//! few per player however many players there are. The work is split in two (Davis 2006, "Direct
//! Methods for Sparse Linear Systems"):
//!
//! * [`Analysis`] depends on the graph alone: the order of elimination and the pattern of the factor.
//! * [`Factor`] holds the numbers. All matrices of one graph share an analysis.
//!
//! Each step has a fixed order, so equal matrices have equal factors, bit for bit. That order does not
//! depend on players without an edge, which are separate components of the graph.

mod analysis;
mod factor;
mod inverse;
mod ordering;
mod supernodes;

pub(super) use analysis::Analysis;
pub(super) use factor::Factor;

/// The edges of a graph: each pair of rows at most once, in any direction.
pub(super) type Pairs = [(u32, u32)];

/// A symmetric matrix whose entries off the diagonal belong to the edges of a graph.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    /// The diagonal.
    pub(super) diagonal: Vec<f64>,
    /// The entry of each edge.
    pub(super) beside: Vec<f64>,
}

impl Matrix {
    /// The zero matrix of a graph.
    pub(super) fn zero(rows: usize, edges: usize) -> Self {
        Self { diagonal: vec![0.0; rows], beside: vec![0.0; edges] }
    }
}

/// The neighbours of each row, ascending.
#[derive(Clone, Debug)]
struct Graph {
    /// Where the neighbours of each row start; one more at the end.
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Graph {
    fn new(rows: usize, pairs: &Pairs) -> Self {
        let mut starts = vec![0; rows + 1];
        for &(a, b) in pairs {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let (mut next, mut neighbours) = (starts.clone(), vec![0; 2 * pairs.len()]);
        for (from, to) in pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]) {
            neighbours[next[from as usize]] = to;
            next[from as usize] += 1;
        }
        for row in 0..rows {
            neighbours[starts[row]..starts[row + 1]].sort_unstable();
        }
        Self { starts, neighbours }
    }

    fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    fn neighbours(&self, row: u32) -> &[u32] {
        &self.neighbours[self.starts[row as usize]..self.starts[row as usize + 1]]
    }
}

#[cfg(test)]
mod tests;
