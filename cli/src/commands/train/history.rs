//! The file of all events of a run since its first start: one line of JSON each.
//!
//! A later start restores the charts of the web page from this file, and users read it. Training
//! does not depend on it. An event that cannot be written is therefore dropped, and an unreadable
//! line is skipped. Each start first removes an incomplete last line.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::event::{Event, Progress};

/// Name of the file in the folder of a run.
const FILE: &str = "events.jsonl";

/// The open file of events.
pub(super) struct History {
    path: PathBuf,
    file: File,
    /// Total length of the complete lines, in bytes.
    end: u64,
    /// Whether the last event was dropped. The warning is logged for the first of a series only.
    is_failing: bool,
}

/// The parts of a line that a resumed run reads.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Start,
    Progress(Box<Progress>),
    #[serde(other)]
    Other,
}

impl History {
    /// Opens the history of a run. Calls `past` with each earlier progress event and its time in
    /// seconds of training. Also returns the total seconds of all earlier starts.
    pub(super) fn open(
        run: &Path,
        mut past: impl FnMut(f64, &Progress),
    ) -> io::Result<(Self, f64)> {
        let path = run.join(FILE);
        let file = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
        let (mut end, mut earlier, mut current) = (0, 0.0, 0.0);
        let (mut reader, mut line) = (BufReader::new(&file), Vec::new());
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            end += line.len() as u64;
            match serde_json::from_slice(&line) {
                Ok(Line::Start) => (earlier, current) = (earlier + current, 0.0),
                Ok(Line::Progress(progress)) => {
                    current = progress.seconds;
                    past(earlier + current, &progress);
                }
                Ok(Line::Other) | Err(_) => {}
            }
            line.clear();
        }
        // A process that was killed during a write leaves an incomplete last line.
        file.set_len(end)?;
        Ok((Self { path, file, end, is_failing: false }, earlier + current))
    }

    /// Appends an event. On failure the event is dropped, with a warning.
    pub(super) fn note(&mut self, event: &Event) {
        let added = self.add(event);
        if let Err(error) = &added
            && !self.is_failing
        {
            let path = self.path.display();
            tracing::warn!(%path, %error, "events are dropped until the file can be written");
        }
        self.is_failing = added.is_err();
    }

    fn add(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        if let Err(error) = self.file.write_all(&line) {
            // Remove the part that was written, so that the next event starts a line.
            self.file.set_len(self.end)?;
            return Err(error);
        }
        self.end += line.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::commands::train::event::Start;

    fn progress(seconds: f64, step: u64) -> Event {
        Event::Progress(Progress { seconds, step, ..Progress::default() })
    }

    /// Opens the history in a folder. Returns the earlier progress as seconds and steps.
    fn open(run: &Path) -> (History, f64, Vec<(f64, u64)>) {
        let mut shown = Vec::new();
        let opened = History::open(run, |seconds, past| shown.push((seconds, past.step)));
        let (history, earlier) = opened.expect("it can be opened");
        (history, earlier, shown)
    }

    #[test]
    fn every_start_continues_the_time_of_the_previous_one() {
        let run = tempfile::tempdir().expect("a scratch folder");
        let (mut history, earlier, shown) = open(run.path());
        assert_eq!((earlier, shown), (0.0, Vec::new()));
        for event in [Event::Start(Start::default()), progress(5.0, 1), progress(10.0, 2)] {
            history.note(&event);
        }
        let (mut history, earlier, shown) = open(run.path());
        assert_eq!((earlier, shown), (10.0, vec![(5.0, 1), (10.0, 2)]));
        for event in [Event::Start(Start::default()), Event::Resumed, progress(5.0, 3)] {
            history.note(&event);
        }
        let (_, earlier, shown) = open(run.path());
        assert_eq!((earlier, shown), (15.0, vec![(5.0, 1), (10.0, 2), (15.0, 3)]));
    }

    #[test]
    fn an_incomplete_line_is_removed_and_invalid_lines_are_skipped() {
        let run = tempfile::tempdir().expect("a scratch folder");
        let file = run.path().join(FILE);
        let whole = "{\"event\":\"progress\",\"seconds\":5.0,\"step\":1}\n\nnot JSON\n{}\n";
        fs::write(&file, format!("{whole}{{\"event\":\"prog")).expect("it is written");
        let (mut history, earlier, shown) = open(run.path());
        assert_eq!((earlier, shown), (5.0, vec![(5.0, 1)]));
        history.note(&Event::Resumed);
        let text = fs::read_to_string(&file).expect("it can be read");
        assert_eq!(text, format!("{whole}{{\"event\":\"resumed\"}}\n"));
    }
}
