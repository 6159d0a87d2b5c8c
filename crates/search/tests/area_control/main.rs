//! Area control: against a simple reference, on boards drawn by hand, and under every ruleset.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod boards;
mod reference;
