//! Test set-up that several crates share: networks, servers on free ports, processes, hostile cases.
//!
//! Other crates may use it as a development dependency only; `cargo xtask layers` checks this.
//! Helpers panic on errors, since a test cannot continue without its set-up.

use std::io::Write;

pub mod attack;
pub mod certificates;
pub mod network;
pub mod process;
pub mod raw;
pub mod redis;
pub mod s3;
pub mod server;
pub mod webdriver;

/// Prints to standard error past the test harness, which hides the output of passing tests.
pub fn print_uncaptured(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Reports that a test was skipped, with the reason.
pub fn not_run(reason: &str) {
    print_uncaptured(format_args!("NOT RUN: {reason}"));
}

/// Returns whether `OURO_REQUIRE_ALL_CHECKS` is set. If so, a missing tool or device fails a test;
/// otherwise the test is skipped.
pub fn requires_all_checks() -> bool {
    std::env::var_os("OURO_REQUIRE_ALL_CHECKS").is_some()
}
