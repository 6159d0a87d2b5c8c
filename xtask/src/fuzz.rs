//! Runs the fuzz targets under `fuzz/` for a fixed time each, one per processor at once, and fails on the
//! first crash.
//!
//! This is libFuzzer without `cargo-fuzz`, which needs a nightly compiler. The stable compiler has
//! the pass that counts coverage; only the sanitizers are missing. The code under test is safe
//! Rust, in which a fault is a panic, an overflow or unbounded memory. The build detects the first
//! two, and the targets detect the last.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};

use crate::shell::{self, cargo, root, say};

/// Default seconds per target.
const SECONDS: u32 = 60;

/// The targets, with the maximum length of their inputs in bytes.
const TARGETS: [(&str, usize); 14] = [
    ("weights", 16 << 10),
    ("battlesnake_request", 8 << 10),
    ("trajectory", 4 << 10),
    ("journal", 64),
    ("learner_message", 4 << 10),
    ("arena_message", 4 << 10),
    ("settings", 8 << 10),
    ("game_record", 8 << 10),
    ("recording", 16 << 10),
    ("arena_log", 4 << 10),
    ("arena_job", 4 << 10),
    ("credentials", 4 << 10),
    ("maze_board", 1 << 10),
    ("snakgame_lines", 2 << 10),
];

/// Compiler flags that count executed edges and trace compared values.
const FLAGS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

/// What to fuzz.
#[derive(Debug, PartialEq)]
struct Arguments {
    /// Seconds per target.
    seconds: u32,
    /// Targets with the maximum length of their inputs.
    targets: Vec<(&'static str, usize)>,
}

impl Arguments {
    fn parse(words: &[&str]) -> Result<Self> {
        let (seconds, names) = match words {
            ["--seconds", seconds, names @ ..] => {
                let seconds = seconds.parse();
                (seconds.with_context(|| format!("{words:?} holds no number of seconds"))?, names)
            }
            names => (SECONDS, names),
        };
        let known = |name: &&str| {
            let target = TARGETS.into_iter().find(|(target, _)| target == name);
            target.with_context(|| {
                let names: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
                format!("fuzz target {name:?} is unknown; known are {}", names.join(", "))
            })
        };
        let targets = names.iter().map(known).collect::<Result<Vec<_>>>()?;
        Ok(Self { seconds, targets: if names.is_empty() { TARGETS.into() } else { targets } })
    }
}

/// Runs the named targets, or all, for a time each.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let Arguments { seconds, targets } = Arguments::parse(words)?;
    let folder = shell::target().join("fuzz");
    // With an explicit `--target`, cargo does not instrument build scripts and macros.
    let host = host()?;
    let mut build = cargo(&["build", "--release", "--locked", "--manifest-path"]);
    build.arg(root().join("fuzz/Cargo.toml")).args(["--target", &host]);
    build.env("CARGO_TARGET_DIR", &folder).env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"));
    shell::run(build).context("the fuzz targets do not build (libFuzzer needs a C++ compiler)")?;
    let bench = Bench { programs: folder.join(&host).join("release"), folder, seconds };
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((target, max_bytes)) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = bench.run(target, *max_bytes) {
                // The other threads end after their target.
                next.store(targets.len(), Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut ended = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        ended.try_for_each(|result| result)
    })?;
    say("fuzz: no crash");
    Ok(())
}

/// Where the targets are, and how long each runs.
struct Bench {
    programs: PathBuf,
    folder: PathBuf,
    seconds: u32,
}

impl Bench {
    fn run(&self, target: &str, max_bytes: usize) -> Result<()> {
        let corpus = self.folder.join("corpus").join(target);
        let crashes = self.folder.join("crashes").join(target);
        fs::create_dir_all(&corpus)?;
        fs::create_dir_all(&crashes)?;
        let log = self.folder.join(format!("{target}.log"));
        let program = format!("{target}{}", std::env::consts::EXE_SUFFIX);
        let mut fuzz = Command::new(self.programs.join(program));
        fuzz.arg(format!("-max_total_time={}", self.seconds))
            .arg(format!("-max_len={max_bytes}"))
            .arg(format!("-dict={}", dictionary(target).display()))
            .arg(format!("-artifact_prefix={}/", crashes.display()))
            .args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"])
            .arg(&corpus)
            .arg(root().join("fuzz/seeds").join(target))
            .stderr(fs::File::create(&log)?);
        let status = fuzz.status().with_context(|| format!("cannot start {target}"))?;
        let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        if !status.success() {
            let panic = said.lines().skip_while(|line| !line.contains("panicked at"));
            panic.take(4).for_each(say);
            say(&format!("the whole log is in {}", log.display()));
            let crashes = crashes.display();
            bail!("{target} ended with {status}; the input is in {crashes}");
        }
        say(&format!("{target}: {}", summary(&said)));
        Ok(())
    }
}

