//! What a run prints: rows of its path, and its end.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::option::{Change, Tuned};
use super::path::{Header, Line};
use crate::commands::match_games::Report;

/// A row of the path.
pub(super) struct Row<'a> {
    pub(super) line: &'a Line,
    pub(super) header: &'a Header,
    pub(super) tuned: &'a Tuned,
}

impl Display for Row<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Line { iteration, values, .. } = self.line;
        let width = self.header.iterations.to_string().len();
        write!(f, "{iteration:>width$} of {}", self.header.iterations)?;
        for (name, value) in self.tuned.played(values) {
            write!(f, "  {name} {value:<9}")?;
        }
        writeln!(f)
    }
}

/// The end of a run.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    /// The player with the last values.
    pub(super) player: String,
    pub(super) changes: Vec<Change>,
    /// The match of the last values against the first; `None` if it was not played.
    pub(super) check: Option<Report>,
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:<12} {:>10} {:>10}", "option", "start", "end")?;
        for Change { option, start, end } in &self.changes {
            writeln!(f, "{option:<12} {start:>10} {end:>10}")?;
        }
        writeln!(f, "\n{}", self.player)?;
        match &self.check {
            Some(report) => write!(f, "\n{report}"),
            None => Ok(()),
        }
    }
}
