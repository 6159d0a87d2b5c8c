//! Plants faults in a copy of the workspace and checks that each is caught: by a test, by faults in a
//! cluster of the real processes, or by simulations.
//!
//! The faults are those that lose or double what a cluster has acknowledged: an acknowledgement before
//! the write, epochs that are ignored, two writers, a promotion that counts twice. Each needs a build,
//! which takes too long for `ci`. The copy shares the target folder, so that dependencies are built
//! once; its programs have names of their own, `planted-…`.
//!
//! A check that fails without a fault catches nothing. Every check therefore runs once without one, and
//! must pass. With a fault, an error that is no failed test and no violation is one of the harness.

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
use super::replay::{first_failure, said};
use super::{plant, write};
use crate::limited::{Ended, output_within};
use crate::shell::{self, cargo, root, say};

/// Longest time of the tests of one fault.
const TESTS: Duration = Duration::from_secs(300);
/// Longest time of a cluster, and of the simulations of one fault.
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
    for check in distinct(&chosen) {
        bench.pass(check)?;
        say(&format!("passes without a fault: {check}"));
    }
    let mut missed = 0;
    for fault in &chosen {
        plant(&bench.folder, fault.edits).with_context(|| fault.name.to_owned())?;
        let caught = bench.try_out(fault.by);
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

/// The checks of these faults, each once.
fn distinct(faults: &[&Fault]) -> Vec<By> {
    let mut checks: Vec<By> = Vec::new();
    for fault in faults {
        if !checks.iter().any(|check| check.is_same_run(fault.by)) {
            checks.push(fault.by);
        }
    }
    checks
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
        bench.rename("cli", "ouro", "src/main.rs")?;
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

    /// Runs a check without a fault. Fails unless it passes.
    fn pass(&self, check: By) -> Result<()> {
        let found = match check {
            By::Chaos(_, options) => {
                self.sound_programs().and_then(|sound| self.cluster(&sound, options))
            }
            _ => self.try_out(check),
        };
        match found.with_context(|| format!("without a fault: {check}"))? {
            None => Ok(()),
            Some(found) => bail!("{check} fails without a fault: {found}"),
        }
    }

    /// How the planted fault is caught; `None` if it is not.
    fn try_out(&self, check: By) -> Result<Option<String>> {
        match check {
            By::Tests(filter) | By::Hang(filter) => {
                self.build(&["test", "--offline", "--quiet", "--workspace", "--lib", "--no-run"])?;
                let tests = ["test", "--offline", "--workspace", "--lib", filter];
                let mut command = self.cargo(&tests);
                // With one thread, tests that run for long are not named, and `unfinished` finds none.
                command.env("RUST_TEST_THREADS", "4");
                let ended = output_within(&mut command, TESTS)?;
                failed_test(&ended, matches!(check, By::Hang(_)))
            }
            By::Chaos(program, options) => {
                self.build_programs(&[program])?;
                let binaries = self.programs(program)?;
                self.cluster(&binaries, options)
            }
            By::Simulation(seeds) => {
                self.build_programs(&[SIMULATION])?;
                let program = shell::target().join("debug").join(planted(SIMULATION));
                let seeds = seeds.to_string();
                let options = ["simulate", "--repeat", "0", "--seeds", &seeds, "--program"];
                let mut command =
                    Command::new(std::env::current_exe().context("the path of xtask")?);
                command.args(options).arg(program);
                violation(&output_within(&mut command, CLUSTER)?.output)
            }
        }
    }

    /// Builds programs of the copy.
    fn build_programs(&self, programs: &[&str]) -> Result<()> {
        let names: Vec<String> = programs.iter().map(|program| planted(program)).collect();
        let mut arguments = vec!["build", "--offline", "--quiet", "--workspace"];
        arguments.extend(names.iter().flat_map(|name| ["--bin", name.as_str()]));
        self.build(&arguments)
    }

    /// A folder with all programs, as they are built without a fault. Later builds do not change them.
    fn sound_programs(&self) -> Result<PathBuf> {
        self.build_programs(&PROGRAMS)?;
        let folder = self.empty_folder("sound")?;
        for program in PROGRAMS {
            let built = shell::target().join("debug").join(planted(program));
            fs::copy(&built, folder.join(program)).with_context(|| built.display().to_string())?;
        }
        Ok(folder)
    }

    /// A folder with all programs, one of them with the fault. The others are those of
    /// [`sound_programs`](Self::sound_programs), which has run by then.
    fn programs(&self, with_fault: &str) -> Result<PathBuf> {
        let folder = self.empty_folder("programs")?;
        for program in PROGRAMS {
            let path = if program == with_fault {
                shell::target().join("debug").join(planted(program))
            } else {
                self.folder.join("sound").join(program)
            };
            ensure!(path.exists(), "{} is missing", path.display());
            symlink(path, folder.join(program))?;
        }
        Ok(folder)
    }

    /// An empty folder beside the copy of the workspace.
    fn empty_folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Runs a cluster of these programs. Returns the first violation.
    fn cluster(&self, binaries: &Path, options: &[&str]) -> Result<Option<String>> {
        let mut command = Command::new(std::env::current_exe().context("the path of xtask")?);
        command.args(["chaos", "--binaries"]).arg(binaries).args(options);
        violation(&output_within(&mut command, CLUSTER)?.output)
    }

    /// Removes a fault again.
    fn restore(&self, fault: &Fault) -> Result<()> {
        for edit in fault.edits {
            write(&self.folder, edit.file, &fs::read_to_string(root().join(edit.file))?)?;
        }
        Ok(())
    }
}

/// How a run of tests catches a fault: by a test that fails or, if `hangs`, by one that does not end;
/// `None` if all pass.
fn failed_test(ended: &Ended, hangs: bool) -> Result<Option<String>> {
    if ended.output.status.success() {
        return Ok(None);
    }
    let (said, errors) = (said(&ended.output), errors(&ended.output));
    if let Some(test) = first_failure(&said) {
        return Ok(Some(test.to_owned()));
    }
    if ended.is_killed {
        return match unfinished(&said) {
            Some(test) if hangs => Ok(Some(format!("{test} does not end"))),
            Some(test) => bail!("{test} does not end within {TESTS:?}"),
            None => bail!("the tests do not end within {TESTS:?}"),
        };
    }
    // Cargo says this also of a program that a signal ended before it could name its test.
    ensure!(errors.contains("error: test failed"), "cargo fails, and no test does:\n{errors}");
    Ok(Some("the tests ended early".to_owned()))
}

/// A test that ran for more than a minute, in the output of a test run.
fn unfinished(said: &str) -> Option<&str> {
    let (before, _) = said.split_once(" has been running for over ")?;
    before.rsplit(' ').next()
}

/// The first violation that chaos or a simulation reports.
fn violation(output: &Output) -> Result<Option<String>> {
    // A run that is killed has shown its violations as errors only.
    let (text, errors) = (said(output), errors(output));
    let mut lines = text.lines().chain(errors.lines());
    let violation = lines.find(|line| line.starts_with("VIOLATION"));
    match (output.status.code(), violation) {
        (Some(0), None) => Ok(None),
        (Some(0), Some(violation)) => bail!("it succeeds with a {violation}"),
        (_, Some(violation)) => Ok(Some(violation.chars().take(200).collect())),
        (_, None) => bail!("it ends with {} and reports no violation:\n{errors}", output.status),
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The name of a program of the copy.
fn planted(program: &str) -> String {
    program.replacen("ouro", "planted", 1)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    /// Wait statuses: exit code 1, and signal 9.
    const FAILS: i32 = 1 << 8;
    const KILLED: i32 = 9;

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

    #[test]
    fn every_check_of_a_fault_runs_once_without_one() {
        let faults: Vec<&Fault> = FAULTS.iter().chain(SIMULATED).collect();
        let checks = distinct(&faults);
        for fault in &faults {
            let runs = checks.iter().filter(|check| check.is_same_run(fault.by)).count();
            assert_eq!(runs, 1, "{}", fault.name);
        }
        assert!(checks.len() < faults.len(), "{checks:?}");
    }

    fn output(status: i32, stdout: &str, stderr: &str) -> Output {
        let status = ExitStatus::from_raw(status);
        Output { status, stdout: stdout.into(), stderr: stderr.into() }
    }

    #[test]
    fn only_a_violation_catches_a_fault_in_a_cluster() {
        let table = "| all | 0 |  |  | 0 |\n";
        let found = "\nVIOLATION after kill -9 arena: a game is lost\n";
        let both = format!("{table}{found}");
        let caught = "VIOLATION after kill -9 arena: a game is lost";
        assert_eq!(violation(&output(FAILS, &both, "")).unwrap().as_deref(), Some(caught));
        // A run that was killed has printed no report.
        assert_eq!(violation(&output(KILLED, "", found)).unwrap().as_deref(), Some(caught));
        assert_eq!(violation(&output(0, table, "")).unwrap(), None);
        for (status, stdout) in [(FAILS, table), (KILLED, ""), (FAILS, ""), (0, &*both)] {
            assert!(violation(&output(status, stdout, "")).is_err(), "{status}: {stdout}");
        }
        let error = violation(&output(FAILS, table, "error: no space")).unwrap_err().to_string();
        assert!(error.ends_with("error: no space"), "{error}");
    }

    #[test]
    fn a_failed_test_catches_a_fault_and_an_error_of_cargo_does_not() {
        let ended = |status, said: &str, errors: &str| Ended {
            output: output(status, said, errors),
            is_killed: status == KILLED,
        };
        let failed = "test a ... ok\ntest b::c ... FAILED\n";
        let slow = "test a ... ok\ntest b::c has been running for over 60 seconds\n";
        let error = "error: test failed, to rerun pass `-p ouro-arena --lib`\n";
        for (ended, hangs, caught) in [
            (ended(0, "test a ... ok\n", ""), false, None),
            (ended(FAILS, failed, error), false, Some("b::c")),
            (ended(KILLED, failed, ""), false, Some("b::c")),
            (ended(KILLED, slow, ""), true, Some("b::c does not end")),
            (ended(FAILS, "", error), false, Some("the tests ended early")),
        ] {
            assert_eq!(failed_test(&ended, hangs).unwrap().as_deref(), caught, "{ended:?}");
        }
        for (ended, hangs) in [
            (ended(KILLED, slow, ""), false),
            (ended(KILLED, "", ""), true),
            (ended(FAILS, "", "error: no space left on device\n"), true),
        ] {
            assert!(failed_test(&ended, hangs).is_err(), "{ended:?}");
        }
    }
}