/// Summary of libFuzzer's log: inputs tried, inputs kept, edges covered, peak memory.
fn summary(log: &str) -> String {
    let statistic = |name: &str| {
        let of =
            |line: &str| Some(line.strip_prefix("stat::")?.strip_prefix(name)?.trim().to_owned());
        log.lines().find_map(of).unwrap_or_else(|| "?".to_owned())
    };
    let edges = log.lines().rev().find_map(|line| line.split_once(" cov: ")?.1.split(' ').next());
    format!(
        "{} inputs, {} new ones kept, {} edges covered, {} MiB at the peak",
        statistic("number_of_executed_units:"),
        statistic("new_units_added:"),
        edges.unwrap_or("?"),
        statistic("peak_rss_mb:")
    )
}

/// The dictionary of a target: words from which libFuzzer builds inputs.
fn dictionary(target: &str) -> PathBuf {
    root().join("fuzz/seeds").join(format!("{target}.dict"))
}

/// The target triple of this machine.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).current_dir(root()).arg("-vV").output();
    let output = output.context("cannot run rustc")?;
    let text = String::from_utf8(output.stdout).context("rustc -vV is not UTF-8")?;
    match text.lines().find_map(|line| line.strip_prefix("host: ")) {
        Some(host) => Ok(host.to_owned()),
        None => bail!("rustc -vV names no host"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_taken_from_what_libfuzzer_says_last() {
        let log = "#2 INITED cov: 7 ft: 8 corp: 1/1b\n#9 DONE   cov: 21 ft: 30 corp: 4/9b\n\
                   stat::number_of_executed_units: 9\nstat::new_units_added:          3\n\
                   stat::peak_rss_mb:              40\n";
        assert_eq!(summary(log), "9 inputs, 3 new ones kept, 21 edges covered, 40 MiB at the peak");
        assert!(summary("").starts_with("? inputs"));
    }

    #[test]
    fn every_target_is_there_with_seeds_and_a_dictionary() {
        let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("a manifest");
        assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
        for (target, max_bytes) in TARGETS {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
            assert!(dictionary(target).is_file(), "{target}");
            let seeds = fs::read_dir(root().join("fuzz/seeds").join(target)).expect("seeds");
            let sizes: Vec<u64> = seeds
                .map(|seed| seed.expect("a file").metadata().expect("its size").len())
                .collect();
            assert!(sizes.len() >= 3, "{target}: {sizes:?}");
            assert!(sizes.iter().all(|&size| size <= max_bytes as u64), "{target}: {sizes:?}");
        }
    }

    #[test]
    fn every_game_of_the_catalog_is_in_the_target_of_records_and_in_its_dictionary() {
        let read = |path: &str| fs::read_to_string(root().join(path)).expect("a file");
        let catalog = read("crates/game/src/catalog.rs");
        let (_, list) = catalog.split_once("\ngames! {\n").expect("the list of games");
        let (list, _) = list.split_once("\n}\n").expect("its end");
        // A line of a game begins with its variant, which is its name in snake case.
        let variants = list.lines().filter_map(|line| line.trim().split_once(": "));
        let variants = variants.map(|(variant, _)| variant);
        let names: Vec<String> =
            variants.filter(|variant| !variant.contains(' ')).map(snake_case).collect();
        assert!(names.len() >= 6 && names.iter().any(|name| name == "maze_dash"), "{names:?}");
        let target = read("fuzz/targets/game_record.rs");
        let dictionary = read("fuzz/seeds/game_record.dict");
        for name in names {
            assert!(target.contains(&format!(r#"r#"{{"game":"{name}""#)), "{name}");
            assert!(dictionary.contains(&format!(r#"\"game\":\"{name}\""#)), "{name}");
        }
    }

    fn snake_case(variant: &str) -> String {
        let mut name = String::new();
        for letter in variant.chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    }

    #[test]
    fn targets_are_named_or_all() {
        let all = Arguments::parse(&[]).unwrap();
        assert_eq!((all.seconds, all.targets.len()), (SECONDS, TARGETS.len()));
        let some = Arguments::parse(&["--seconds", "600", "settings"]).unwrap();
        assert_eq!(some, Arguments { seconds: 600, targets: vec![("settings", 8 << 10)] });
        for words in [&["--seconds"][..], &["--seconds", "x"], &["nothing"]] {
            assert!(Arguments::parse(words).is_err(), "{words:?}");
        }
    }
}
