//! Plants faults in a copy of the workspace and checks that each is caught: by a test, by faults in a
//! cluster of the real processes, or by simulations.
//!
//! The faults are those that lose or double what a cluster has acknowledged: an acknowledgement before
//! the write, epochs that are ignored, two writers, a promotion that counts twice. Each needs a build,
//! which takes too long for `ci`. The copy shares the target folder, so that dependencies are built
//! once; its programs have names of their own, `planted-…`.

mod simulated;
mod table;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use self::simulated::SIMULATED;
use self::table::{By, FAULTS, Fault};
use super::limited::output_within;
use super::replay::{first_failure, said};
use super::{plant, write};
use crate::shell::{self, cargo, root, say};

/// Longest time of the tests of one fault.
const TESTS: Duration = Duration::from_secs(300);
/// Longest time of a cluster. One that hangs is caught as well.
const CLUSTER: Duration = Duration::from_secs(600);
/// The program of a simulation.
const SIMULATION: &str = "ouro-simulation";
/// The programs of a cluster.
const PROGRAMS: [&str; 4] = ["ouro", "ouro-arena", "ouro-learner", "ouro-actor"];

/// Plants every fault whose name contains one of `names`, or every fault without any. Fails unless all
/// are caught.
pub(crate) fn run(names: &[&str]) -> Result<()> {
    let bench = Bench::new()?;
    let is_chosen =
        |fault: &&Fault| names.is_empty() || names.iter().any(|name| fault.name.contains(name));
    let chosen: Vec<&Fault> = FAULTS.iter().chain(SIMULATED).filter(is_chosen).collect();
    let mut missed = 0;
    for fault in &chosen {
        plant(&bench.folder, fault.edits).with_context(|| fault.name.to_owned())?;
        let caught = bench.try_out(fault);
        bench.restore(fault)?;
        match caught.with_context(|| fault.name.to_owned())? {
            Some(how) => say(&format!("caught: {} ({how})", fault.name)),
            None => {
                missed += 1;
                say(&format!("NOT CAUGHT: {}", fault.name));
            }
        }
    }
    let all = chosen.len();
    say(&format!("{} of {all} faults caught", all - missed));
    ensure!(missed == 0, "{missed} of {all} planted faults were not caught");
    Ok(())
}

/// A copy of the workspace.
struct Bench {
    folder: PathBuf,
}

impl Bench {
    fn new() -> Result<Self> {
        let folder = shell::target().join("cluster-mistakes");
        for file in shell::tracked(&[""])? {
            let (from, to) = (root().join(&file), folder.join(&file));
            let bytes = fs::read(&from).with_context(|| from.display().to_string())?;
            // An unchanged file is not built again.
            if fs::read(&to).is_ok_and(|old| old == bytes) {
                continue;
            }
            fs::create_dir_all(to.parent().unwrap_or(Path::new(".")))?;
            fs::write(&to, bytes).with_context(|| to.display().to_string())?;
        }
        let bench = Self { folder };
        bench.set_apart()?;
        bench.rename("actor", "ouro-actor", "src/main.rs")?;
        bench.rename("learner", "ouro-learner", "src/main.rs")?;
        bench.rename("arena", "ouro-arena", "src/bin/ouro-arena.rs")?;
        bench.rename("crates/simulation", SIMULATION, "src/main.rs")?;
        Ok(bench)
    }

    /// Compiles the crates of the copy with other debugging information. Otherwise cargo would take them
    /// for those of the workspace, which have the same names, and the reverse. Dependencies have none.
    fn set_apart(&self) -> Result<()> {
        let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
        let own = "\ndebug = \"line-tables-only\"\n";
        ensure!(manifest.matches(own).count() == 1, "Cargo.toml has another [profile.dev]");
        let other = own.replace("line-tables-only", "line-directives-only");
        write(&self.folder, "Cargo.toml", &manifest.replace(own, &other))
    }

    /// Gives the program of a crate another name, so that it replaces no sound one in the target folder.
    fn rename(&self, krate: &str, program: &str, path: &str) -> Result<()> {
        let file = format!("{krate}/Cargo.toml");
        let text = fs::read_to_string(root().join(&file))?;
        let text = text.replacen("[package]\n", "[package]\nautobins = false\n", 1);
        let bin = format!("\n[[bin]]\nname = {:?}\npath = {path:?}\n", planted(program));
        write(&self.folder, &file, &format!("{text}{bin}"))
    }

