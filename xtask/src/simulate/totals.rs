//! What simulations report, added up.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use anyhow::{Context, Result};

/// The counts that are added up, as the program names them, and their names in the table.
const COUNTS: [(&str, &str); 7] = [
    ("faults", "faults injected"),
    ("sent", "games sent"),
    ("acknowledged", "games acknowledged"),
    ("published", "weights acknowledged"),
    ("decided", "candidates decided"),
    ("promoted", "of these promoted"),
    ("violations", "violations"),
];

/// The report of a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seed {
    pub(crate) number: u64,
    pub(crate) hash: String,
    counts: BTreeMap<String, u64>,
}

impl Seed {
    /// Reads the line of a seed: names, each followed by a value.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let line =
            text.lines().find(|line| line.starts_with("seed ")).context("no line of a seed")?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut counts = BTreeMap::new();
        let mut hash = String::new();
        for pair in words.chunks_exact(2) {
            match pair[0] {
                "hash" => pair[1].clone_into(&mut hash),
                name => {
                    let count = pair[1].parse().with_context(|| format!("{name} {}", pair[1]))?;
                    counts.insert(name.to_owned(), count);
                }
            }
        }
        let number = *counts.get("seed").context("no seed")?;
        Ok(Self { number, hash, counts })
    }

    fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or_default()
    }
}

/// The sums of all seeds.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    seeds: u64,
    sums: BTreeMap<&'static str, u64>,
    time: Duration,
    recoveries: Vec<u64>,
}

impl Totals {
    pub(crate) fn add(&mut self, seed: &Seed) {
        self.seeds += 1;
        for (name, _) in COUNTS {
            *self.sums.entry(name).or_default() += seed.count(name);
        }
        self.time += Duration::from_millis(seed.count("time_ms"));
        self.recoveries.push(seed.count("recovery_ms"));
    }

    /// A table, with the time that the seeds took.
    pub(crate) fn table(&self, took: Duration) -> String {
        let mut text = format!("| simulations | {} |\n|---|---|\n", self.seeds);
        let mut row = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {name} | {value} |");
        };
        for (name, title) in COUNTS {
            row(title, self.sums.get(name).copied().unwrap_or_default().to_string());
        }
        let mut recoveries = self.recoveries.clone();
        recoveries.sort_unstable();
        let at = |share: usize| {
            recoveries.get((recoveries.len() * share / 100).min(recoveries.len().saturating_sub(1)))
        };
        let seconds = |ms: Option<&u64>| format!("{:.1} s", *ms.unwrap_or(&0) as f64 / 1e3);
        row("recovery, median", seconds(at(50)));
        row("recovery, longest", seconds(recoveries.last()));
        row("virtual time", format!("{:.1} h", self.time.as_secs_f64() / 3_600.0));
        row("real time", format!("{:.0} s", took.as_secs_f64()));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_seeds_add_up() {
        let mut totals = Totals::default();
        for line in [
            "seed 1 hash 00ff faults 20 sent 5 violations 0 time_ms 1800000 recovery_ms 100",
            "noise\nseed 2 hash 01ff faults 20 sent 7 violations 1 time_ms 1800000 recovery_ms 900",
        ] {
            totals.add(&Seed::parse(line).unwrap());
        }
        let table = totals.table(Duration::from_secs(3));
        for row in [
            "simulations | 2 ",
            "faults injected | 40 ",
            "games sent | 12 ",
            "violations | 1 ",
            "longest | 0.9 s",
            "1.0 h",
        ] {
            assert!(table.contains(row), "{row}: {table}");
        }
        assert_eq!(Seed::parse("seed 1 hash 00ff").unwrap().hash, "00ff");
        assert!(Seed::parse("hash 1").is_err());
        assert!(Seed::parse("seed x").is_err());
    }
}
