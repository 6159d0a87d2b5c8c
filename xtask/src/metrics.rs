//! Generates the reference of all series, `docs/metrics.md`.
//!
//! The test that compares the page with the code writes it on request.

use anyhow::Result;

use crate::shell::{self, cargo, say};

/// Writes the page.
pub(crate) fn run() -> Result<()> {
    let test = ["test", "--quiet", "--workspace", "--test", "commands", "the_page_in"];
    let mut command = cargo(&test);
    command.env("OURO_GENERATE", "1");
    shell::run(command)?;
    say("docs/metrics.md is up to date");
    Ok(())
}
