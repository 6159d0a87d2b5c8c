//! The graph of players that have met, and the matrices that belong to it.

/// The edges of a graph: each pair of rows at most once, in any direction.
pub(in crate::ratings) type Pairs = [(u32, u32)];

/// A symmetric matrix whose entries off the diagonal belong to the edges of a graph.
#[derive(Clone, Debug)]
pub(in crate::ratings) struct Matrix {
    /// The diagonal.
    pub(in crate::ratings) diagonal: Vec<f64>,
    /// The entry of each edge.
    pub(in crate::ratings) beside: Vec<f64>,
}

impl Matrix {
    /// The zero matrix of a graph.
    pub(in crate::ratings) fn zero(rows: usize, edges: usize) -> Self {
        Self { diagonal: vec![0.0; rows], beside: vec![0.0; edges] }
    }
}

/// The neighbours of each row, ascending.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    /// Where the neighbours of each row start; one more at the end.
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Graph {
    pub(super) fn new(rows: usize, pairs: &Pairs) -> Self {
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

    pub(super) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn neighbours(&self, row: u32) -> &[u32] {
        &self.neighbours[self.starts[row as usize]..self.starts[row as usize + 1]]
    }
}
