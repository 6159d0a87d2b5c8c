//! Processes under test: run to their end, or started, signalled and killed.

use std::io;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};

/// Exit code and output of a process that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The exit code; `None` if a signal ended the process.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Ended {
    /// Asserts exit code 0 and returns the standard output.
    pub fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.stdout
    }

    /// Asserts the exit code, and that standard error is one line that contains all `parts`.
    pub fn assert_refused(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in {:?}", self.stderr);
        }
    }
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Ended {
    command.output().expect("the program starts").into()
}

/// A running process. Dropping it kills the process, so failed tests leave none behind.
#[derive(Debug)]
pub struct Process {
    /// `None` once [`end`](Self::end) has taken the child.
    child: Option<Child>,
}

impl Process {
    /// Starts a command.
    pub fn start(command: &mut Command) -> Self {
        Self { child: Some(command.spawn().expect("the program starts")) }
    }

    /// Starts a command and collects its output for [`end`](Self::end).
    pub fn start_piped(command: &mut Command) -> Self {
        Self::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("the process was not waited for")
    }

    /// Takes the standard output of a process that was started with a pipe.
    pub fn stdout(&mut self) -> ChildStdout {
        self.child().stdout.take().expect("standard output is piped and not yet taken")
    }

    /// Sends a signal, such as `-INT` or `-TERM`.
    pub fn signal(&mut self, signal: &str) {
        let pid = self.child().id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().expect("kill runs");
        assert!(sent.success(), "the process has ended before {signal}");
    }

    /// Kills the process, as a power failure would, and waits for its end.
    pub fn kill(&mut self) {
        self.child().kill().expect("the process can be killed");
        self.wait();
    }

    /// Waits for the end.
    pub fn wait(&mut self) -> ExitStatus {
        self.child().wait().expect("the process ends")
    }

    /// Waits for the end and collects the piped output.
    pub fn end(mut self) -> Ended {
        let child = self.child.take().expect("the process was not waited for");
        child.wait_with_output().expect("the process ends").into()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Killing a process that has already ended may fail, which is not an error here.
            let _: io::Result<()> = child.kill();
            let _ = child.wait();
        }
    }
}
