//! Runs simulations of a cluster in virtual time, many seeds at once, and adds up their results.
//!
//! Each seed is a process of its own (`ouro-simulation SEED`), so that one cannot influence another.
//! The first violation ends the command, with everything that led to it. So does a seed that does not
//! end.

mod options;
mod totals;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use self::options::Options;
use self::totals::{Seed, Totals};
use crate::limited::child_output_within;
use crate::shell::{self, cargo};

/// The program.
const PROGRAM: &str = "ouro-simulation";
/// Longest time of a seed. With 20 faults it takes less than a second.
const LONGEST: Duration = Duration::from_secs(300);

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
    /// Longest time of a seed.
    limit: Duration,
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
        let (faults, log, limit) = (options.faults, options.log, LONGEST);
        let seeds = seeds.chain(again).collect();
        Ok(Self { program, faults, log, seeds, folder, limit })
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
                // An error ends the other threads after their seeds.
                let end = |_: &anyhow::Error| stop.store(true, Ordering::Relaxed);
                let (is_sound, text) = self.one(seed, place).inspect_err(end)?;
                if self.log {
                    show(&text);
                }
                let result = Seed::parse(&text).inspect_err(end)?;
                results.lock().expect("no thread panics")[place] = Some(result);
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
        let ended = child_output_within(&mut command, self.limit)?;
        let _ = std::fs::remove_dir_all(&folder);
        let output = ended.output;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        let (name, faults) = (self.program.display(), self.faults);
        let again = format!("repeat it: {name} {seed} --faults {faults} --log\n{said}{text}");
        if ended.is_killed {
            bail!("seed {seed} does not end within {:?}; {again}", self.limit);
        }
        match output.status.code() {
            Some(code @ (0 | 1)) if text.starts_with("seed ") => {
                let text = if self.log { format!("{said}{text}") } else { text };
                Ok((code == 0, text))
            }
            _ => bail!("seed {seed} broke off, {}; {again}", output.status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a seed with a shell script as the program.
    fn run(script: &str, limit: Duration) -> Result<(Vec<Option<Seed>>, Option<Failed>)> {
        let folder = tempfile::tempdir().unwrap();
        let (text, program) = (folder.path().join("text"), folder.path().join("program"));
        std::fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
        // Another process writes the program. A child of another test could otherwise hold it open,
        // and a file that is open for writing cannot be executed.
        let mut install = Command::new("install");
        install.args(["-m", "755"]).args([&text, &program]);
        shell::run(install).unwrap();
        let folder = folder.path().join("seeds");
        std::fs::create_dir(&folder).unwrap();
        Runs { program, faults: 3, log: false, seeds: vec![7], folder, limit }.run()
    }

    #[test]
    fn a_seed_that_does_not_end_is_named_with_what_it_printed() {
        // A simulation has no children either.
        let script = "echo 'a warning' >&2; echo 'seed 7'; exec sleep 600";
        let error = run(script, Duration::from_secs(2)).unwrap_err().to_string();
        assert!(error.starts_with("seed 7 does not end within 2s; repeat it: "), "{error}");
        let end = "program 7 --faults 3 --log\na warning\nseed 7\n";
        assert!(error.ends_with(end), "{error}");
    }

    #[test]
    fn a_seed_that_breaks_off_is_named_and_one_with_a_violation_is_returned() {
        let limit = Duration::from_secs(60);
        let error = run("echo 'a panic' >&2; exit 101", limit).unwrap_err().to_string();
        assert!(error.starts_with("seed 7 broke off, exit status: 101; repeat it: "), "{error}");
        assert!(error.ends_with("program 7 --faults 3 --log\na panic\n"), "{error}");
        // The first argument is the seed.
        let (results, failed) = run("echo \"seed $1 hash 0\"; exit 1", limit).unwrap();
        assert_eq!(results[0].as_ref().map(|seed| seed.number), Some(7));
        assert_eq!(failed, Some((7, "seed 7 hash 0\n".to_owned())));
        let (_, failed) = run("echo \"seed $1 hash 0\"", limit).unwrap();
        assert_eq!(failed, None);
    }
}
