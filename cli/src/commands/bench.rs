//! `ouro bench`: the speed of each part on this machine, as median and spread of several runs.

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output::Output;

mod game;
mod gpu;
mod ingest;
mod learner;
mod machine;
mod maze_dash;
mod net;
mod search;
mod snakgame;
mod timing;

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Turns per second of random games, on one core and on all.
    Game(game::Arguments),
    /// Positions per second that a learner receives: gRPC, replay, journal, acknowledgement.
    Ingest(ingest::Arguments),
    /// Microseconds per position of the network on one core, every preset.
    Net(net::Arguments),
    /// Optimiser steps per second of the learner, on the CPU or a GPU.
    Learner(learner::Arguments),
    /// What a GPU does for the learner: agreement with the CPU, steps, the time between kernels.
    Gpu(gpu::Arguments),
    /// Simulations per second of tree search on one core, and the time outside the network.
    Search(search::Arguments),
    MazeDash(maze_dash::Arguments),
    Snakgame(snakgame::Arguments),
}

impl Bench {
    pub(super) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        match self {
            Self::Game(arguments) => game::run(&arguments, output),
            Self::Ingest(arguments) => ingest::run(&arguments, output),
            Self::Net(arguments) => net::run(&arguments, output),
            Self::Learner(arguments) => learner::run(&arguments, output),
            Self::Gpu(arguments) => gpu::run(&arguments, output),
            Self::Search(arguments) => search::run(&arguments, output),
            Self::MazeDash(arguments) => maze_dash::run(&arguments, output),
            Self::Snakgame(arguments) => snakgame::run(&arguments, output),
        }
    }
}
