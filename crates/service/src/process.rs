//! The `main` of every binary: runtime, logs, signals, exit code.
//!
//! Exit codes follow `sysexits.h`. A supervisor can distinguish a wrong configuration (do not
//! restart) from a missing dependency (restart later) and from a bug.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::error;
use crate::shutdown::{self, Shutdown};
use crate::telemetry::{self, LogFormat};

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// The work is done, or the process drained after a signal.
    Clean = 0,
    /// The configuration or the command line is wrong.
    BadConfiguration = 64,
    /// A dependency is missing: a port, a file or a peer.
    Unavailable = 69,
    /// A bug of the program.
    Bug = 70,
    /// A second signal cut the drain short.
    Interrupted = 130,
}

/// The meaning of the exit codes, for `--help`.
pub const EXIT_CODES_HELP: &str = "Exit codes:
  0    clean end, or drained after a signal
  64   bad configuration
  69   something it depends on is unavailable
  70   a bug
  130  a second signal stopped it at once";

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

/// An error with its exit code.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Failure {
    status: ExitStatus,
    #[source]
    error: Box<dyn std::error::Error + Send + Sync>,
}

impl Failure {
    /// A failure that ends the process with `status`.
    pub fn new(
        status: ExitStatus,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { status, error: error.into() }
    }

    /// The exit code.
    pub fn status(&self) -> ExitStatus {
        self.status
    }
}

/// Parses the command line.
///
/// `Err` holds the exit code of a process that should end now. After `--help` or `--version`, which
/// print to standard output, that is success. A wrong command line prints one line to standard
/// error, and the code is that of [`ExitStatus::BadConfiguration`].
pub fn arguments<A: clap::Parser>() -> Result<A, ExitCode> {
    let words: Vec<OsString> = std::env::args_os().collect();
    parse(words.clone()).map_err(|error| {
        // If a write fails, the output is closed, so the failure cannot be reported either.
        if !error.use_stderr() {
            let _ = error.print();
            return ExitStatus::Clean.into();
        }
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            let _ = error.print();
        } else {
            let line = match error.kind() {
                ErrorKind::InvalidUtf8 => not_text(&A::command(), &words),
                _ => one_line(&error.to_string()),
            };
            let _ = writeln!(io::stderr(), "{line}");
        }
        ExitStatus::BadConfiguration.into()
    })
}

fn parse<A: clap::Parser>(arguments: impl IntoIterator<Item = OsString>) -> Result<A, clap::Error> {
    let mut command = without_empty_variables(with_negative_numbers(A::command()));
    let mut found = command.try_get_matches_from_mut(arguments)?;
    A::from_arg_matches_mut(&mut found).map_err(|error| error.format(&mut command))
}

/// The command without its variables that are set to nothing, which thereby count as not set. Compose
/// files, for example, set a variable to nothing where they have no value for it.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        let value = argument.get_env().and_then(std::env::var_os);
        if value.is_some_and(|value| value.is_empty()) {
            argument.env(None::<&'static str>)
        } else {
            argument
        }
    });
    command.mut_subcommands(without_empty_variables)
}

/// The command with values that may be negative numbers, except paths and other text. Otherwise `-1`
/// would be an unknown argument, and the error would not name the option.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let text = [TypeId::of::<String>(), TypeId::of::<PathBuf>(), TypeId::of::<OsString>()];
    let command = command.mut_args(|argument| {
        let parsed = argument.get_value_parser().type_id();
        let is_number = !text.iter().any(|text| parsed == *text);
        let has_value = argument.get_action().takes_values();
        argument.allow_negative_numbers(has_value && is_number)
    });
    command.mut_subcommands(with_negative_numbers)
}

