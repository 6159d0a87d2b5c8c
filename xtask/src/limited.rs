//! Commands that are killed if they take too long.

use std::io::{self, Read};
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// Polling interval. Some commands end within a fraction of a second.
const LOOK: Duration = Duration::from_millis(5);

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its status and everything that it printed.
    pub(crate) output: Output,
    /// Whether it was killed at its limit.
    pub(crate) is_killed: bool,
}

/// Runs a command for at most `limit`, and kills it with all its children.
///
/// It has a process group of its own. A signal to the group of this process, such as Ctrl-C, does not end
/// it.
pub(crate) fn output_within(command: &mut Command, limit: Duration) -> Result<Ended> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    wait(command, limit, |child| {
        let group = format!("-{}", child.id());
        let killed = Command::new("kill").args(["-KILL", "--", &group]).status();
        killed.is_ok_and(|status| status.success())
    })
}

/// Runs a command without children for at most `limit`.
///
/// It stays in the process group of this process, and so ends with it on Ctrl-C or when the group is
/// killed.
pub(crate) fn child_output_within(command: &mut Command, limit: Duration) -> Result<Ended> {
    wait(command, limit, |child| child.kill().is_ok())
}

/// Runs a command. After `limit`, `kill` ends it and returns whether it could.
fn wait(
    command: &mut Command,
    limit: Duration,
    kill: impl Fn(&mut Child) -> bool,
) -> Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    // Both are read at once, because a full pipe would stop the command.
    let stdout = read(child.stdout.take().context("the output is piped")?);
    let stderr = read(child.stderr.take().context("the errors are piped")?);
    let (start, mut is_killed) = (Instant::now(), false);
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if start.elapsed() > limit => {
                ensure!(kill(&mut child), "a command does not end");
                is_killed = true;
            }
            None => thread::sleep(LOOK),
        }
    };
    let text = |reading: JoinHandle<io::Result<Vec<u8>>>| {
        reading.join().unwrap_or_else(|_| Ok(Vec::new())).context("a pipe cannot be read")
    };
    let output = Output { status, stdout: text(stdout)?, stderr: text(stderr)? };
    // A command that ended just before it was killed has kept its limit.
    Ok(Ended { is_killed: is_killed && !output.status.success(), output })
}

/// Reads a pipe to its end.
fn read(mut pipe: impl Read + Send + 'static) -> JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut text = Vec::new();
        pipe.read_to_end(&mut text).map(|_| text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Ended {
        output_within(Command::new("sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn a_command_within_its_limit_keeps_its_status_and_both_outputs() {
        let ended = shell("echo out; echo err >&2; exit 3", Duration::from_secs(60));
        assert_eq!((ended.output.status.code(), ended.is_killed), (Some(3), false));
        assert_eq!(ended.output.stdout, b"out\n");
        assert_eq!(ended.output.stderr, b"err\n");
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_its_children() {
        let start = Instant::now();
        let ended = shell("echo out; sleep 600 & sleep 600", Duration::from_secs(2));
        assert!(ended.is_killed);
        assert_eq!(ended.output.stdout, b"out\n");
        // The pipes stay open until the last child ends.
        assert!(start.elapsed() < Duration::from_secs(60));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_command_without_children_is_killed_in_the_group_of_its_parent() {
        // The fifth field of the status is the process group.
        let script = "cut -d ' ' -f 5 /proc/self/stat /proc/$PPID/stat; exec sleep 600";
        let command = &mut Command::new("sh");
        let ended = child_output_within(command.args(["-c", script]), Duration::from_secs(2));
        let ended = ended.unwrap();
        assert!(ended.is_killed);
        let text = String::from_utf8(ended.output.stdout).unwrap();
        let groups: Vec<&str> = text.lines().collect();
        assert!(groups.len() == 2 && groups[0] == groups[1], "{text}");
    }
}
