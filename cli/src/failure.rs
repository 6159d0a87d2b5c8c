//! The failure of a command: a message and an exit code.
//!
//! The codes are those of BSD `sysexits`, so that scripts can tell a typo from a missing
//! service without reading the message.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use ouro_service::ExitStatus;
use ouro_settings::FileError;

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
/// Input that is missing.
const NO_INPUT: u8 = 66;
/// Something else that is not available.
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
    /// Whether the reader of standard output is gone, so that nothing is printed.
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

    /// A port, a device or a folder that is not available.
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

    /// Input that is missing.
    pub(crate) fn no_input(message: impl Display) -> Self {
        Self::new(NO_INPUT, message)
    }

    /// A failed read or write.
    pub(crate) fn io(message: impl Display) -> Self {
        Self::new(IO, message)
    }

    /// A part of a run that ended early.
    pub(crate) fn ended(status: ExitStatus, message: impl Display) -> Self {
        Self::new(status as u8, message)
    }

    /// A file that could not be read. A missing file has a code of its own.
    pub(crate) fn read(what: impl Display, error: &io::Error) -> Self {
        let code = if error.kind() == io::ErrorKind::NotFound { NO_INPUT } else { IO };
        Self::new(code, format_args!("{what}: {error}"))
    }

    /// A settings file that cannot be used. A missing file has a code of its own.
    pub(crate) fn unreadable(error: FileError) -> Self {
        match &error {
            FileError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
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
        // If standard error is closed too, there is no reader.
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
