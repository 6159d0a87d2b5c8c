//! The report of a run: one entry per part, written again after each.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::process::Ended;

/// A part of the run and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) part: String,
    /// What distinguishes the part.
    pub(crate) note: String,
    /// `ok`, or how the process ended.
    pub(crate) outcome: String,
    pub(crate) limit: Duration,
    pub(crate) seconds: f64,
    pub(crate) findings: Vec<Value>,
    /// The end of the error output of a part that failed.
    pub(crate) errors: Option<String>,
}

impl Entry {
    pub(crate) fn of(part: &str, note: &str, limit: Duration, ended: Ended) -> Self {
        let outcome = ended.outcome.text();
        let errors = (outcome != "ok").then_some(ended.errors);
        let (seconds, findings) = (ended.seconds, ended.findings);
        Self {
            part: part.to_owned(),
            note: note.to_owned(),
            outcome,
            limit,
            seconds,
            findings,
            errors,
        }
    }

    /// A part that was left out.
    pub(crate) fn left_out(part: &str, reason: &str) -> Self {
        Self {
            part: part.to_owned(),
            note: String::new(),
            outcome: format!("left out: {reason}"),
            limit: Duration::ZERO,
            seconds: 0.0,
            findings: Vec::new(),
            errors: None,
        }
    }

    fn json(&self) -> Value {
        json!({
            "part": self.part,
            "note": self.note,
            "outcome": self.outcome,
            "limit_seconds": round(self.limit.as_secs_f64()),
            "seconds": round(self.seconds),
            "findings": self.findings,
            "errors": self.errors,
        })
    }
}

/// The report.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) kit: Value,
    pub(crate) machine: Value,
    pub(crate) budget: Duration,
    pub(crate) entries: Vec<Entry>,
    pub(crate) seconds: f64,
}

impl Report {
    pub(crate) fn json(&self) -> Value {
        json!({
            "kit": self.kit,
            "machine": self.machine,
            "budget_seconds": round(self.budget.as_secs_f64()),
            "seconds": round(self.seconds),
            "parts": self.entries.iter().map(Entry::json).collect::<Vec<_>>(),
        })
    }

    /// Writes `report.json` and `summary.txt`.
    pub(crate) fn write(&self, out: &Path) -> Result<()> {
        for (name, text) in
            [("report.json", format!("{:#}\n", self.json())), ("summary.txt", self.summary())]
        {
            let path = out.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// A time to a tenth of a second.
fn round(seconds: f64) -> f64 {
    (10.0 * seconds).round() / 10.0
}
