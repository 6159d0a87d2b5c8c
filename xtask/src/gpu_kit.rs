//! A kit that measures a GPU on a machine that has neither this repository nor a network.
//!
//! `cargo xtask gpu-kit` builds the programs and packs them with the Vulkan loader, a script for
//! PyTorch and this program. On the machine, `run.sh` runs this program, which measures one part
//! after the other. Each part is a process with a time limit, so that a driver that crashes or hangs
//! costs one entry of the report. `docs/gpu.md` explains the report.

mod build;
mod machine;
mod manifest;
mod options;
mod parts;
mod process;
mod rehearsal;
mod report;
mod run;
mod summary;

use anyhow::Result;

use self::options::Options;

/// Builds, rehearses or runs, as `words` say.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    match Options::parse(words)? {
        Options::Build(options) => build::run(&options),
        Options::Rehearse => rehearsal::run(),
        Options::Run(options) => run::run(&options).map(drop),
    }
}
