//! Runs a program with a time limit and keeps what it said.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

/// Most characters of the error output that a report keeps.
const ERROR_OUTPUT: usize = 1_500;

/// A program and its limit.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) limit: Duration,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Exit(i32),
    Signal(i32),
    Timeout,
    NotStarted(String),
}

impl Outcome {
    fn of(status: ExitStatus, elapsed: Duration, limit: Duration) -> Self {
        // `timeout` ends by the signal that it sends, or with the code that a shell would give.
        let is_killed = status.signal() == Some(9) || status.code() == Some(137);
        match (status.code(), status.signal()) {
            _ if is_killed && elapsed >= limit => Self::Timeout,
            (Some(0), _) => Self::Done,
            // A wrapper script ends with 128 plus the signal of its program.
            (Some(code @ 129..=159), _) => Self::Signal(code - 128),
            (Some(code), _) => Self::Exit(code),
            (None, signal) => Self::Signal(signal.unwrap_or_default()),
        }
    }

    /// The outcome in a report.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Done => "ok".to_owned(),
            Self::Exit(code) => format!("exit {code}"),
            Self::Signal(signal) => match signal_name(*signal) {
                Some(name) => format!("signal {signal} ({name})"),
                None => format!("signal {signal}"),
            },
            Self::Timeout => "timeout".to_owned(),
            Self::NotStarted(reason) => format!("not started: {reason}"),
        }
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => return None,
    })
}

/// What a program did.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) seconds: f64,
    /// The lines of its output that are JSON.
    pub(crate) findings: Vec<Value>,
    /// The end of its error output.
    pub(crate) errors: String,
}

/// Runs `program` to its end or its limit. Its output goes to `logs/NAME.out` and `.err`.
pub(crate) fn run(program: &Program, logs: &Path, name: &str) -> Result<Ended> {
    let path = |ending: &str| logs.join(format!("{name}.{ending}"));
    let create = |ending: &str| {
        File::create(path(ending))
            .with_context(|| format!("cannot write {}", path(ending).display()))
    };
    let (out, err) = (create("out")?, create("err")?);
    let limit = whole_milliseconds(program.limit);
    let started = Instant::now();
    // `timeout` is in a process group of its own and ends all of it, also the workers that a
    // program started. It keeps the limit if this process is killed.
    let status = Command::new("timeout")
        .args(["-s", "KILL", &format!("{:.3}", limit.as_secs_f64())])
        .arg(&program.path)
        .args(&program.arguments)
        .envs(program.environment.iter().map(|(key, value)| (key, value)))
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .status();
    let elapsed = started.elapsed();
    let outcome = match status {
        Ok(status) => Outcome::of(status, elapsed, limit),
        Err(error) => Outcome::NotStarted(error.to_string()),
    };
    Ok(Ended {
        outcome,
        seconds: elapsed.as_secs_f64(),
        findings: read(&path("out"))?.lines().filter_map(json_line).collect(),
        errors: end_of(read(&path("err"))?.trim()),
    })
}

/// A limit in whole milliseconds, rounded up, as `timeout` gets it; at least one, because 0 would be no
/// limit. A limit that was rounded down would end a program early, which would look like a crash.
fn whole_milliseconds(limit: Duration) -> Duration {
    let milliseconds = limit.as_nanos().div_ceil(1_000_000).max(1);
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX))
}

fn read(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

/// An object on a line of its own. A program that was killed may leave half of a line.
fn json_line(line: &str) -> Option<Value> {
    serde_json::from_str::<Value>(line).ok().filter(Value::is_object)
}

fn end_of(text: &str) -> String {
    let from = text.char_indices().rev().nth(ERROR_OUTPUT - 1).map_or(0, |(index, _)| index);
    text[from..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: f64) -> Ended {
        let folder = tempfile::tempdir().unwrap();
        let program = Program {
            path: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: vec![("NUMBER".into(), "3".into())],
            limit: Duration::from_secs_f64(limit),
        };
        run(&program, folder.path(), "test").unwrap()
    }

    #[test]
    fn what_a_program_said_before_it_crashed_or_hung_is_kept() {
        let done = shell(r#"echo '{"a": '$NUMBER'}'; echo text; echo oh >&2"#, 60.0);
        assert_eq!(done.outcome, Outcome::Done);
        assert_eq!(done.findings, [serde_json::json!({ "a": 3 })]);
        assert_eq!(done.errors, "oh");

        let crashed = shell(r#"echo '{"a": 1}'; kill -SEGV $$"#, 60.0);
        assert_eq!(crashed.outcome.text(), "signal 11 (SIGSEGV)");
        assert_eq!(crashed.findings.len(), 1);

        let hung = shell(r#"echo '{"a": 1}'; echo '{"b'; sleep 600 & sleep 600"#, 0.3);
        assert_eq!(hung.outcome, Outcome::Timeout);
        assert_eq!(hung.findings.len(), 1);
        assert!(hung.seconds < 60.0, "{} s", hung.seconds);

        // Limits that `timeout` would get as less, or as none, if they were rounded to tenths.
        for limit in [0.34, 0.04, 0.0] {
            let hung = shell("sleep 600", limit);
            assert_eq!(hung.outcome, Outcome::Timeout, "{limit} s");
            assert!(hung.seconds < 60.0, "{limit} s: {} s", hung.seconds);
        }

        assert_eq!(shell("exit 69", 60.0).outcome.text(), "exit 69");
        assert_eq!(shell("sh -c 'kill -ABRT $$'", 60.0).outcome, Outcome::Signal(6));
    }

    #[test]
    fn the_end_of_a_long_error_output_is_kept() {
        let long = format!("{}end", "é".repeat(2 * ERROR_OUTPUT));
        let kept = end_of(&long);
        assert_eq!(kept.chars().count(), ERROR_OUTPUT);
        assert!(kept.ends_with("end"));
        assert_eq!(end_of("short"), "short");
    }
}
