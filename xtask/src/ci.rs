//! All checks that a change must pass.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::shell::{self, cargo, say};
use crate::{budget, flaky, layers, mistakes, protos};

/// Whether `ci` runs the tests, or the caller has just run them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tests {
    Run,
    Skip,
}

fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    say(&format!("== {name}"));
    work().with_context(|| name.to_owned())
}

/// Fails if a `Cargo.lock` does not fit its manifests. `fuzz` is a workspace of its own, whose lock
/// file no other step reads.
fn lock_files() -> Result<()> {
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let mut metadata = cargo(&["metadata", "--locked", "--format-version", "1"]);
        metadata.arg("--manifest-path").arg(shell::root().join(manifest)).stdout(Stdio::null());
        shell::run(metadata).with_context(|| {
            format!("`cargo check --manifest-path {manifest}` updates its lock")
        })?;
    }
    Ok(())
}

/// Formats and lints the fuzz targets, which are a workspace of their own. A change of a library
/// that they call fails here, before `cargo xtask fuzz` builds them.
fn fuzz_targets() -> Result<()> {
    let manifest = shell::root().join("fuzz/Cargo.toml");
    let mut format = cargo(&["fmt", "--check", "--manifest-path"]);
    format.arg(&manifest);
    shell::run(format)?;
    let mut lint = cargo(&["clippy", "--locked", "--manifest-path"]);
    lint.arg(&manifest).arg("--target-dir").arg(shell::target().join("fuzz"));
    lint.args(["--", "-D", "warnings"]);
    shell::run(lint).context("libFuzzer needs a C++ compiler")
}

/// Runs every step, cheapest first. Stops at the first failure.
pub(crate) fn run(tests: Tests) -> Result<()> {
    step("lock files", lock_files)?;
    step("file budget", budget::run)?;
    step("layers", layers::run)?;
    step("protos", protos::run)?;
    step("format", || shell::run(cargo(&["fmt", "--all", "--check"])))?;
    step("lints", || {
        shell::run(cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    })?;
    step("fuzz targets", fuzz_targets)?;
    step("docs", || {
        let mut command = cargo(&["doc", "--workspace", "--no-deps", "--document-private-items"]);
        command.env("RUSTDOCFLAGS", "-D warnings");
        shell::run(command)
    })?;
    if tests == Tests::Run {
        step("tests", || {
            let log = shell::run_and_read(cargo(&["test", "--workspace"]))?;
            let ignored = flaky::totals(&log).ignored;
            ensure!(ignored == 0, "{ignored} tests are ignored; run them, or remove them");
            Ok(())
        })?;
    }
    step("planted mistakes", mistakes::run)?;
    say("ci: all steps passed");
    Ok(())
}