/// The error of a value that is not UTF-8, which clap does not name: the options with such a value, else
/// the variables and the other arguments. Paths need not be UTF-8. An option of the same name may be a
/// path in one subcommand and text in another, so only the subcommands in the words count.
fn not_text(command: &clap::Command, words: &[OsString]) -> String {
    let known = arguments_of(command, words);
    let is_text = |argument: &clap::Arg| {
        let parsed = argument.get_value_parser().type_id();
        parsed != TypeId::of::<PathBuf>() && parsed != TypeId::of::<OsString>()
    };
    let is_broken = |word: &OsStr| word.to_str().is_none();
    let (mut options, mut others) = (Vec::new(), Vec::new());
    for two in words.windows(2).filter(|two| is_broken(&two[1])) {
        let word = two[1].to_string_lossy();
        // `--name=value`, or `--name` and the value.
        let option = match word.split_once('=') {
            Some((option, _)) if option.starts_with("--") => Some(option),
            _ => two[0].to_str(),
        };
        match option.and_then(|option| Some((option, option_named(&known, option)?))) {
            Some((option, argument)) if is_text(argument) => options.push(option.to_owned()),
            Some(_) => {}
            None => others.push(format!("{word:?}")),
        }
    }
    if options.is_empty() {
        let named = known.iter().filter(|one| is_text(one)).filter_map(|one| one.get_env());
        let broken = named.filter(|name| std::env::var_os(name).is_some_and(|one| is_broken(&one)));
        options.extend(broken.map(|name| name.to_string_lossy().into_owned()));
        options.sort_unstable();
        options.dedup();
        options.append(&mut others);
    }
    format!("error: not UTF-8 text: {}; write it as UTF-8; see --help", options.join(", "))
}

/// The arguments of a command and of the subcommands in the words, outermost first.
fn arguments_of<'a>(command: &'a clap::Command, words: &[OsString]) -> Vec<&'a clap::Arg> {
    let mut known: Vec<&clap::Arg> = command.get_arguments().collect();
    let mut innermost = command;
    let words = words.iter().skip(1).map(|word| word.to_string_lossy());
    let mut words = words.take_while(|word| word != "--");
    while let Some(word) = words.next() {
        if option_named(&known, &word).is_some() {
            // A value may have the name of a subcommand.
            words.next();
        } else if let Some(subcommand) = innermost.find_subcommand(&*word) {
            innermost = subcommand;
            known.extend(subcommand.get_arguments());
        }
    }
    known
}

/// The option with a value that a word such as `--name` names, the one of the innermost command first.
fn option_named<'a>(known: &[&'a clap::Arg], word: &str) -> Option<&'a clap::Arg> {
    let long = word.strip_prefix("--")?;
    let mut innermost_first = known.iter().rev().copied();
    innermost_first.find(|one| one.get_long() == Some(long) && one.get_action().takes_values())
}

/// The text of a clap error on one line, without the usage.
fn one_line(error: &str) -> String {
    let is_shown = |paragraph: &&str| {
        !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more information")
    };
    let paragraphs: Vec<String> = error
        .split("\n\n")
        .map(str::trim)
        .filter(|paragraph| !paragraph.is_empty())
        .filter(is_shown)
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    format!("{}; see --help", paragraphs.join("; "))
}

