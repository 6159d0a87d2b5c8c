//! The verbs, one file each.

mod conform;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output::Output;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Conform(conform::Conform),
}

impl Command {
    /// Runs the verb and gives the exit code.
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        match self {
            Self::Conform(verb) => verb.run(output),
        }
    }
}