    /// A command of cargo in the copy, with the target folder of the workspace.
    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = cargo(arguments);
        command.current_dir(&self.folder).env("CARGO_TARGET_DIR", shell::target());
        command.env_remove("CARGO_MANIFEST_DIR");
        command
    }

    fn build(&self, arguments: &[&str]) -> Result<()> {
        let output = self.cargo(arguments).output().context("cannot start cargo")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "does not build:\n{said}");
        Ok(())
    }

    /// How a planted fault is caught; `None` if it is not.
    fn try_out(&self, fault: &Fault) -> Result<Option<String>> {
        match fault.by {
            By::Tests(filter) => {
                self.build(&["test", "--offline", "--quiet", "--workspace", "--lib", "--no-run"])?;
                let tests = ["test", "--offline", "--workspace", "--lib", filter];
                let output = output_within(&mut self.cargo(&tests), TESTS)?;
                let is_caught = !output.status.success();
                Ok(is_caught.then(|| first_failure(&said(&output)).to_owned()))
            }
            By::Chaos(program, options) => {
                let name = planted(program);
                self.build(&["build", "--offline", "--quiet", "--workspace", "--bin", &name])?;
                let binaries = self.programs(program)?;
                self.cluster(&binaries, options)
            }
            By::Simulation(seeds) => {
                let name = planted(SIMULATION);
                self.build(&["build", "--offline", "--quiet", "--workspace", "--bin", &name])?;
                let program = shell::target().join("debug").join(name);
                let seeds = seeds.to_string();
                let options = ["simulate", "--repeat", "0", "--seeds", &seeds, "--program"];
                let mut command =
                    Command::new(std::env::current_exe().context("the path of xtask")?);
                command.args(options).arg(program);
                violation(&output_within(&mut command, CLUSTER)?)
            }
        }
    }

    /// A folder with all programs, one of them with the fault.
    fn programs(&self, with_fault: &str) -> Result<PathBuf> {
        let folder = self.folder.join("programs");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let built = shell::target().join("debug");
        for program in PROGRAMS {
            let name = if program == with_fault { planted(program) } else { program.to_owned() };
            let path = built.join(&name);
            ensure!(path.exists(), "{} is missing; build the workspace first", path.display());
            symlink(path, folder.join(program))?;
        }
        Ok(folder)
    }

    /// Runs a cluster with a fault in one program. Returns the first violation.
    fn cluster(&self, binaries: &Path, options: &[&str]) -> Result<Option<String>> {
        let mut command = Command::new(std::env::current_exe().context("the path of xtask")?);
        command.args(["chaos", "--binaries"]).arg(binaries).args(options);
        violation(&output_within(&mut command, CLUSTER)?)
    }

    /// Removes a fault again.
    fn restore(&self, fault: &Fault) -> Result<()> {
        for edit in fault.edits {
            write(&self.folder, edit.file, &fs::read_to_string(root().join(edit.file))?)?;
        }
        Ok(())
    }
}

/// The first violation that chaos or a simulation reports.
fn violation(output: &Output) -> Result<Option<String>> {
    let text = said(output);
    let violation = text.lines().find(|line| line.starts_with("VIOLATION"));
    match (output.status.code(), violation) {
        (Some(0), None) => Ok(None),
        (Some(0), Some(violation)) => bail!("it succeeds with a {violation}"),
        (_, Some(violation)) => Ok(Some(violation.chars().take(200).collect())),
        (_, None) if text.contains("| all |") => Ok(Some("the run does not recover".to_owned())),
        (code, None) => bail!("it ends with {code:?} and reports nothing"),
    }
}

/// The name of a program of the copy.
fn planted(program: &str) -> String {
    program.replacen("ouro", "planted", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_to_replace_occurs_once_in_the_workspace() {
        for fault in FAULTS.iter().chain(SIMULATED) {
            for edit in fault.edits {
                let text = fs::read_to_string(root().join(edit.file)).expect("a source file");
                let times = text.matches(edit.old).count();
                assert_eq!(times, 1, "{}: {:?} in {}", fault.name, edit.old, edit.file);
            }
        }
        assert!(FAULTS.len() >= 10 && SIMULATED.len() >= 6);
    }
}
