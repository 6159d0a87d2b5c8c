//! Supernodes: columns of the factor with the same pattern, which are stored as one dense block.
//!
//! Each supernode has a parent, the supernode of its first row beneath. A parent depends on its
//! children alone, and its rows include theirs (the elimination tree: Liu 1990, "The role of
//! elimination trees in sparse factorization").

use super::graph::Graph;

/// A supernode is merged into its parent if the block has at most this number of columns then.
const SMALL: usize = 4;

/// A supernode is merged into its parent if at most this share of the block is zeros then. Few large
/// blocks take less time than many small ones, although zeros are computed as well.
const ZEROS: f64 = 0.2;

/// Columns of the factor with the same rows beneath.
#[derive(Clone, Debug, Default)]
pub(super) struct Supernode {
    /// The columns, as rows of the matrix, in the order of their elimination.
    pub(super) columns: Vec<u32>,
    /// The rows beneath, as rows of the matrix.
    pub(super) rows: Vec<u32>,
    pub(super) parent: Option<usize>,
    /// Zeros stored since other supernodes were merged into this one.
    zeros: usize,
}

impl Supernode {
    /// Entries of the factor, the diagonal included.
    fn entries(&self) -> usize {
        let columns = self.columns.len();
        columns * (columns + 1) / 2 + columns * self.rows.len()
    }
}

/// The supernodes of a graph for an order of elimination. Each follows its children directly, and the
/// columns are eliminated in the order of the supernodes.
pub(super) fn supernodes(graph: &Graph, order: &[u32]) -> Vec<Supernode> {
    postorder(merge(postorder(exact(graph, order))))
}

/// Supernodes without zeros.
fn exact(graph: &Graph, order: &[u32]) -> Vec<Supernode> {
    let rows = order.len();
    let mut position = vec![0; rows];
    for (index, &row) in order.iter().enumerate() {
        position[row as usize] = index;
    }
    let mut nodes: Vec<Supernode> = Vec::new();
    // The supernodes whose first row beneath is this one.
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); rows];
    // The last column in whose rows a row was found.
    let mut mark = vec![rows; rows];
    for (index, &column) in order.iter().enumerate() {
        let below = std::mem::take(&mut children[column as usize]);
        let mut beneath = Vec::new();
        let found = below.iter().flat_map(|&child| &nodes[child].rows);
        for &row in graph.neighbours(column).iter().chain(found) {
            if position[row as usize] > index && mark[row as usize] != index {
                mark[row as usize] = index;
                beneath.push(row);
            }
        }
        // The rows of a child are this column and some of those beneath.
        let equal = below.iter().find(|&&child| nodes[child].rows.len() == beneath.len() + 1);
        let node = equal.copied().unwrap_or(nodes.len());
        if node == nodes.len() {
            nodes.push(Supernode::default());
        }
        for child in below.into_iter().filter(|&child| child != node) {
            nodes[child].parent = Some(node);
        }
        if let Some(&parent) = beneath.iter().min_by_key(|&&row| position[row as usize]) {
            children[parent as usize].push(node);
        }
        nodes[node].columns.push(column);
        nodes[node].rows = beneath;
    }
    nodes
}

/// Merges supernodes into their parents where that adds few zeros. `nodes` holds children first.
fn merge(mut nodes: Vec<Supernode>) -> Vec<Supernode> {
    // The supernode that each one was merged into.
    let mut into: Vec<usize> = (0..nodes.len()).collect();
    for index in 0..nodes.len() {
        let Some(parent) = nodes[index].parent else { continue };
        let (node, above) = (&nodes[index], &nodes[parent]);
        let added = above.columns.len() + above.rows.len() - node.rows.len();
        let zeros = node.zeros + above.zeros + node.columns.len() * added;
        let entries = node.entries() + above.entries() + node.columns.len() * added;
        let columns = node.columns.len() + above.columns.len();
        if columns <= SMALL || zeros as f64 <= ZEROS * entries as f64 {
            let mut columns = std::mem::take(&mut nodes[index].columns);
            columns.append(&mut nodes[parent].columns);
            (nodes[parent].columns, nodes[parent].zeros) = (columns, zeros);
            into[index] = parent;
        }
    }
    // A parent comes after its children, so its own entry is final when they are looked at.
    for index in (0..nodes.len()).rev() {
        into[index] = if into[index] == index { index } else { into[into[index]] };
        nodes[index].parent = nodes[index].parent.map(|parent| into[parent]);
    }
    nodes
}

/// Orders supernodes, so that each follows its children directly. Supernodes without columns are
/// left out.
fn postorder(nodes: Vec<Supernode>) -> Vec<Supernode> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut stack = Vec::new();
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| !node.columns.is_empty()) {
        node.parent.map_or(&mut stack, |parent| &mut children[parent]).push(index);
    }
    // Parents first, and the largest child last: the reverse is the order that needs the least
    // memory for updates of parents.
    let mut reversed = Vec::with_capacity(nodes.len());
    while let Some(index) = stack.pop() {
        reversed.push(index);
        children[index].sort_by_key(|&child| std::cmp::Reverse(nodes[child].rows.len()));
        stack.append(&mut children[index]);
    }
    let mut place = vec![0; nodes.len()];
    for (index, &node) in reversed.iter().rev().enumerate() {
        place[node] = index;
    }
    let mut sorted: Vec<(usize, Supernode)> = Vec::with_capacity(reversed.len());
    for (index, mut node) in nodes.into_iter().enumerate() {
        node.parent = node.parent.map(|parent| place[parent]);
        sorted.push((place[index], node));
    }
    sorted.retain(|(_, node)| !node.columns.is_empty());
    sorted.sort_unstable_by_key(|&(place, _)| place);
    sorted.into_iter().map(|(_, node)| node).collect()
}
