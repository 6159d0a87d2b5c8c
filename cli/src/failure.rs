//! The failure of a command: a message and an exit code.
//!
//! The codes are those of BSD `sysexits`. Scripts can distinguish a typo from a missing service
//! without parsing the message.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use ouro_service::ExitStatus;
use ouro_settings::FileError;

use crate::output::printable;

/// The table of exit codes in the output of `--help`.
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
  75  a time limit ended the work before there was an answer
  130 ended by Ctrl-C; train and serve drain at the first and end at the second";

/// Invalid command line or configuration (`EX_USAGE`).
const USAGE: u8 = 64;
/// Invalid input data (`EX_DATAERR`).
const DATA: u8 = 65;
/// Missing input (`EX_NOINPUT`).
const NO_INPUT: u8 = 66;
/// Any other unavailable resource (`EX_UNAVAILABLE`).
const UNAVAILABLE: u8 = 69;
/// Internal error: a bug (`EX_SOFTWARE`).
const SOFTWARE: u8 = 70;
/// Failed read or write (`EX_IOERR`).
const IO: u8 = 74;
/// No answer within a time limit (`EX_TEMPFAIL`).
pub(crate) const TIME_LIMIT: u8 = 75;

/// The exit code of a command that answers a question.
pub(crate) fn answer(yes: bool) -> ExitCode {
    if yes { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// Error that stops a command.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    /// Whether standard output has no reader any more; then no message is printed.
    silent: bool,
}

impl Failure {
    fn new(code: u8, message: impl Display) -> Self {
        Self { code, message: message.to_string(), silent: false }
    }

    /// Invalid command line or configuration.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(USAGE, message)
    }

    /// Unavailable port, device or folder.
    pub(crate) fn unavailable(message: impl Display) -> Self {
        Self::new(UNAVAILABLE, message)
    }

    /// Internal error: a bug.
    pub(crate) fn bug(message: impl Display) -> Self {
        Self::new(SOFTWARE, message)
    }

    /// Invalid input data.
    pub(crate) fn data(message: impl Display) -> Self {
        Self::new(DATA, message)
    }

    /// Missing input.
    pub(crate) fn no_input(message: impl Display) -> Self {
        Self::new(NO_INPUT, message)
    }

    /// Failed read or write.
    pub(crate) fn io(message: impl Display) -> Self {
        Self::new(IO, message)
    }

    /// Early end of a part of a run, with the exit code of that part.
    pub(crate) fn ended(status: ExitStatus, message: impl Display) -> Self {
        Self::new(status as u8, message)
    }

    /// File that cannot be read. A missing file and one of other content have their own exit codes.
    pub(crate) fn read(what: impl Display, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => {
                Self::no_input(format_args!("{what}: nothing is there; check the path"))
            }
            io::ErrorKind::InvalidData => Self::data(format_args!("{what}: {error}")),
            io::ErrorKind::PermissionDenied => {
                Self::io(format_args!("{what}: {error}; make it readable or name another file"))
            }
            _ => Self::io(format_args!("{what}: {error}")),
        }
    }

    /// File that cannot be written. `option` is the option that names it.
    pub(crate) fn write(path: impl Display, option: &str, error: &io::Error) -> Self {
        Self::io(format_args!(
            "cannot write {path}: {error}; free space or name another file with {option}"
        ))
    }

    /// Unusable settings file. A missing file has its own exit code.
    pub(crate) fn unreadable(error: FileError) -> Self {
        match &error {
            FileError::Read { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => Self::no_input(error),
                // Its content is wrong: too long, or not text.
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Self::usage(error),
                _ => Self::io(error),
            },
            _ => Self::usage(error),
        }
    }

    /// Whether standard output has no reader any more.
    pub(crate) fn has_no_reader(&self) -> bool {
        self.silent
    }

    /// Prints the message as one line and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        if self.silent {
            return ExitCode::SUCCESS;
        }
        let line = self.message.lines().map(str::trim).collect::<Vec<_>>().join("; ");
        // A failed write is ignored: without standard error there is no place to report it.
        let _ = writeln!(io::stderr(), "error: {}", printable(&line));
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
