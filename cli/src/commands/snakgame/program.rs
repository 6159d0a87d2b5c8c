//! An external program whose lines are read within a time limit.
//!
//! Two threads move bytes, so a program that neither reads nor writes does not block the judge. Lines are
//! bounded in length and handed over one at a time, so memory is bounded too.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use ouro_game::snakgame::MAX_LINE;

use crate::failure::Failure;

/// Time for a program to end after it has closed its output.
const END_LIMIT: Duration = Duration::from_secs(1);
/// Pause between two looks at a program that is about to end.
const POLL: Duration = Duration::from_millis(5);

/// A running program. Dropping it kills the program.
pub(super) struct Program {
    child: Child,
    /// Texts to write; `None` once the input is closed.
    input: Option<Sender<String>>,
    lines: Receiver<Vec<u8>>,
}

/// What a program did.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// It wrote a line, here without its end. A line that is too long comes in part.
    Line(Vec<u8>),
    /// It closed its output. `how` describes the exit status.
    Ended { how: String, failed: bool },
    /// It did nothing within the limit.
    Silence,
}

impl Program {
    /// Starts the command. Its standard error is that of this process.
    pub(super) fn start(command: &[String]) -> Result<Self, Failure> {
        let (name, arguments) = command
            .split_first()
            .ok_or_else(|| Failure::usage("no command is given; write it after --"))?;
        let started =
            Command::new(name).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| {
            Failure::no_input(format_args!("{name}: {error}; check the path of the program"))
        })?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = pipes else {
            return Err(Failure::bug("a started program has no pipes"));
        };
        let (input, texts) = channel();
        thread::spawn(move || write(stdin, &texts));
        let (sender, lines) = sync_channel(1);
        thread::spawn(move || read(stdout, &sender));
        Ok(Self { child, input: Some(input), lines })
    }

    /// Sends a text. A program that has ended gets nothing.
    pub(super) fn send(&mut self, text: String) {
        if let Some(input) = &self.input {
            // The writer ends when the program does; the reader reports that.
            let _ = input.send(text);
        }
    }

    /// Closes the program's input.
    pub(super) fn close(&mut self) {
        self.input = None;
    }

    /// The next event within `limit`.
    pub(super) fn next(&mut self, limit: Duration) -> Event {
        match self.lines.recv_timeout(limit) {
            Ok(line) => Event::Line(line),
            Err(RecvTimeoutError::Timeout) => Event::Silence,
            Err(RecvTimeoutError::Disconnected) => self.end(),
        }
    }

    /// The exit status of a program that has closed its output.
    fn end(&mut self) -> Event {
        let begin = Instant::now();
        while begin.elapsed() < END_LIMIT {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    return Event::Ended { how: status.to_string(), failed: !status.success() };
                }
                Ok(None) => thread::sleep(POLL),
                Err(error) => return Event::Ended { how: error.to_string(), failed: true },
            }
        }
        Event::Ended { how: "its output is closed, but it runs on".to_owned(), failed: true }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A program that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes each text at once. Ends with the program or when the input is closed.
fn write(mut stdin: ChildStdin, texts: &Receiver<String>) {
    for text in texts {
        if stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// Hands over each line. Ends with the program's output, or after a line that is too long.
fn read(stdout: ChildStdout, lines: &SyncSender<Vec<u8>>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let most = MAX_LINE as u64 + 2;
        let count = stdout.by_ref().take(most).read_until(b'\n', &mut line).unwrap_or(0);
        let is_whole = line.last() == Some(&b'\n');
        if is_whole {
            line.pop();
        }
        if count == 0 || lines.send(line).is_err() || !is_whole {
            return;
        }
    }
}
