//! Signals, and terminals and streams in unusual states, against `ouro train`.
//!
//! Each case ends with the exit code that the manual gives for it, or with the death that the signal
//! means. The run is sound afterwards and can be continued.
#![cfg(unix)]

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ouro_testkit::attack;
use ouro_testkit::process::{Ended, Process};

use crate::support::small_run;

/// By default one case in so many runs.
const ONE_IN: usize = 5;

/// Longest time of a step.
const LIMIT: Duration = Duration::from_secs(60);

/// The command under test; `$0` is the program.
const TRAIN: &str = "\"$0\" train --run run --config small.toml --device cpu --threads 1 \
                     --arena 127.0.0.1:0 --learner 127.0.0.1:0 --web off";

/// One thing done to a run.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Sends signals, with this pause in milliseconds before each.
    Signals(&'static [(&'static str, u64)]),
    /// Writes bytes to standard input, which may be a terminal.
    Type(&'static [u8]),
    /// Ends the program that holds the terminal.
    HangUp,
    /// Does nothing: the run ends by itself.
    Nothing,
}

/// A case.
#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    /// The shell command, in which `TRAIN` stands for the command under test.
    shell: &'static str,
    /// Whether the act follows the start of the run, not that of the process.
    after_start: bool,
    act: Act,
    /// The expected exit codes; `None` is a death by signal.
    codes: &'static [Option<i32>],
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

const DRAINED: &[Option<i32>] = &[Some(0)];
const KILLED: &[Option<i32>] = &[None];
/// A second signal ends the drain; it may also come after the end.
const ABANDONED: &[Option<i32>] = &[Some(130), Some(0)];
/// A signal during the start may come before the handlers.
const EARLY: &[Option<i32>] = &[Some(0), Some(130), None];

const PLAIN: &str = "exec TRAIN";
/// Also if these tests run under `nohup`, whose children ignore the signal.
const HEARS_HANG_UP: &str = "exec env --default-signal=HUP TRAIN";
const BRIEF: &str = "exec TRAIN --for 1s";
/// On a terminal, whose other end is the standard input of `script`.
const TERMINAL: &str = "exec script -qefc 'exec TRAIN' typed";

const fn case(
    name: &'static str,
    shell: &'static str,
    act: Act,
    codes: &'static [Option<i32>],
) -> Case {
    Case { name, shell, after_start: true, act, codes }
}

const fn early(name: &'static str, act: Act) -> Case {
    Case { name, shell: PLAIN, after_start: false, act, codes: EARLY }
}

