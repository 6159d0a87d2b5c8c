//! Runs commands and prints messages.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Writes a line to standard error. A closed pipe is ignored.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    // Read at run time: a binary in a target folder that several checkouts share may have been
    // compiled in another of them.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let manifest = manifest.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    manifest.parent().unwrap_or(&manifest).to_path_buf()
}

/// The target folder of cargo.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |path| root().join(path))
}

/// A cargo command in the workspace root.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(args);
    command
}

/// Runs a command; a non-zero exit status is an error.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let shown = format!("{command:?}");
    let status = command.status().with_context(|| format!("cannot start {shown}"))?;
    if !status.success() {
        bail!("{shown} ended with {status}");
    }
    Ok(())
}

/// Runs a command like [`run`], prints its standard output at its end and returns it.
pub(crate) fn run_and_read(mut command: Command) -> Result<String> {
    let shown = format!("{command:?}");
    command.stdin(Stdio::inherit()).stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot start {shown}"))?;
    // A closed pipe is ignored, as in `say`.
    let _ = std::io::stdout().write_all(&output.stdout);
    if !output.status.success() {
        bail!("{shown} ended with {}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Tracked files whose names end in one of `endings`, relative to the root.
pub(crate) fn tracked(endings: &[&str]) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .current_dir(root())
        .args(["ls-files", "-z"])
        .output()
        .context("cannot run git ls-files")?;
    if !output.status.success() {
        bail!("git ls-files ended with {}", output.status);
    }
    let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    Ok(names
        .split('\0')
        .filter(|name| endings.iter().any(|ending| name.ends_with(ending)))
        .map(PathBuf::from)
        .filter(|path| root().join(path).is_file())
        .collect())
}
