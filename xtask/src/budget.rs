//! The file budget: every source file is short enough to read at once. Generated code does not
//! count.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::shell::{root, say, tracked};

/// Maximum lines of a source file.
const HARD_CAP: usize = 500;

/// Folder of generated code.
const GENERATED: &str = "proto/generated";

pub(crate) fn run() -> Result<()> {
    let mut lengths = Vec::new();
    for path in tracked(&[".rs"])? {
        if path.starts_with(GENERATED) {
            continue;
        }
        let text = fs::read_to_string(root().join(&path))
            .with_context(|| format!("cannot read {}", path.display()))?;
        lengths.push((text.lines().count(), path));
    }
    lengths.sort();
    let at = |share: f64| {
        lengths.get(((lengths.len() as f64 - 1.0) * share) as usize).map_or(0, |(lines, _)| *lines)
    };
    say(&format!(
        "{} Rust files: median {} lines, p90 {}, max {}",
        lengths.len(),
        at(0.5),
        at(0.9),
        at(1.0)
    ));
    let long: Vec<String> = lengths
        .iter()
        .filter(|(lines, _)| *lines > HARD_CAP)
        .map(|(lines, path)| format!("{} has {lines} lines; split it by meaning", path.display()))
        .collect();
    if !long.is_empty() {
        bail!("{}", long.join("\n"));
    }
    Ok(())
}
