//! A process of the cluster: started, killed, stopped, and started again when it ends.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::fault::Role;
use super::network::{Place, run, within};

/// Time after which a process that ended by itself is started again, as by a supervisor.
const RESTART: Duration = Duration::from_millis(500);

/// Where libfaketime is on Debian.
const FAKETIME: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
];

/// A process that ended by itself.
#[derive(Clone, Debug)]
pub(crate) struct Exit {
    pub(crate) role: Role,
    pub(crate) status: ExitStatus,
    /// The last line of its log.
    pub(crate) said: String,
}

/// How a process is started.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
}

/// A process.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) role: Role,
    pub(crate) place: Place,
    program: Program,
    /// Receives standard output and error of all starts.
    pub(crate) log: PathBuf,
    /// Holds how far the clock of the process is off; `None` without libfaketime.
    clock: Option<PathBuf>,
    child: Option<Child>,
    /// When to start it again; `None`: it stays down.
    due: Option<Instant>,
    /// Largest resident memory so far, in bytes.
    pub(crate) peak: u64,
    /// Times that it was started.
    pub(crate) starts: u32,
}

impl Node {
    /// A process that does not run yet. `folder` receives its log, `NAME.log`.
    pub(crate) fn new(
        role: Role,
        name: &str,
        place: Place,
        program: Program,
        folder: &Path,
    ) -> Result<Self> {
        let clock = folder.join(format!("{name}.clock"));
        fs::write(&clock, "+0").with_context(|| format!("cannot write {}", clock.display()))?;
        Ok(Self {
            role,
            place,
            program,
            log: folder.join(format!("{name}.log")),
            // Redis does not start with libfaketime: its allocator asks for the time first.
            clock: (has_clocks() && role != Role::Redis).then_some(clock),
            child: None,
            due: None,
            peak: 0,
            starts: 0,
        })
    }

    /// The id of the running process.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Starts the process.
    pub(crate) fn start(&mut self) -> Result<()> {
        let log = self.open_log()?;
        let mut command = within(self.place.namespace.as_deref(), "env");
        if let (Some(clock), Some(library)) = (&self.clock, faketime()) {
            command
                .arg(format!("LD_PRELOAD={library}"))
                .arg(format!("FAKETIME_TIMESTAMP_FILE={}", clock.display()))
                // A jump changes the date, not the time since the start of the machine.
                .args(["FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_CACHE_DURATION=1"]);
        }
        command.arg(&self.program.path).args(&self.program.arguments);
        command.stdout(log.try_clone()?).stderr(log);
        let started = command.spawn();
        self.child = Some(started.with_context(|| format!("cannot start {}", self.role))?);
        self.due = None;
        self.starts += 1;
        Ok(())
    }

    fn open_log(&self) -> Result<File> {
        let file = OpenOptions::new().create(true).append(true).open(&self.log);
        file.with_context(|| format!("cannot write {}", self.log.display()))
    }

    /// Kills the process. It stays down until [`start_again`](Self::start_again).
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // A process that has just ended cannot be killed.
            let _ = child.kill();
            let _ = child.wait();
        }
        self.due = None;
    }

    /// Starts the process with the next [`watch`](Self::watch), if it is down.
    pub(crate) fn start_again(&mut self) {
        if self.child.is_none() {
            self.due = Some(Instant::now());
        }
    }

    /// Sends a signal, such as `-STOP`.
    pub(crate) fn signal(&self, signal: &str) -> Result<()> {
        let Some(id) = self.id() else { return Ok(()) };
        run(Command::new("kill").args([signal, &id.to_string()]))
    }

    /// Sets how many seconds the clock of the process is off.
    pub(crate) fn set_clock(&self, seconds: i64) -> Result<()> {
        let Some(clock) = &self.clock else { return Ok(()) };
        // Renamed into place, so that the process never reads half of it.
        let new = clock.with_extension("new");
        fs::write(&new, format!("{seconds:+}")).and_then(|()| fs::rename(&new, clock))?;
        Ok(())
    }

    /// Starts the process if it is due, notes its memory, and returns how it ended if it ended by
    /// itself. `restarts`: whether it is then started again.
    pub(crate) fn watch(&mut self, restarts: bool) -> Result<Option<Exit>> {
        if self.due.is_some_and(|due| due <= Instant::now()) {
            self.start()?;
        }
        let Some(child) = &mut self.child else { return Ok(None) };
        let Some(status) = child.try_wait()? else {
            self.peak = self.peak.max(memory(child.id()).unwrap_or_default());
            return Ok(None);
        };
        self.child = None;
        self.due = restarts.then(|| Instant::now() + RESTART);
        Ok(Some(Exit { role: self.role, status, said: self.last_line() }))
    }

    /// The last line of the log.
    pub(crate) fn last_line(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text[text.len().saturating_sub(2_000)..]).into_owned();
        text.trim().lines().last().unwrap_or_default().to_owned()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether clocks of processes can be changed on this machine.
pub(crate) fn has_clocks() -> bool {
    faketime().is_some()
}

fn faketime() -> Option<&'static str> {
    FAKETIME.into_iter().find(|path| Path::new(path).exists())
}

/// Resident memory of a process, in bytes.
fn memory(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = resident.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}
