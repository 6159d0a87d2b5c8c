//! The minimax family finds the truth, the same truth by every road, and in time.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod article;
mod chance;
mod deadline;
mod equality;
mod positions;
mod tic_tac_toe;
mod tree;
