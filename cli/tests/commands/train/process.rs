//! An `ouro train` process and its events.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ouro_testkit::process::{Process, run};
use serde_json::Value;

/// Maximum time between two lines of output; after it, the run counts as hung.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// A running `ouro train`. Its output is not a terminal, so each line is JSON.
pub(crate) struct Trainer {
    process: Process,
    lines: Receiver<Value>,
    /// The `pause` and `resumed` events so far.
    pub(crate) waits: Vec<Value>,
    /// The `start` event.
    pub(crate) opening: Value,
}

/// Prepares `ouro train` in a folder on free ports, with its page at `web`.
fn command(run: &Path, web: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command
        .args(["train", "--device", "cpu", "--threads", "1", "--log-records", "--web", web])
        .args(["--arena", "127.0.0.1:0", "--learner", "127.0.0.1:0", "--run"])
        .arg(run);
    command
}

impl Trainer {
    /// Starts or resumes the run in a folder, on free ports, and waits for its first event.
    pub(crate) fn start(run: &Path, settings: Option<&Path>) -> Self {
        Self::start_with_stderr(run, settings, Stdio::inherit())
    }

    /// Like [`start`](Self::start), with standard error redirected to `stderr`.
    pub(crate) fn start_with_stderr(
        run: &Path,
        settings: Option<&Path>,
        stderr: impl Into<Stdio>,
    ) -> Self {
        let mut command = command(run, "off");
        if let Some(settings) = settings {
            command.arg("--config").arg(settings);
        }
        command.stderr(stderr);
        Self::spawn(command)
    }

    /// Starts a new run that also serves its web page, on a free port.
    pub(crate) fn start_with_page(run: &Path, settings: &Path) -> Self {
        let mut command = command(run, "127.0.0.1:0");
        command.arg("--config").arg(settings);
        Self::spawn(command)
    }

    /// Starts a new run with given weights, with standard error redirected to `stderr`.
    pub(crate) fn start_from(
        run: &Path,
        settings: &Path,
        weights: &Path,
        stderr: impl Into<Stdio>,
    ) -> Self {
        let mut command = command(run, "off");
        command.arg("--config").arg(settings).arg("--from").arg(weights).stderr(stderr);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let mut process = Process::start(command.stdout(Stdio::piped()));
        let stdout = process.stdout();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // A killed process may leave an incomplete last line.
                let Ok(value) = serde_json::from_str(&line) else { return };
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        let mut trainer = Self { process, lines, waits: Vec::new(), opening: Value::Null };
        trainer.opening = trainer.wait_for("start");
        trainer
    }

    /// Runs `ouro train` in a folder where it must refuse. Returns exit code and standard error.
    pub(crate) fn start_refused(folder: &Path) -> (Option<i32>, String) {
        let ended = run(&mut command(folder, "off"));
        (ended.code, ended.stderr)
    }

    /// URL of the arena.
    pub(crate) fn arena(&self) -> String {
        format!("http://{}", self.opening["arena"].as_str().expect("an address"))
    }

    /// URL of the learner.
    pub(crate) fn learner(&self) -> String {
        format!("http://{}", self.opening["learner"].as_str().expect("an address"))
    }

    /// Waits for the next event of a kind and returns it. Skips other events.
    pub(crate) fn wait_for(&mut self, event: &str) -> Value {
        self.wait(|value| value["event"] == event)
    }

    fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let value = self.lines.recv_timeout(PATIENCE).expect("ouro prints what is waited for");
            if value["event"] == "pause" || value["event"] == "resumed" {
                self.waits.push(value.clone());
            }
            if wanted(&value) {
                return value;
            }
        }
    }

    /// Kills the process, as a power failure would.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    /// Interrupts the process as Ctrl-C does. Returns exit code and last event.
    pub(crate) fn interrupt(mut self) -> (Option<i32>, Value) {
        self.process.signal("-INT");
        let end = self.wait_for("end");
        (self.process.wait().code(), end)
    }
}
