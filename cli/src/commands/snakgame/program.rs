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

/// Time for a program to end after the game, or after it has closed its output.
pub(super) const END_LIMIT: Duration = Duration::from_secs(1);
/// Pause between two looks at a program that is about to end.
const POLL: Duration = Duration::from_millis(5);

/// A running program. Dropping it kills the program and the processes that it started.
pub(super) struct Program(Child);

/// The process group of a program: itself and the processes that it started, except those that left the
/// group. Systems other than Unix have none.
#[derive(Clone, Copy)]
pub(super) struct Group {
    #[cfg(unix)]
    leader: rustix::process::Pid,
}

impl Group {
    /// Kills all processes of the group.
    pub(super) fn kill(self) {
        // An error means that all have ended. The number of an empty group is free, but systems hand
        // numbers out in turn, so no other group has it so soon.
        #[cfg(unix)]
        let _ = rustix::process::kill_process_group(self.leader, rustix::process::Signal::KILL);
    }
}

/// How a program ended.
pub(super) struct Exit {
    /// The exit status in words.
    pub(super) how: String,
    pub(super) failed: bool,
}

impl Program {
    /// Starts the command in a process group of its own. Its standard error is that of this process.
    ///
    /// A wrapper script thereby ends with all that it started. A signal to the group of this process, such
    /// as Ctrl-C, does not reach the program.
    pub(super) fn start(command: &[String]) -> Result<(Self, Pipes), Failure> {
        let (name, arguments) = command
            .split_first()
            .ok_or_else(|| Failure::usage("no command is given; write it after --"))?;
        let mut process = Command::new(name);
        process.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut process, 0);
        let mut child = process.spawn().map_err(|error| {
            Failure::no_input(format_args!("{name}: {error}; check the path of the program"))
        })?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = pipes else {
            return Err(Failure::bug("a started program has no pipes"));
        };
        Ok((Self(child), Pipes { input: Some(input), output: BufReader::new(output) }))
    }

    /// The processes to kill if the game is given up.
    pub(super) fn group(&self) -> Group {
        Group {
            #[cfg(unix)]
            leader: rustix::process::Pid::from_child(&self.0),
        }
    }

    /// The exit status of a program that has closed its output; `None` if it runs on for `limit`.
    pub(super) fn exit(&mut self, limit: Duration) -> Option<Exit> {
        let begin = Instant::now();
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => {
                    return Some(Exit { how: status.to_string(), failed: !status.success() });
                }
                Ok(None) if begin.elapsed() < limit => thread::sleep(POLL),
                Ok(None) => return None,
                Err(error) => return Some(Exit { how: error.to_string(), failed: true }),
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.group().kill();
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
