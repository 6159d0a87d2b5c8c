//! `ouro bench`: how fast this machine is, with the median and the spread of several runs.

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output::Output;

mod game;
mod machine;
mod timing;

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Turns per second of random games, on one core and on all.
    Game(game::Arguments),
}

impl Bench {
    pub(super) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        match self {
            Self::Game(arguments) => game::run(&arguments, output),
        }
    }
}
