//! What a command fails with: a message and the exit code that goes with it.
//!
//! The codes are those of BSD `sysexits`, so that scripts can tell a typo from a missing
//! service without reading the message.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use ouro_service::ExitStatus;
use ouro_service::config::ConfigFileError;

/// Shown by `--help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0   done
  1   done, and the answer is no: a check found a difference
  64  the command line or the configuration is wrong
  65  an input file is damaged
  66  an input file or folder is missing
  69  something it needs is not available: a port, a device, a run in use
  70  a bug in this program
  74  reading or writing failed
  130 Ctrl-C a second time: ended at once";

/// A command line or configuration that cannot be used.
const USAGE: u8 = 64;
/// Input that cannot be understood.
const DATA: u8 = 65;
/// Input that is not there.
const NO_INPUT: u8 = 66;
/// Something else that must be there.
const UNAVAILABLE: u8 = 69;
/// Something that should not happen.
const SOFTWARE: u8 = 70;
/// A failed read or write.
const IO: u8 = 74;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    /// The reader of standard output went away; nothing to tell it.
    silent: bool,
}

impl Failure {
    fn new(code: u8, message: impl Display) -> Self {
        Self { code, message: message.to_string(), silent: false }
    }

    /// A command line or configuration that cannot be used.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(USAGE, message)
    }

    /// A port, a device, a folder that is not to be had.
    pub(crate) fn unavailable(message: impl Display) -> Self {
        Self::new(UNAVAILABLE, message)
    }

    /// Something that should not happen.
    pub(crate) fn bug(message: impl Display) -> Self {
        Self::new(SOFTWARE, message)
    }

    /// Input that cannot be understood.
    pub(crate) fn data(message: impl Display) -> Self {
        Self::new(DATA, message)
    }

    /// Input that is not there.
    pub(crate) fn no_input(message: impl Display) -> Self {
        Self::new(NO_INPUT, message)
    }

    /// A failed read or write.
    pub(crate) fn io(message: impl Display) -> Self {
        Self::new(IO, message)
    }

    /// Whatever ended a part of a run.
    pub(crate) fn ended(status: ExitStatus, message: impl Display) -> Self {
        Self::new(status as u8, message)
    }

    /// A file that could not be read, told apart by whether it exists.
    pub(crate) fn read(what: impl Display, error: &io::Error) -> Self {
        let code = if error.kind() == io::ErrorKind::NotFound { NO_INPUT } else { IO };
        Self::new(code, format_args!("{what}: {error}"))
    }

    /// A configuration file that cannot be used, told apart by whether it exists.
    pub(crate) fn unreadable(error: ConfigFileError) -> Self {
        match &error {
            ConfigFileError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Self::no_input(error)
            }
            _ => Self::usage(error),
        }
    }

    /// Prints the message as one line and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        if self.silent {
            return ExitCode::SUCCESS;
        }
        let line = self.message.lines().map(str::trim).collect::<Vec<_>>().join("; ");
        // Nobody is left to tell when standard error is closed too.
        let _ = writeln!(io::stderr(), "error: {line}");
        ExitCode::from(self.code)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        match error.downcast::<io::Error>() {
            Ok(error) => error.into(),
            Err(error) => Self::new(SOFTWARE, format_args!("{error:#}")),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let silent = error.kind() == io::ErrorKind::BrokenPipe;
        Self { silent, ..Self::new(IO, error) }
    }
}

/// Prints what the argument parser says: help on standard output, mistakes on standard error.
pub(crate) fn report_usage(error: &clap::Error) -> ExitCode {
    // As above: without a reader there is nothing to do about a failed write.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { USAGE } else { 0 })
}