const CASES: [Case; 36] = [
    case("interrupt", PLAIN, Act::Signals(&[("-INT", 0)]), DRAINED),
    case("terminate", PLAIN, Act::Signals(&[("-TERM", 0)]), DRAINED),
    case("hang-up", HEARS_HANG_UP, Act::Signals(&[("-HUP", 0)]), DRAINED),
    case("kill", PLAIN, Act::Signals(&[("-KILL", 0)]), KILLED),
    case("quit", PLAIN, Act::Signals(&[("-QUIT", 0)]), KILLED),
    case("abort", PLAIN, Act::Signals(&[("-ABRT", 0)]), KILLED),
    case("user signal", PLAIN, Act::Signals(&[("-USR1", 0)]), KILLED),
    case("interrupted twice", PLAIN, Act::Signals(&[("-INT", 0), ("-INT", 0)]), ABANDONED),
    case(
        "terminated, then interrupted",
        PLAIN,
        Act::Signals(&[("-TERM", 0), ("-INT", 5)]),
        ABANDONED,
    ),
    case(
        "interrupted five times",
        PLAIN,
        Act::Signals(&[("-INT", 0), ("-INT", 1), ("-INT", 1), ("-INT", 1), ("-INT", 1)]),
        ABANDONED,
    ),
    case(
        "stopped and continued",
        PLAIN,
        Act::Signals(&[("-STOP", 0), ("-CONT", 500), ("-INT", 100)]),
        DRAINED,
    ),
    case(
        "terminated while stopped",
        PLAIN,
        Act::Signals(&[("-STOP", 0), ("-TERM", 100), ("-CONT", 100)]),
        DRAINED,
    ),
    case("killed while stopped", PLAIN, Act::Signals(&[("-STOP", 0), ("-KILL", 100)]), KILLED),
    case(
        "stopped in the drain",
        PLAIN,
        Act::Signals(&[("-INT", 0), ("-STOP", 0), ("-CONT", 300)]),
        DRAINED,
    ),
    case(
        "window size and pipe signals",
        BRIEF,
        Act::Signals(&[("-WINCH", 0), ("-PIPE", 0), ("-CHLD", 0), ("-URG", 0)]),
        DRAINED,
    ),
    case(
        "hang-up under nohup",
        "trap '' HUP; exec TRAIN --for 1s",
        Act::Signals(&[("-HUP", 0), ("-HUP", 100)]),
        DRAINED,
    ),
    early("interrupt at once", Act::Signals(&[("-INT", 0)])),
    early("interrupt after 30 ms", Act::Signals(&[("-INT", 30)])),
    early("terminate after 60 ms", Act::Signals(&[("-TERM", 60)])),
    early("interrupt after 120 ms", Act::Signals(&[("-INT", 120)])),
    early("kill after 100 ms", Act::Signals(&[("-KILL", 100)])),
    early("kill after 200 ms", Act::Signals(&[("-KILL", 200)])),
    case("standard output closed", "exec TRAIN --for 1s >&-", Act::Nothing, &[Some(0), Some(74)]),
    case("standard output full", "exec TRAIN --for 1s >/dev/full", Act::Nothing, &[Some(74)]),
    case("standard error closed", "exec TRAIN --for 1s 2>&-", Act::Nothing, DRAINED),
    case("standard error full", "exec TRAIN --for 1s 2>/dev/full", Act::Nothing, DRAINED),
    case("standard input closed", "exec TRAIN --for 1s <&-", Act::Nothing, DRAINED),
    case("endless standard input", "yes | TRAIN --for 1s", Act::Nothing, DRAINED),
    case(
        "a reader that closes the pipe",
        "TRAIN --for 1s | head -c 1 >/dev/null",
        Act::Nothing,
        DRAINED,
    ),
    case("Ctrl-C on a terminal", TERMINAL, Act::Type(b"\x03"), DRAINED),
    case(
        "keys on a terminal, then Ctrl-C",
        TERMINAL,
        Act::Type(b"q\r\n\x1b[A\x1b[200~\xff\x00\x04\x13\x11\x03"),
        DRAINED,
    ),
    case("Ctrl-\\ on a terminal", TERMINAL, Act::Type(b"\x1c"), &[Some(131), None]),
    case("a terminal that hangs up", TERMINAL, Act::HangUp, &[Some(0), Some(129), None]),
    case(
        "a terminal of one column",
        "exec script -qefc 'stty cols 1 rows 1; exec TRAIN --for 1s' \
                                      typed",
        Act::Nothing,
        DRAINED,
    ),
    case(
        "a terminal without abilities",
        "TERM=dumb exec script -qefc 'exec TRAIN --for 1s' typed",
        Act::Nothing,
        DRAINED,
    ),
    case(
        "an empty environment",
        "exec env -i TERM=x LANG=tlh TRAIN --for 1s",
        Act::Nothing,
        DRAINED,
    ),
];

/// The events of the run in `home`.
fn events(home: &Path) -> String {
    fs::read_to_string(home.join("run/events.jsonl")).unwrap_or_default()
}

/// Whether the last event of the run in `home` is that of a drained run.
fn has_end(home: &Path) -> bool {
    events(home).lines().last().is_some_and(|line| line.starts_with("{\"event\":\"end\""))
}

