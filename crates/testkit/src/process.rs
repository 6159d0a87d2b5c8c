//! Processes under test: run to their end, or started, signalled and killed.

use std::fs;
use std::io::{self, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Pause between two looks at a process that is expected to end.
const POLL: Duration = Duration::from_millis(10);

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

    /// The id of the process.
    pub fn id(&mut self) -> u32 {
        self.child().id()
    }

    /// Takes the standard output of a process that was started with a pipe.
    pub fn stdout(&mut self) -> ChildStdout {
        self.child().stdout.take().expect("standard output is piped and not yet taken")
    }

    /// Takes the standard input of a process that was started with a pipe.
    pub fn stdin(&mut self) -> ChildStdin {
        self.child().stdin.take().expect("standard input is piped and not yet taken")
    }

    /// Sends a signal, such as `-INT` or `-TERM`.
    pub fn signal(&mut self, signal: &str) {
        assert!(self.try_signal(signal), "the process has ended before {signal}");
    }

    /// Sends a signal to a process that may have ended. Returns whether it still existed.
    pub fn try_signal(&mut self, signal: &str) -> bool {
        let pid = self.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).stderr(Stdio::null()).status();
        sent.expect("kill runs").success()
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

    /// Like [`end`](Self::end). A process that runs longer than `limit` is killed, and its exit code
    /// is then `None`.
    pub fn end_within(mut self, limit: Duration) -> Ended {
        let start = Instant::now();
        let child = self.child();
        let stdout = child.stdout.take().map(collect);
        let stderr = child.stderr.take().map(collect);
        let status = loop {
            match self.child().try_wait().expect("a child of this process") {
                Some(status) => break status,
                None if start.elapsed() > limit => {
                    self.kill();
                    break self.wait();
                }
                None => thread::sleep(POLL),
            }
        };
        let text = |thread: Option<JoinHandle<Vec<u8>>>| {
            thread.map(|thread| thread.join().expect("no panic")).unwrap_or_default()
        };
        Output { status, stdout: text(stdout), stderr: text(stderr) }.into()
    }

    /// The resources of the running process; `None` where the system has no `/proc`.
    pub fn usage(&mut self) -> Option<Usage> {
        Usage::of(self.id())
    }

    /// Whether the process has not ended.
    pub fn is_running(&mut self) -> bool {
        self.child().try_wait().expect("a child of this process").is_none()
    }
}

/// Reads a pipe to its end in a thread, so that a full pipe never blocks the process.
fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A process that was killed may leave a broken pipe; what it wrote before counts.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

/// Resources of a running process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Largest resident memory so far, in bytes.
    pub peak_memory: u64,
    /// Open file descriptors.
    pub files: usize,
}

impl Usage {
    fn of(pid: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: u64 = peak.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        let files = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
        Some(Self { peak_memory: kibibytes << 10, files })
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
