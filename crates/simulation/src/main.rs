//! Simulates a cluster with faults in virtual time, on one thread: `ouro-simulation SEED`.
//!
//! An arena, a learner and three actors run on a simulated network ([`turmoil`]) and on simulated
//! disks. The seed determines everything that happens, the faults included, so a violation can be
//! repeated. `cargo xtask simulate` runs many seeds.
//!
//! Each seed has a process of its own, because libraries keep state for the time of a process.

mod check;
mod cluster;
mod determinism;
mod fault;
mod log;
mod network;
mod run;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use crate::run::Outcome;

/// Simulates a cluster with faults.
#[derive(Debug, Parser)]
#[command(name = "ouro-simulation")]
struct Arguments {
    /// Seed of the simulation.
    seed: u64,
    /// Number of faults.
    #[arg(long, default_value_t = 20)]
    faults: usize,
    /// Empty or new folder for real files, which stay there; a temporary one if left out.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Print all events, and the log of all hosts to standard error.
    #[arg(long)]
    log: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let Arguments { seed, faults, folder, log } = arguments;
    anyhow::ensure!(cfg!(target_os = "linux"), "simulations are repeatable on Linux only");
    if log {
        tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).init();
    }
    // The jitter of reconnects.
    fastrand::seed(seed);
    ouro_service::blocking::block_inline();
    let own = folder.is_none();
    let folder =
        folder.unwrap_or_else(|| std::env::temp_dir().join(format!("ouro-simulation-{seed}")));
    if own && folder.exists() {
        std::fs::remove_dir_all(&folder).context("cannot remove the files of an earlier run")?;
    }
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    // Files of another simulation would be taken for violations of this one.
    let is_empty = std::fs::read_dir(&folder)?.next().is_none();
    anyhow::ensure!(is_empty, "{} is not empty; name an empty folder", folder.display());
    let outcome = run::run(seed, faults, &folder)?;
    if own {
        std::fs::remove_dir_all(&folder)?;
    }
    report(seed, &outcome, log)?;
    Ok(if outcome.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints a line with the counts, then the violations with all that led to them.
fn report(seed: u64, outcome: &Outcome, all: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let Outcome { hash, faults, time, recovery, checked, violations, log } = outcome;
    writeln!(
        out,
        "seed {seed} hash {hash:016x} faults {} sent {} acknowledged {} journalled {} published {} \
         decided {} promoted {} time_ms {} recovery_ms {} violations {}",
        faults.len(),
        checked.sent,
        checked.acknowledged,
        checked.journalled,
        checked.published,
        checked.decided,
        checked.promoted,
        time.as_millis(),
        recovery.unwrap_or_default().as_millis(),
        violations.len(),
    )?;
    if violations.is_empty() && !all {
        return Ok(());
    }
    writeln!(out, "faults of seed {seed}:")?;
    for fault in faults {
        writeln!(out, "  {fault}")?;
    }
    writeln!(out, "events:")?;
    for line in log {
        writeln!(out, "  {line}")?;
    }
    for violation in violations {
        writeln!(out, "VIOLATION (seed {seed}): {violation}")?;
    }
    writeln!(
        out,
        "repeat it: cargo xtask simulate --from {seed} --seeds 1 --faults {} --log",
        faults.len()
    )
}
