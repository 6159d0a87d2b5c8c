//! The solver of Maze Dash.
//!
//! [`solve`](fn@solve) searches depth-first over decisions. Forced slides are not nodes. Each decision is
//! tested before it is tried. Local rules and a flow find edges that every path must or cannot contain.
//! Forced edges must allow their turns in one direction. The blocks of the graph of the edges left must
//! form a chain that begins at the head. The search restarts with other random choices and a growing
//! limit. If a search ends below its limit, all paths have been tried, and its answer is a proof.
//! [`Method`] has the other methods, for comparison.
#![warn(clippy::pedantic)]
#![expect(
    clippy::must_use_candidate,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    reason = "boards have at most a million cells, which fit the narrow types"
)]

mod backtrack;
mod chain;
mod edges;
mod factor;
mod field;
mod method;
mod puzzle;
mod refuted;
mod sat;
mod search;
mod segments;
mod solve;
mod tree;

pub use method::Method;
pub use solve::{Answer, Limits, Progress, Solved, solve};
