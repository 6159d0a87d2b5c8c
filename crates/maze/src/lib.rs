//! The solver of Maze Dash.
//!
//! [`solve`] searches depth-first over decisions. Forced slides are not nodes. At each decision it
//! tests whether the cells left can still be covered ([`chain`]): the blocks of the graph of those
//! cells must form a chain that begins at the head, and the colours of each block must fit its ends.
//! The search restarts with other random choices and a growing limit. If a search ends below its
//! limit, all paths have been tried, and its answer is a proof.
//!
//! [`Method`] names this search and two others of the paper (arXiv 2005.14156), which are slower and
//! serve as checks: plain backtracking, and satisfiability of Boolean clauses.
#![warn(clippy::pedantic)]
#![expect(
    clippy::must_use_candidate,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "boards have at most a million cells, which fit the narrow types"
)]

mod backtrack;
mod chain;
mod edges;
mod field;
mod method;
mod sat;
mod search;
mod solve;

pub use method::Method;
pub use solve::{Answer, Limits, Progress, Solved, solve};