/// Sets up logs and a runtime, runs `work` and converts its result to an exit code.
///
/// Ctrl-C, SIGTERM or SIGHUP cancels the [`Shutdown`] that `work` receives. A second signal
/// abandons `work`.
pub fn run<F>(format: LogFormat, work: impl FnOnce(Shutdown) -> F) -> ExitCode
where
    F: Future<Output = Result<(), Failure>>,
{
    if let Err(error) = telemetry::init(format, "info") {
        // There is no log yet. A failed write cannot be reported either.
        let _ = writeln!(io::stderr(), "error: {error}");
        return ExitStatus::BadConfiguration.into();
    }
    let status = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(ExitStatus::Unavailable, error))
        .and_then(|runtime| {
            let stop = Shutdown::new();
            let ended = runtime.block_on(shutdown::until_signal(&stop, work(stop.clone())));
            // Tasks that still run have passed the deadline of the drain, so this does not wait.
            runtime.shutdown_background();
            match ended {
                Ok(Some(result)) => result.map(|()| ExitStatus::Clean),
                Ok(None) => Ok(ExitStatus::Interrupted),
                Err(error) => Err(Failure::new(ExitStatus::Unavailable, error)),
            }
        });
    match status {
        Ok(status) => status.into(),
        Err(failure) => {
            tracing::error!(exit_code = failure.status as u8, "{}", error::chain(&failure));
            failure.status.into()
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Example {
        #[arg(long, value_parser = ["auto", "cpu"])]
        device: String,
        #[arg(long, default_value_t = 1)]
        games: u8,
    }

    #[test]
    fn an_error_of_the_command_line_is_one_line() {
        for (arguments, expected) in [
            (
                &["example", "--device", "tpu"][..],
                "error: invalid value 'tpu' for '--device <DEVICE>' [possible values: auto, cpu]; tip: \
                 a similar value exists: 'cpu'; see --help",
            ),
            (
                &["example"],
                "error: the following required arguments were not provided: --device <DEVICE>; \
                 see --help",
            ),
            (
                &["example", "--devise", "cpu"],
                "error: unexpected argument '--devise' found; tip: a similar argument exists: \
                 '--device'; see --help",
            ),
            (
                &["example", "--device", "cpu", "--games", "-1"],
                "error: invalid value '-1' for '--games <GAMES>': -1 is not in 0..=255; see --help",
            ),
        ] {
            let arguments = arguments.iter().map(OsString::from);
            let error = parse::<Example>(arguments).expect_err("it is wrong");
            assert_eq!(one_line(&error.to_string()), expected);
        }
    }

    #[cfg(unix)]
    #[test]
    fn values_that_are_not_text_are_named_by_their_options() {
        use std::os::unix::ffi::OsStrExt;

        #[derive(Debug, clap::Parser)]
        struct Example {
            #[arg(long)]
            name: Option<String>,
            #[arg(long)]
            folder: Option<PathBuf>,
            #[arg(long)]
            quick: bool,
            word: Option<String>,
        }
        let folder: [&[u8]; 2] = [b"--folder", b"\xff"];
        let cases: [(&[&[u8]], &str); 4] = [
            (&[b"--name", b"\xff"], "--name"),
            (&[b"--name=\xff"], "--name"),
            (&[b"--name", b"a=\xff"], "--name"),
            (&[b"--quick", b"a\n\xff"], "\"a\\n\u{fffd}\""),
        ];
        for (more, expected) in cases {
            let words = [&[&b"example"[..]][..], &folder, more].concat();
            let words: Vec<OsString> =
                words.into_iter().map(|word| OsStr::from_bytes(word).to_owned()).collect();
            let error = parse::<Example>(words.clone()).expect_err("it is not text");
            assert_eq!(error.kind(), ErrorKind::InvalidUtf8);
            let expected =
                format!("error: not UTF-8 text: {expected}; write it as UTF-8; see --help");
            assert_eq!(not_text(&<Example as clap::CommandFactory>::command(), &words), expected);
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_options_of_the_subcommand_in_the_words_are_named() {
        use std::os::unix::ffi::OsStrExt;

        let text = |name: &'static str| clap::Arg::new(name).long(name);
        let path = |name| text(name).value_parser(clap::value_parser!(PathBuf));
        let serve = clap::Command::new("serve").arg(text("path")).arg(path("game"));
        let tune = clap::Command::new("tune").arg(path("path")).arg(text("game"));
        let command =
            clap::Command::new("example").arg(text("run")).subcommand(serve).subcommand(tune);
        let broken: [&[u8]; 4] = [b"--path", b"\xff", b"--game", b"\xff"];
        let cases: [(&[&[u8]], &str); 3] = [
            (&[b"example", b"serve"], "--path"),
            (&[b"example", b"tune"], "--game"),
            (&[b"example", b"--run", b"serve", b"tune"], "--game"),
        ];
        for (start, expected) in cases {
            let words = [start, &broken].concat();
            let words: Vec<OsString> =
                words.into_iter().map(|word| OsStr::from_bytes(word).to_owned()).collect();
            let expected =
                format!("error: not UTF-8 text: {expected}; write it as UTF-8; see --help");
            assert_eq!(not_text(&command, &words), expected);
        }
    }

    #[test]
    fn exit_codes_follow_sysexits() {
        for (status, code) in [
            (ExitStatus::Clean, 0),
            (ExitStatus::BadConfiguration, 64),
            (ExitStatus::Unavailable, 69),
            (ExitStatus::Bug, 70),
            (ExitStatus::Interrupted, 130),
        ] {
            assert_eq!(ExitCode::from(status), ExitCode::from(code));
        }
    }

    #[test]
    fn work_gets_a_runtime_and_its_failure_becomes_the_exit_code() {
        let code = run(LogFormat::Text, |shutdown| async move {
            shutdown.spawn(async {}).await.unwrap();
            Err(Failure::new(ExitStatus::Unavailable, "no arena"))
        });
        assert_eq!(code, ExitCode::from(69));
    }
}
