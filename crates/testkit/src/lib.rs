//! Test set-up that several crates share: networks, servers on free ports, processes.
//!
//! A development dependency only, which `cargo xtask layers` checks. Helpers fail by panicking,
//! since a test cannot continue without its set-up.

use std::io::Write;

pub mod network;
pub mod process;
pub mod server;

/// Prints past the test harness, which captures the output of passing tests.
pub fn print_uncaptured(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Reports a test that was skipped for this reason.
pub fn not_run(reason: &str) {
    print_uncaptured(format_args!("NOT RUN: {reason}"));
}

/// Whether `OURO_REQUIRE_ALL_CHECKS` is set: a missing tool or device then fails a test instead of
/// skipping it.
pub fn requires_all_checks() -> bool {
    std::env::var_os("OURO_REQUIRE_ALL_CHECKS").is_some()
}
