//! `ouro snakgame`: both sides of the contest's protocol.

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output::Output;

mod conversation;
mod game_record;
mod judge;
mod play;
mod program;

/// Play SNAKGAME in the contest's protocol.
#[derive(Debug, Subcommand)]
pub(crate) enum Snakgame {
    Judge(judge::Arguments),
    Play(play::Arguments),
}

impl Snakgame {
    pub(super) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        match self {
            Self::Judge(arguments) => judge::run(&arguments, output),
            Self::Play(arguments) => play::run(&arguments, output),
        }
    }
}
