//! Commands that are killed with all their children if they take too long.

use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// Runs a command for at most `limit` and returns its standard output.
pub(super) fn output_within(command: &mut Command, limit: Duration) -> Result<Output> {
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    // A group of its own, so that the children end with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let mut stdout = child.stdout.take().context("the output is piped")?;
    let reading = thread::spawn(move || {
        let mut text = Vec::new();
        stdout.read_to_end(&mut text).map(|_| text)
    });
    let start = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if start.elapsed() > limit => {
                let group = format!("-{}", child.id());
                let killed = Command::new("kill").args(["-KILL", "--", &group]).status();
                ensure!(killed.is_ok_and(|status| status.success()), "a command does not end");
            }
            None => thread::sleep(Duration::from_millis(50)),
        }
    };
    let stdout = reading.join().unwrap_or_else(|_| Ok(Vec::new()))?;
    Ok(Output { status, stdout, stderr: Vec::new() })
}
