//! Generates the reference of all settings, `docs/settings.md`.
//!
//! A test of `ouro-settings` compares the page with the types, so CI fails if the page is stale.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, root, say};

const PAGE: &str = "docs/settings.md";

/// Writes the page.
pub(crate) fn run() -> Result<()> {
    let example = ["--package", "ouro-settings", "--example", "settings_page"];
    let mut command = cargo(&["run", "--quiet"]);
    let output = command.args(example).output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("cargo ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    fs::write(root().join(PAGE), output.stdout).with_context(|| format!("cannot write {PAGE}"))?;
    say(&format!("{PAGE} is up to date"));
    Ok(())
}
