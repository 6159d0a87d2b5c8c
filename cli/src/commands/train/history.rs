//! The events of a run in its folder, from its first start on: one line of JSON each.
//!
//! They are there to be drawn and read, by the next start as well; nothing that a run does follows
//! from them. So an event that cannot be written is left out, and a line that cannot be read is
//! passed over. The file is whole lines after each start, however the one before ended.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::event::{Event, Progress};

/// Name of the file in the folder of a run.
const FILE: &str = "events.jsonl";

/// Where events are added.
pub(super) struct History {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    end: u64,
    /// Whether the last event was left out.
    is_failing: bool,
}

/// What matters of a line for those who go on.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Start,
    Progress(Box<Progress>),
    #[serde(other)]
    Other,
}

impl History {
    /// Opens the history of a run and shows how it stood, each time with the seconds that it had
    /// been training. Beside the history, the seconds of all earlier starts.
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
        // Half a line is where an earlier start was killed.
        file.set_len(end)?;
        Ok((Self { path, file, end, is_failing: false }, earlier + current))
    }

    /// Adds an event.
    pub(super) fn note(&mut self, event: &Event) {
        let added = self.add(event);
        if let Err(error) = &added
            && !self.is_failing
        {
            let path = self.path.display();
            tracing::warn!(%path, %error, "events are not kept until they can be written");
        }
        self.is_failing = added.is_err();
    }

    fn add(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        if let Err(error) = self.file.write_all(&line) {
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

    /// Opens the history in a folder; what it shows, as seconds and steps.
    fn open(run: &Path) -> (History, f64, Vec<(f64, u64)>) {
        let mut shown = Vec::new();
        let opened = History::open(run, |seconds, past| shown.push((seconds, past.step)));
        let (history, earlier) = opened.expect("it can be opened");
        (history, earlier, shown)
    }

    #[test]
    fn every_start_goes_on_where_the_one_before_ended() {
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
    fn half_a_line_goes_and_what_is_no_event_is_passed_over() {
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
