//! Runs the parts one after the other within the time for all of them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::machine::{self, Files};
use super::manifest::Manifest;
use super::options::{RunOptions, Scale};
use super::parts::{Setting, curve, thread_counts};
use super::process::{self, Program};
use super::report::{Entry, Report};
use crate::shell::say;

/// Time for the end of a training run: games in progress, a training state.
const DRAIN: Duration = Duration::from_secs(25);
/// Shortest training run that says something.
const SHORTEST_TRAIN: Duration = Duration::from_secs(5);

/// How the time is divided: shares of the budget. Training gets what the others leave.
const BACKENDS: f64 = 0.48;
const SELF_PLAY: f64 = 0.05;
const TORCH: f64 = 0.15;

/// A run in progress.
struct Run<'a> {
    options: &'a RunOptions,
    started: Instant,
    logs: PathBuf,
    report: Report,
}

/// Runs everything; prints the report as JSON, and a summary to standard error.
pub(crate) fn run(options: &RunOptions) -> Result<Report> {
    let started = Instant::now();
    let absolute = |path: &Path| {
        path.canonicalize().with_context(|| format!("cannot find {}", path.display()))
    };
    let kit = absolute(&options.kit)?;
    let logs = options.out.join("logs");
    fs::create_dir_all(&logs).with_context(|| format!("cannot create {}", logs.display()))?;
    let (out, logs) = (absolute(&options.out)?, absolute(&logs)?);
    let manifest = Manifest::read(&kit)?;
    let vulkan = Files::here().vulkan(&kit, &out)?;
    if let Some(missing) = &vulkan.missing {
        say(&format!("no NVIDIA GPU for Vulkan: {missing}"));
    }
    let report = Report {
        kit: manifest.json(),
        machine: machine::describe(&vulkan),
        budget: options.budget,
        entries: Vec::new(),
        seconds: 0.0,
    };
    let mut run = Run { options, started, logs, report };
    let setting =
        Setting { kit: &kit, out: &out, scale: options.scale, environment: &vulkan.environment };
    run.backends(&manifest, &setting)?;
    run.self_play(&setting)?;
    let limit = run.at_most(run.share(TORCH));
    run.part("torch", "PyTorch, the same networks", setting.torch(limit))?;
    run.train(&setting)?;
    let report = run.report;
    say(&report.summary());
    // A closed pipe is ignored: the report is in a file as well.
    let _ = std::io::stdout().write_all(format!("{:#}\n", report.json()).as_bytes());
    Ok(report)
}

impl Run<'_> {
    fn share(&self, share: f64) -> Duration {
        self.options.budget.mul_f64(share)
    }

    /// A limit within the time that is left.
    fn at_most(&self, limit: Duration) -> Duration {
        let left = self.options.budget.saturating_sub(self.started.elapsed());
        limit.min(left).max(Duration::from_secs(1))
    }

    /// Runs a program as a part of the report.
    fn part(&mut self, part: &str, note: &str, program: Program) -> Result<&mut Entry> {
        say(&format!("{part}, at most {:.0} s", program.limit.as_secs_f64()));
        let ended = process::run(&program, &self.logs, &part.replace(' ', "-"))?;
        let entry = Entry::of(part, note, program.limit, ended);
        say(&format!("{part}: {} after {:.1} s", entry.outcome, entry.seconds));
        self.add(entry)?;
        Ok(self.report.entries.last_mut().expect("an entry was added"))
    }

    fn add(&mut self, entry: Entry) -> Result<()> {
        self.report.entries.push(entry);
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        self.report.seconds = self.started.elapsed().as_secs_f64();
        self.report.write(&self.options.out)
    }

    fn backends(&mut self, manifest: &Manifest, setting: &Setting<'_>) -> Result<()> {
        let sharing = manifest.backends.iter().filter(|backend| backend.limit.is_none()).count();
        let share = self.share(BACKENDS).div_f64(sharing.max(1) as f64);
        for backend in &manifest.backends {
            let limit = backend.limit.map_or(share, Duration::from_secs_f64);
            let program = setting.backend(backend, self.at_most(limit));
            self.part(&format!("backend {}", backend.name), &backend.note, program)?;
        }
        Ok(())
    }

    /// One process per number of threads, as one part.
    fn self_play(&mut self, setting: &Setting<'_>) -> Result<()> {
        let note = "Connect Four, network small, 50 simulations per move, on the CPU";
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let limit = self.at_most(self.share(SELF_PLAY));
        let first_start = Instant::now();
        let mut all: Option<Entry> = None;
        for threads in thread_counts(cores) {
            let mut program = setting.self_play(threads);
            let left = limit.saturating_sub(first_start.elapsed());
            if left.is_zero() {
                break;
            }
            program.limit = program.limit.min(left);
            let ended = process::run(&program, &self.logs, &format!("self-play-{threads}"))?;
            let entry = Entry::of("self-play", note, limit, ended);
            let all = all.get_or_insert_with(|| Entry { findings: Vec::new(), ..entry.clone() });
            all.findings.extend(entry.findings);
            if entry.outcome != "ok" {
                all.outcome = format!("{} with {threads} threads", entry.outcome);
                all.errors = entry.errors;
                break;
            }
        }
        let mut entry = all.unwrap_or_else(|| Entry::left_out("self-play", "no time is left"));
        entry.seconds = first_start.elapsed().as_secs_f64();
        say(&format!("self-play: {} after {:.1} s", entry.outcome, entry.seconds));
        self.add(entry)
    }

    /// Trains for as long as the time allows.
    fn train(&mut self, setting: &Setting<'_>) -> Result<()> {
        let left = self.options.budget.saturating_sub(self.started.elapsed());
        let drain = match self.options.scale {
            Scale::Full => DRAIN,
            Scale::Rehearsal => DRAIN.min(left / 2),
        };
        let time = left.saturating_sub(drain).min(self.options.train);
        if time < SHORTEST_TRAIN {
            return self.add(Entry::left_out("train", "no time is left"));
        }
        let program = setting.train(time, time + drain);
        let entry = self.part("train", "the released program trains on the GPU", program)?;
        entry.findings = curve(std::mem::take(&mut entry.findings));
        self.write()
    }
}
