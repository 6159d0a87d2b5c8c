//! Mutation tests of the conformance check: plants rule mistakes and requires that each is caught.
//!
//! A check that has never failed may be unable to fail. Every mistake of [`table`] is edited into
//! a copy of `crates/game`, built, and run over the recorded games. The copy must build, and it
//! must differ from the recordings. The text to replace must occur exactly once, so an outdated
//! table fails.

pub(crate) mod cluster;
pub(crate) mod replay;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use self::table::{Edit, MISTAKES, Mistake};
use crate::shell::{self, cargo, root, say};

/// Exit code of the probe if the engine and a recording differ.
const DIFFERS: i32 = 1;

/// Plants every mistake in turn. Fails unless all are caught.
pub(crate) fn run() -> Result<()> {
    let bench = Bench::new()?;
    bench.build().context("the copy of the engine does not build")?;
    let sound = bench.probe()?;
    ensure!(sound.code == Some(0), "the engine without a mistake fails: {}", sound.says);
    let mut caught = 0;
    for mistake in MISTAKES {
        let verdict = bench.try_out(mistake).with_context(|| mistake.name.to_owned());
        bench.restore()?;
        match verdict {
            Ok(difference) => {
                caught += 1;
                say(&format!("caught: {} ({difference})", mistake.name));
            }
            Err(error) => say(&format!("NOT CAUGHT: {error:#}")),
        }
    }
    let all = MISTAKES.len();
    say(&format!("{caught} of {all} mistakes caught"));
    ensure!(caught == all, "{} of {all} planted mistakes were not caught", all - caught);
    Ok(())
}

/// Result of the probe on an engine.
struct Outcome {
    code: Option<i32>,
    says: String,
}

/// A separate small workspace: the copy of the engine, and a program that checks it.
struct Bench {
    folder: PathBuf,
}

impl Bench {
    fn new() -> Result<Self> {
        let target = shell::target();
        let folder = target.join("mistakes");
        let bench = Self { folder };
        bench.write("Cargo.toml", &manifest_of(&["crates/game", "probe"])?)?;
        let lock = fs::read_to_string(root().join("Cargo.lock"))?;
        bench.write("Cargo.lock", &lock)?;
        bench.write("probe/Cargo.toml", PROBE_MANIFEST)?;
        bench.write("probe/src/main.rs", include_str!("mistakes/probe.rs"))?;
        let source = bench.folder.join("crates/game/src");
        if source.exists() {
            fs::remove_dir_all(&source)?;
        }
        copy_crate(&bench.folder, "crates/game")?;
        Ok(bench)
    }

    /// Writes a file of the copy, unless it is unchanged.
    fn write(&self, file: &str, text: &str) -> Result<()> {
        write(&self.folder, file, text)
    }

    /// Removes all mistakes from the copy.
    fn restore(&self) -> Result<()> {
        for mistake in MISTAKES {
            for edit in mistake.edits {
                self.write(edit.file, &fs::read_to_string(root().join(edit.file))?)?;
            }
        }
        Ok(())
    }

    /// Plants a mistake. Returns the first difference from the recordings.
    fn try_out(&self, mistake: &Mistake) -> Result<String> {
        plant(&self.folder, mistake.edits)?;
        self.build().context("does not build")?;
        let outcome = self.probe()?;
        match outcome.code {
            Some(DIFFERS) => Ok(outcome.says),
            Some(0) => bail!("all recordings still agree"),
            _ => bail!("the check itself failed: {}", outcome.says),
        }
    }

    fn build(&self) -> Result<()> {
        let mut command = cargo(&["build", "--quiet", "--offline", "--package", "probe"]);
        // The build dominates the time, so the engine is only lightly optimised.
        command.args(["--config", "profile.dev.package.ouro-game.opt-level=1"]);
        command.current_dir(&self.folder).env("CARGO_TARGET_DIR", self.folder.join("target"));
        let output = command.output().context("cannot start cargo")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    fn probe(&self) -> Result<Outcome> {
        let name = format!("probe{}", std::env::consts::EXE_SUFFIX);
        let output = Command::new(self.folder.join("target/debug").join(name))
            .arg(root().join("crates/game/tests/data/battlesnake"))
            .output()
            .context("cannot start the probe")?;
        let says = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Ok(Outcome { code: output.status.code(), says })
    }
}

/// The workspace's `Cargo.toml` with these members only.
fn manifest_of(members: &[&str]) -> Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let (head, rest) = manifest.split_once("members = [").context("members in Cargo.toml")?;
    let (_, tail) = rest.split_once(']').context("the end of members in Cargo.toml")?;
    let members: Vec<String> = members.iter().map(|path| format!("{path:?}")).collect();
    let text = format!("{head}members = [{}]{tail}", members.join(", "));
    // The default members are not in the copy.
    let lines = text.lines().filter(|line| !line.starts_with("default-members"));
    Ok(lines.map(|line| format!("{line}\n")).collect())
}

/// Copies the manifest and the sources of a crate into `folder`.
fn copy_crate(folder: &Path, path: &str) -> Result<()> {
    let mut files = vec![format!("{path}/Cargo.toml")];
    let mut folders = vec![format!("{path}/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder))? {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    for file in files {
        let text = fs::read_to_string(root().join(&file))?;
        let text = if file.ends_with("Cargo.toml") { without_benches(&text) } else { text };
        write(folder, &file, &text)?;
    }
    Ok(())
}

/// A manifest without benches and without our own crates as dev-dependencies, which only benches
/// and tests outside of `src` need. The copy has none of these.
fn without_benches(manifest: &str) -> String {
    let kept = manifest.split("\n[[bench]]").next().unwrap_or(manifest);
    let Some((head, tests)) = kept.split_once("[dev-dependencies]\n") else {
        return kept.to_owned();
    };
    let tests: String =
        tests.split_inclusive('\n').filter(|line| !line.starts_with("ouro-")).collect();
    format!("{head}[dev-dependencies]\n{tests}")
}

/// Writes a file of a copy, unless it is unchanged. An unchanged file is not built again.
fn write(folder: &Path, file: &str, text: &str) -> Result<()> {
    let path = folder.join(file);
    if fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Edits a copy. The text to replace must occur exactly once.
fn plant(folder: &Path, edits: &[Edit]) -> Result<()> {
    for edit in edits {
        let path = folder.join(edit.file);
        let text = fs::read_to_string(&path)?;
        let times = text.matches(edit.old).count();
        ensure!(
            times == 1,
            "{} holds the text to replace {times} times, not once:\n{}",
            edit.file,
            edit.old
        );
        fs::write(&path, text.replacen(edit.old, edit.new, 1))?;
    }
    Ok(())
}

const PROBE_MANIFEST: &str = "\
[package]
name = \"probe\"
version = \"0.1.0\"
edition = \"2024\"
publish = false

[dependencies]
ouro-game.workspace = true
flate2.workspace = true
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_to_replace_occurs_once_in_the_engine() {
        for mistake in MISTAKES {
            for edit in mistake.edits {
                let text = fs::read_to_string(root().join(edit.file)).expect("the engine's file");
                let times = text.matches(edit.old).count();
                assert_eq!(times, 1, "{}: {:?} in {}", mistake.name, edit.old, edit.file);
            }
        }
        assert_eq!(MISTAKES.len(), 20);
    }
}
