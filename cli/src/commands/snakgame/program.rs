//! An external program and its pipes.
//!
//! Reading and writing block, so the time limit is kept by another thread than the one that moves the
//! lines. Lines are bounded in length and read one at a time, so memory is bounded too.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ouro_game::snakgame::MAX_LINE;

use crate::failure::Failure;

/// Time for a program to end after it has closed its output.
const END_LIMIT: Duration = Duration::from_secs(1);
/// Pause between two looks at a program that is about to end.
const POLL: Duration = Duration::from_millis(5);

/// A running program. Dropping it kills the program.
pub(super) struct Program(Child);

/// How a program ended.
pub(super) struct Exit {
    /// The exit status in words.
    pub(super) how: String,
    pub(super) failed: bool,
}

impl Program {
    /// Starts the command. Its standard error is that of this process.
    pub(super) fn start(command: &[String]) -> Result<(Self, Pipes), Failure> {
        let (name, arguments) = command
            .split_first()
            .ok_or_else(|| Failure::usage("no command is given; write it after --"))?;
        let started =
            Command::new(name).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| {
            Failure::no_input(format_args!("{name}: {error}; check the path of the program"))
        })?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = pipes else {
            return Err(Failure::bug("a started program has no pipes"));
        };
        Ok((Self(child), Pipes { input: Some(input), output: BufReader::new(output) }))
    }

    /// The exit status of a program that has closed its output.
    pub(super) fn exit(&mut self) -> Exit {
        let begin = Instant::now();
        while begin.elapsed() < END_LIMIT {
            match self.0.try_wait() {
                Ok(Some(status)) => {
                    return Exit { how: status.to_string(), failed: !status.success() };
                }
                Ok(None) => thread::sleep(POLL),
                Err(error) => return Exit { how: error.to_string(), failed: true },
            }
        }
        Exit { how: "its output is closed, but it runs on".to_owned(), failed: true }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A program that has ended cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The standard input and output of a program.
pub(super) struct Pipes {
    /// `None` once it is closed.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Pipes {
    /// Sends a text. A program that has ended gets nothing.
    pub(super) fn send(&mut self, text: &str) {
        if let Some(input) = &mut self.input {
            // An error means that the program has ended, which the next line shows as well.
            let _ = input.write_all(text.as_bytes());
        }
    }

    /// Closes the program's input.
    pub(super) fn close(&mut self) {
        self.input = None;
    }

    /// The next line without its end; `None` at the end of the output. A line that is too long comes in
    /// part.
    pub(super) fn line(&mut self) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        let most = MAX_LINE as u64 + 2;
        let count = self.output.by_ref().take(most).read_until(b'\n', &mut line).unwrap_or(0);
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        (count > 0).then_some(line)
    }
}
