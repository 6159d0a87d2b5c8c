//! The players in the box, each at what it is for.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod greedy;
mod minimax;
mod perfect;
mod snakgame;
mod support;
