//! Runs the test suite many times, idle or beside busy loops, and names every test that failed.
//!
//! A test that fails once in sixty runs passes most reviews and breaks a newcomer's first build.
//! Busy loops interrupt threads at unusual moments. They reveal deadlines that are too short and
//! races between threads.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::shell::{self, cargo, say};

/// What to run and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Runs of the suite.
    runs: u32,
    /// Threads that spin beside each run.
    busy: u32,
    /// Arguments of `cargo test`; the whole workspace without any.
    arguments: Vec<String>,
}

impl Plan {
    /// Reads `[--runs N] [--busy N] [-- CARGO-TEST-ARGUMENTS]`.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut plan = Self { runs: 20, busy: 0, arguments: Vec::new() };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let count = match word {
                "--runs" => &mut plan.runs,
                "--busy" => &mut plan.busy,
                "--" => {
                    plan.arguments = words.map(|&word| word.to_owned()).collect();
                    break;
                }
                _ => anyhow::bail!("{word:?} is unknown; known are --runs N, --busy N, -- ARGS"),
            };
            let value = words.next().with_context(|| format!("{word} needs a number"))?;
            *count = value.parse().with_context(|| format!("{word} {value} is no number"))?;
        }
        ensure!(plan.runs > 0, "--runs is 0; give at least 1");
        Ok(plan)
    }

    fn test_arguments(&self) -> Vec<&str> {
        match self.arguments.is_empty() {
            true => vec!["--workspace"],
            false => self.arguments.iter().map(String::as_str).collect(),
        }
    }
}

/// Runs the plan; fails if a run failed.
pub(crate) fn run(plan: &Plan) -> Result<()> {
    let logs = shell::target().join("flaky");
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    // The build comes first, so the busy loops do not slow it and it is not timed.
    let mut build = cargo(&["test", "--quiet", "--no-run"]);
    build.args(plan.test_arguments());
    shell::run(build)?;
    let busy = Busy::start(plan.busy);
    let mut failures: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for number in 1..=plan.runs {
        let log = logs.join(format!("run-{number:03}.log"));
        let start = Instant::now();
        let failed = run_once(plan, &log)?;
        let seconds = start.elapsed().as_secs();
        let log_text = fs::read_to_string(&log).unwrap_or_default();
        let Totals { passed, failed: count, ignored } = totals(&log_text);
        say(&format!(
            "run {number} of {}: {passed} passed, {count} failed, {ignored} ignored, {seconds} s",
            plan.runs
        ));
        for test in failed {
            say(&format!("  failed: {test} (see {})", log.display()));
            failures.entry(test).or_default().push(log.clone());
        }
    }
    drop(busy);
    for (test, logs) in &failures {
        say(&format!("{test} failed in {} of {} runs", logs.len(), plan.runs));
    }
    ensure!(failures.is_empty(), "{} tests failed at least once", failures.len());
    say(&format!("flaky: no failure in {} runs, {} busy loops", plan.runs, plan.busy));
    Ok(())
}

/// Runs the suite once, with its output in `log`. Returns the tests that failed.
fn run_once(plan: &Plan, log: &Path) -> Result<Vec<String>> {
    let file = fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut tests = cargo(&["test", "--no-fail-fast"]);
    tests.args(plan.test_arguments());
    tests.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let status = tests.status().context("cannot start cargo test")?;
    let text = fs::read_to_string(log).with_context(|| format!("cannot read {}", log.display()))?;
    let mut failed = failed_tests(&text);
    // A test binary that aborts prints no verdict for the test that did it.
    if !status.success() && failed.is_empty() {
        failed.push(format!("cargo test ({status})"));
    }
    Ok(failed)
}

/// The names of the tests that `log` reports as failed.
fn failed_tests(log: &str) -> Vec<String> {
    let name =
        |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    log.lines().filter_map(name).collect()
}

/// Verdicts summed over all test binaries of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) ignored: u32,
}

/// Sums the verdicts in the output of `cargo test`.
pub(crate) fn totals(log: &str) -> Totals {
    let mut totals = Totals::default();
    for line in log.lines().filter_map(|line| line.strip_prefix("test result: ")) {
        for part in line.split([';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(Ok(count)), Some(word)) = (words.next().map(str::parse), words.next()) else {
                continue;
            };
            let count: u32 = count;
            match word {
                "passed" => totals.passed += count,
                "failed" => totals.failed += count,
                "ignored" => totals.ignored += count,
                _ => {}
            }
        }
    }
    totals
}

/// Threads that spin until the value is dropped.
struct Busy {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    fn start(count: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let spin = |_| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = (0..count).map(spin).collect();
        Self { stop, threads }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A spinning thread cannot panic and has no result.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
running 3 tests
test a::holds ... ok
test a::breaks ... FAILED
test b::is_left_out ... ignored

failures:
    a::breaks

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s
test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s
";

    #[test]
    fn failures_and_totals_are_read_from_the_log_of_a_run() {
        assert_eq!(failed_tests(LOG), ["a::breaks"]);
        assert_eq!(totals(LOG), Totals { passed: 8, failed: 1, ignored: 1 });
    }

    #[test]
    fn a_plan_is_read_from_the_command_line() {
        let plan = Plan::parse(&["--runs", "3", "--busy", "2", "--", "-p", "ouro-arena"]);
        let plan = plan.expect("a plan");
        assert_eq!((plan.runs, plan.busy), (3, 2));
        assert_eq!(plan.test_arguments(), ["-p", "ouro-arena"]);
        let all = Plan::parse(&[]).expect("the defaults");
        assert_eq!(all.test_arguments(), ["--workspace"]);
        for wrong in [&["--runs"][..], &["--runs", "x"], &["--runs", "0"], &["--often"]] {
            assert!(Plan::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
