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
mod graph;
mod inverse;
mod ordering;
mod supernodes;

pub(super) use analysis::Analysis;
pub(super) use factor::Factor;
pub(super) use graph::Matrix;

#[cfg(test)]
mod tests;
