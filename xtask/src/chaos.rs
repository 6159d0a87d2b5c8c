//! Runs the real processes of a cluster, injects faults by a seed, and counts violations.
//!
//! The cluster is Redis, the arena, a worker of the arena, the learner and three actors, each in a
//! network of its own. After every fault the run must return to normal; again and again all of it is
//! stopped and checked: acknowledged games against the journal, training states, and the log of the
//! arena.
//! `docs/reliability.md` shows the figures.

mod campaign;
mod checks;
mod cluster;
mod disk;
mod fault;
mod log;
mod meter;
mod network;
mod node;
mod options;
mod report;
mod resp;
mod switch;
mod truncation;

use std::fs;
use std::io::Write;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use self::campaign::Campaign;
use self::cluster::Cluster;
use self::options::Options;
use crate::shell::{self, cargo, say};

/// Runs with the options in `words`; fails if there is a violation.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?;
    let version = Command::new("redis-server").arg("--version").output();
    let version = version.context("redis-server is missing; install it")?;
    say(String::from_utf8_lossy(&version.stdout).trim());
    let binaries = match &options.binaries {
        Some(folder) => folder.canonicalize().with_context(|| folder.display().to_string())?,
        None => {
            // The same command as that of the tests, so that nothing is built twice.
            shell::run(cargo(&["test", "--quiet", "--workspace", "--no-run"]))?;
            shell::target().join("debug")
        }
    };
    // A short path: the sockets in it must be shorter than 108 bytes.
    let folder = std::env::temp_dir().join(format!("ouro-chaos-{}", std::process::id()));
    say(&format!("chaos --seed {}, in {}", options.seed, folder.display()));
    let cluster = Cluster::new(&folder, &binaries, options.seed)?;
    let mut campaign = Campaign::new(cluster, options.seed);
    let left_out = &campaign.report.left_out;
    let must = std::env::var_os("OURO_REQUIRE_ALL_CHECKS").is_some();
    ensure!(!must || left_out.is_empty(), "all checks are required, without: {left_out:?}");
    let ended = campaign.run(&options);
    let Campaign { cluster, report, .. } = campaign;
    drop(cluster);
    let text = if options.json { format!("{:#}\n", report.json()) } else { report.markdown() };
    // A closed pipe is ignored, as by the other commands.
    let _ = std::io::stdout().write_all(text.as_bytes());
    let again =
        format!("repeat it with --seed {}; the logs are in {}", options.seed, folder.display());
    ended.with_context(|| again.clone())?;
    ensure!(report.violations.is_empty(), "{} violations; {again}", report.violations.len());
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))
}
