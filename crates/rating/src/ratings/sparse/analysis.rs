//! What all matrices of one graph have in common.

use super::graph::{Graph, Pairs};
use super::ordering::minimum_degree;
use super::supernodes::{Supernode, supernodes};

/// The order of elimination and the pattern of the factor.
///
/// Rows are numbered by their position in the order of elimination.
#[derive(Debug, PartialEq)]
pub(in crate::ratings) struct Analysis {
    /// Position of each row of the matrix.
    pub(super) position: Vec<u32>,
    /// The blocks of the factor, each directly after its children.
    pub(super) blocks: Vec<Block>,
    /// Rows beneath the blocks, ascending.
    pub(super) rows: Vec<u32>,
    /// Index of each of `rows` among the columns and the rows of the block's parent.
    pub(super) in_parent: Vec<u32>,
    /// The block of each position.
    pub(super) block_of: Vec<u32>,
    /// Where the factor has the diagonal entry of each row of the matrix.
    pub(super) diagonal: Vec<usize>,
    /// Where the factor has the entry of each edge.
    pub(super) beside: Vec<usize>,
    /// Stored entries of the factor.
    pub(super) entries: usize,
}

/// A supernode: some columns and the rows beneath, stored as one dense block.
#[derive(Debug, PartialEq)]
pub(super) struct Block {
    /// Position of the first column.
    pub(super) first: usize,
    /// Number of columns.
    pub(super) columns: usize,
    /// Number of rows beneath the columns.
    pub(super) beneath: usize,
    /// Where the rows start in [`Analysis::rows`].
    pub(super) rows: usize,
    /// Where the entries start in the factor. They are stored by column; each column has an entry for
    /// every column of the block and for every row beneath.
    pub(super) entries: usize,
    pub(super) parent: Option<usize>,
    /// Number of children.
    pub(super) children: usize,
}

impl Block {
    /// Entries of a stored column.
    pub(super) fn height(&self) -> usize {
        self.columns + self.beneath
    }

    /// Where the rows are in [`Analysis::rows`].
    pub(super) fn row_range(&self) -> std::ops::Range<usize> {
        self.rows..self.rows + self.beneath
    }

    /// Where the entries are in the factor.
    pub(super) fn entry_range(&self) -> std::ops::Range<usize> {
        self.entries..self.entries + self.columns * self.height()
    }

    /// Index of a position among the columns and the rows.
    fn index(&self, position: u32, rows: &[u32]) -> usize {
        let position = position as usize;
        if position < self.first + self.columns {
            return position - self.first;
        }
        self.columns + rows[self.row_range()].partition_point(|&row| (row as usize) < position)
    }
}

impl Analysis {
    /// Analyses the graph of these edges.
    pub(in crate::ratings) fn new(size: usize, pairs: &Pairs) -> Self {
        let graph = Graph::new(size, pairs);
        let nodes = supernodes(&graph, &minimum_degree(&graph));
        let mut analysis = Self {
            position: vec![0; size],
            blocks: Vec::with_capacity(nodes.len()),
            rows: Vec::new(),
            in_parent: Vec::new(),
            block_of: vec![0; size],
            diagonal: vec![0; size],
            beside: Vec::with_capacity(pairs.len()),
            entries: 0,
        };
        analysis.number(&nodes);
        for node in &nodes {
            analysis.add_block(node);
        }
        for block in 0..nodes.len() {
            analysis.link(block);
        }
        for row in 0..size {
            analysis.diagonal[row] = analysis.entry(row as u32, row as u32);
        }
        let beside = pairs.iter().map(|&(a, b)| analysis.entry(a, b));
        analysis.beside = beside.collect();
        analysis
    }

    /// Number of edges of the graph.
    pub(in crate::ratings) fn edges(&self) -> usize {
        self.beside.len()
    }

    /// Assigns positions to the columns of all supernodes.
    fn number(&mut self, nodes: &[Supernode]) {
        let columns = nodes.iter().flat_map(|node| &node.columns);
        for (position, &column) in columns.enumerate() {
            self.position[column as usize] = position as u32;
        }
    }

    fn add_block(&mut self, node: &Supernode) {
        let previous = self.blocks.last();
        let block = Block {
            first: previous.map_or(0, |last| last.first + last.columns),
            columns: node.columns.len(),
            beneath: node.rows.len(),
            rows: self.rows.len(),
            entries: self.entries,
            parent: node.parent,
            children: 0,
        };
        let own = block.first..block.first + block.columns;
        self.block_of[own].fill(self.blocks.len() as u32);
        self.entries = block.entry_range().end;
        self.rows.extend(node.rows.iter().map(|&row| self.position[row as usize]));
        self.rows[block.row_range()].sort_unstable();
        self.blocks.push(block);
    }

    /// Finds the rows of a block among those of its parent.
    fn link(&mut self, index: usize) {
        let Some(parent) = self.blocks[index].parent else { return };
        self.blocks[parent].children += 1;
        let (block, parent) = (&self.blocks[index], &self.blocks[parent]);
        let rows = &self.rows[block.row_range()];
        self.in_parent.extend(rows.iter().map(|&row| parent.index(row, &self.rows) as u32));
    }

    /// Where the factor has an entry of the matrix.
    fn entry(&self, a: u32, b: u32) -> usize {
        let [a, b] = [a, b].map(|row| self.position[row as usize]);
        let (column, row) = (a.min(b), a.max(b));
        let block = &self.blocks[self.block_of[column as usize] as usize];
        let column = column as usize - block.first;
        block.entries + column * block.height() + block.index(row, &self.rows)
    }

    /// The blocks of some rows of the matrix and all their ancestors, ascending.
    pub(super) fn ancestors(&self, rows: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut is_listed = vec![false; self.blocks.len()];
        let mut blocks = Vec::new();
        for row in rows {
            let mut next = Some(self.block_of[self.position[row] as usize] as usize);
            while let Some(block) = next.filter(|&block| !is_listed[block]) {
                is_listed[block] = true;
                blocks.push(block);
                next = self.blocks[block].parent;
            }
        }
        blocks.sort_unstable();
        blocks
    }
}
