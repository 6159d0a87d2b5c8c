//! The solver of Maze Dash.
//!
//! [`solve`](fn@solve) searches depth-first over decisions. Forced slides are not nodes. Each decision is
//! tested before it is tried: edges that every path must or cannot contain, by local rules and by a flow
//! that gives each cell as many edges as a path uses; turns within forced edges; and the blocks of the
//! graph of the cells left, which must form a chain that begins at the head. The search restarts with
//! other random choices and a growing limit. If a search ends below its limit, all paths have been
//! tried, and its answer is a proof. [`Method`] has the other methods, for comparison.
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