/// Waits until the run in `home` has started, or its process has ended.
fn wait_for_start(home: &Path, process: &mut Process) {
    let start = Instant::now();
    while start.elapsed() < LIMIT && process.is_running() {
        if events(home).contains("\"start\"") {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Starts the command, does what the case does, and waits for the end.
fn act(home: &Path, case: &Case) -> Ended {
    let mut command = Command::new("sh");
    let shell = case.shell.replace("TRAIN", TRAIN);
    // Inside of quotes, `$0` is the shell of `script`.
    let program = env!("CARGO_BIN_EXE_ouro");
    let shell = if shell.contains("script ") { shell.replace("\"$0\"", program) } else { shell };
    command.args(["-c", &shell, program]).current_dir(home);
    command.env_remove("OURO_RUN").env_remove("RUST_LOG").stdin(Stdio::piped());
    let mut process = Process::start_piped(&mut command);
    if case.after_start {
        wait_for_start(home, &mut process);
    }
    match case.act {
        Act::Signals(signals) => {
            for &(signal, pause) in signals {
                thread::sleep(Duration::from_millis(pause));
                let _ = process.try_signal(signal);
            }
        }
        Act::Type(bytes) => {
            let mut stdin = process.stdin();
            // The process may have ended already, which its exit code shows.
            let _ = stdin.write_all(bytes).and_then(|()| stdin.flush());
            let ended = process.end_within(LIMIT);
            drop(stdin);
            return ended;
        }
        Act::HangUp => {
            let _ = process.try_signal("-KILL");
        }
        Act::Nothing => {}
    }
    process.end_within(LIMIT)
}

fn attack(case: &Case) -> Result<String, String> {
    let home = small_run::home();
    let ended = act(home.path(), case);
    let fail = |what: &str, ended: &Ended| {
        Err(format!("{case}: {what}: {:?} {}{}", ended.code, ended.stdout, ended.stderr))
    };
    if !case.codes.contains(&ended.code) || ended.stderr.contains("panicked") {
        return fail("exit code", &ended);
    }
    // The history does not depend on the reader of the output.
    if case.codes == DRAINED && !has_end(home.path()) {
        return fail("the last event", &ended);
    }
    // Programs that hold the terminal may end before the run does.
    let train = || small_run::train(home.path(), &["--run", "run", "--for", "200ms"]);
    let start = Instant::now();
    let continued = loop {
        let config = ["--run", "run", "--config", "small.toml", "--for", "200ms"];
        let has_run = home.path().join("run/run.toml").exists();
        let trained = if has_run { train() } else { small_run::train(home.path(), &config) };
        let is_in_use = trained.stderr.contains("in use") && start.elapsed() < LIMIT;
        if !is_in_use {
            break trained;
        }
        thread::sleep(Duration::from_millis(100));
    };
    if continued.code != Some(0) {
        return fail("the next start", &continued);
    }
    let checked = small_run::ouro(home.path(), &["check", "run"]);
    if checked.code != Some(0) {
        return fail("check", &checked);
    }
    Ok(match ended.code {
        Some(0) => "drained".to_owned(),
        Some(code) => format!("exit code {code}"),
        None => "killed".to_owned(),
    })
}

#[test]
fn every_signal_and_every_terminal_leaves_a_run_that_continues() {
    let chosen: Vec<&Case> =
        attack::cases(CASES.len(), ONE_IN).into_iter().map(|index| &CASES[index]).collect();
    let results = attack::run(&chosen, |case| attack(case));
    attack::report(format_args!(
        "signals and terminals: {} cases, {} run: {results:?}; each run is sound and continues",
        CASES.len(),
        chosen.len(),
    ));
}

#[test]
fn a_reader_that_takes_nothing_does_not_keep_a_run_from_ending() {
    let home = small_run::home();
    let (reader, writer) = io::pipe().expect("a pipe");
    let mut filled = writer.try_clone().expect("it is open");
    // Keeps the pipe full until its reader is closed.
    let filling = thread::spawn(move || while filled.write_all(&[b'\n'; 1 << 12]).is_ok() {});
    let start = ["train", "--run", "run", "--config", "small.toml", "--device", "cpu"];
    let ports = ["--arena", "127.0.0.1:0", "--learner", "127.0.0.1:0", "--web", "off"];
    let arguments = [&start[..], &ports, &["--threads", "1", "--for", "1s"]].concat();
    let mut command = small_run::command(home.path(), &arguments);
    command.env_remove("RUST_LOG").stdout(writer).stderr(Stdio::piped());
    let ended = Process::start(&mut command).end_within(LIMIT);
    drop(reader);
    filling.join().expect("no panic");
    assert_eq!(ended.code, Some(74), "{}", ended.stderr);
    let named = "standard output: its reader takes nothing; events.jsonl";
    assert!(ended.stderr.contains(named), "{}", ended.stderr);
    assert!(has_end(home.path()), "{}", events(home.path()));
    small_run::ouro(home.path(), &["check", "run"]).success();
}
