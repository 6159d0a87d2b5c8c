//! Runs simulations of a cluster in virtual time, many seeds at once, and adds up their results.
//!
//! Each seed is a process of its own (`ouro-simulation SEED`), so that one cannot influence another.
//! The first violation ends the command, with everything that led to it.

mod options;
mod totals;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use self::options::Options;
use self::totals::{Seed, Totals};
use crate::shell::{self, cargo};

/// The program.
const PROGRAM: &str = "ouro-simulation";

/// Runs with the options in `words`; fails if there is a violation, or if a seed is not repeatable.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?;
    let program = match &options.program {
        Some(program) => program.canonicalize().with_context(|| program.display().to_string())?,
        None => {
            // The same command as that of the tests, so that nothing is built twice.
            shell::run(cargo(&["test", "--quiet", "--workspace", "--no-run"]))?;
            let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
            // A relative target folder is one of the root.
            std::path::absolute(shell::target().join("debug").join(name))?
        }
    };
    let start = Instant::now();
    let (results, failed) = Runs::new(program, &options)?.run()?;
    let mut totals = Totals::default();
    let count = options.seeds as usize;
    results.iter().take(count).flatten().for_each(|seed| totals.add(seed));
    show(&totals.table(start.elapsed()));
    if let Some((seed, text)) = failed {
        // With `--log` every seed has shown its text when it ended.
        if !options.log {
            show(&text);
        }
        bail!("seed {seed} shows a violation");
    }
    let twice = results.iter().zip(results.iter().skip(count));
    let different: Vec<u64> = twice
        .filter_map(|(first, again)| first.as_ref().zip(again.as_ref()))
        .filter(|(first, again)| first.hash != again.hash)
        .map(|(first, _)| first.number)
        .collect();
    ensure!(different.is_empty(), "these seeds are not repeatable: {different:?}");
    show(&format!("{} seeds ran twice with the same hashes\n", options.repeat));
    Ok(())
}

/// Writes to standard output. A closed pipe is ignored, as by the other commands.
fn show(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Seeds to run, and how.
struct Runs {
    program: PathBuf,
    faults: u32,
    log: bool,
    /// The seeds, then those that run again.
    seeds: Vec<u64>,
    folder: PathBuf,
}

/// The seed of a violation, and what its process printed.
type Failed = (u64, String);

impl Runs {
    fn new(program: PathBuf, options: &Options) -> Result<Self> {
        let seeds = options.from..options.from + u64::from(options.seeds);
        let again = seeds.clone().take(options.repeat as usize);
        // Files in memory, if the system has such a place: nothing is kept.
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = parent.join(format!("ouro-simulations-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let (faults, log) = (options.faults, options.log);
        Ok(Self { program, faults, log, seeds: seeds.clone().chain(again).collect(), folder })
    }

    /// Runs all seeds on all processors. Returns the results by place, and the first violation.
    fn run(&self) -> Result<(Vec<Option<Seed>>, Option<Failed>)> {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let results: Mutex<Vec<Option<Seed>>> = Mutex::new(vec![None; self.seeds.len()]);
        let failed = Mutex::new(None);
        let work = || -> Result<()> {
            while !stop.load(Ordering::Relaxed) {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(&seed) = self.seeds.get(place) else { return Ok(()) };
                let (is_sound, text) = self.one(seed, place)?;
                if self.log {
                    show(&text);
                }
                results.lock().expect("no thread panics")[place] = Some(Seed::parse(&text)?);
                if !is_sound {
                    stop.store(true, Ordering::Relaxed);
                    failed.lock().expect("no thread panics").get_or_insert((seed, text));
                }
            }
            Ok(())
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let ended: Vec<Result<()>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let ended = threads.into_iter();
            ended.map(|thread| thread.join().expect("no thread panics")).collect()
        });
        std::fs::remove_dir_all(&self.folder)?;
        ended.into_iter().collect::<Result<()>>()?;
        let results = results.into_inner().expect("no thread panics");
        Ok((results, failed.into_inner().expect("no thread panics")))
    }

    /// Runs a seed. Returns whether it was sound, and what it printed.
    fn one(&self, seed: u64, place: usize) -> Result<(bool, String)> {
        let folder = self.folder.join(place.to_string());
        let mut command = Command::new(&self.program);
        command.arg(seed.to_string()).args(["--faults", &self.faults.to_string()]);
        command.arg("--folder").arg(&folder);
        if self.log {
            command.arg("--log");
        }
        let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
        let _ = std::fs::remove_dir_all(&folder);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(code @ (0 | 1)) if text.starts_with("seed ") => {
                let text = if self.log { format!("{said}{text}") } else { text };
                Ok((code == 0, text))
            }
            _ => {
                let (status, name) = (output.status, self.program.display());
                bail!(
                    "seed {seed} broke off, {status}; repeat it: {name} {seed} --log\n{said}{text}"
                )
            }
        }
    }
}
