//! The report: faults injected, operations checked, violations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::meter::median;

/// What a run found. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) seed: u64,
    pub(crate) seconds: f64,
    /// What happened after the faults of each kind.
    rows: BTreeMap<String, Row>,
    /// Processes that were killed.
    pub(crate) kills: u32,
    /// Kinds of faults that this machine does not permit.
    pub(crate) left_out: Vec<&'static str>,
    /// Counts of what was checked, with their names.
    pub(crate) checked: Vec<(&'static str, u64)>,
    /// Largest memory of a process, in bytes, with its limit.
    pub(crate) memory: Vec<(String, u64, u64)>,
    /// Processes that ended by themselves as documented, with how often.
    pub(crate) ended: BTreeMap<String, u32>,
    /// What must not happen, with the fault after which it did.
    pub(crate) violations: Vec<(String, String)>,
}

/// The faults of one kind.
#[derive(Debug, Default)]
struct Row {
    faults: u32,
    /// Seconds until normal throughput, of each fault that was recovered from.
    recoveries: Vec<f64>,
    violations: u32,
}

impl Report {
    /// A report of the faults of `seed`, without any yet.
    pub(crate) fn new(seed: u64, left_out: Vec<&'static str>) -> Self {
        Self { seed, left_out, ..Self::default() }
    }

    /// Counts a fault.
    pub(crate) fn fault(&mut self, kind: &str, kills: u32) {
        self.rows.entry(kind.to_owned()).or_default().faults += 1;
        self.kills += kills;
    }

    /// Notes that normal throughput was back this many seconds after the end of a fault.
    pub(crate) fn recovered(&mut self, kind: &str, seconds: f64) {
        self.rows.entry(kind.to_owned()).or_default().recoveries.push(seconds);
    }

    /// Notes what must not happen.
    pub(crate) fn violation(&mut self, kind: &str, fault: &str, problem: String) {
        self.rows.entry(kind.to_owned()).or_default().violations += 1;
        self.violations.push((fault.to_owned(), problem));
    }

    /// Adds to the count of something that was checked.
    pub(crate) fn count(&mut self, what: &'static str, count: u64) {
        match self.checked.iter_mut().find(|(name, _)| *name == what) {
            Some((_, sum)) => *sum += count,
            None => self.checked.push((what, count)),
        }
    }

    /// Number of faults.
    pub(crate) fn faults(&self) -> u32 {
        self.rows.values().map(|row| row.faults).sum()
    }

    /// The report as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::from(
            "| fault | injected | recovery, median | recovery, longest | violations |\n\
             |---|---|---|---|---|\n",
        );
        for (kind, row) in &self.rows {
            let seconds =
                |value: Option<f64>| value.map_or("–".to_owned(), |s| format!("{s:.1} s"));
            let longest = row.recoveries.iter().copied().reduce(f64::max);
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {kind} | {} | {} | {} | {} |",
                row.faults,
                seconds(median(&row.recoveries)),
                seconds(longest),
                row.violations
            );
        }
        let total = self.violations.len();
        let _ = writeln!(text, "| all | {} |  |  | {total} |\n", self.faults());
        let minutes = self.seconds / 60.0;
        let _ = writeln!(text, "Seed {}, {minutes:.1} min, {} kills.\n", self.seed, self.kills);
        let _ = writeln!(text, "| checked | count |\n|---|---|");
        for (what, count) in &self.checked {
            let _ = writeln!(text, "| {what} | {count} |");
        }
        let _ = writeln!(text, "\n| process | largest memory | limit |\n|---|---|---|");
        for (role, bytes, limit) in &self.memory {
            let _ = writeln!(text, "| {role} | {} MiB | {} MiB |", bytes >> 20, limit >> 20);
        }
        if !self.left_out.is_empty() {
            let _ = writeln!(text, "\nNOT RUN: {}", self.left_out.join(", "));
        }
        for (how, count) in &self.ended {
            let _ = writeln!(text, "\nended by itself, {count} times: {how}");
        }
        for (fault, problem) in &self.violations {
            let _ = writeln!(text, "\nVIOLATION after {fault}: {problem}");
        }
        text
    }

    /// The report as JSON.
    pub(crate) fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|(kind, row)| {
                json!({
                    "fault": kind,
                    "injected": row.faults,
                    "recoveries_seconds": row.recoveries,
                    "violations": row.violations,
                })
            })
            .collect();
        let memory = |(role, bytes, limit): &(String, u64, u64)| json!({"process": role, "peak_bytes": bytes, "limit_bytes": limit});
        let violation =
            |(fault, problem): &(String, String)| json!({"fault": fault, "problem": problem});
        json!({
            "seed": self.seed,
            "seconds": self.seconds,
            "faults": rows,
            "kills": self.kills,
            "left_out": self.left_out,
            "checked": self.checked.iter().map(|(what, count)| json!({"what": what, "count": count}))
                .collect::<Vec<_>>(),
            "memory": self.memory.iter().map(memory).collect::<Vec<_>>(),
            "ended": self.ended,
            "violations": self.violations.iter().map(violation).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_a_row_for_each_kind_and_names_every_violation() {
        let mut report = Report { seed: 4, ..Report::default() };
        for seconds in [1.0, 3.0] {
            report.fault("pause", 0);
            report.recovered("pause", seconds);
        }
        report.fault("kill arena", 1);
        report.violation("kill arena", "kill -9 arena", "a game is lost".to_owned());
        let text = report.markdown();
        assert!(text.contains("| pause | 2 | 2.0 s | 3.0 s | 0 |"), "{text}");
        assert!(text.contains("| kill arena | 1 | – | – | 1 |"), "{text}");
        assert!(text.contains("VIOLATION after kill -9 arena: a game is lost"), "{text}");
        let json = report.json();
        assert_eq!((&json["seed"], &json["kills"]), (&json!(4), &json!(1)));
        assert_eq!(json["violations"][0]["problem"], "a game is lost");
    }
}
