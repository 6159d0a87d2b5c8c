//! The minimax family: correct values, equal results of all algorithms, deadlines, and the stack.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod article;
mod best_reply;
mod chance;
mod deadline;
mod equality;
mod positions;
mod reductions;
mod stack;
mod tic_tac_toe;
mod tree;
