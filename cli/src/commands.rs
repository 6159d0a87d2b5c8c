//! The subcommands of `ouro`, one file each.

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output::Output;

mod backup;
mod bench;
mod build;
mod check;
mod config;
mod conform;
mod count;
mod doctor;
mod entrants;
mod exam;
mod game_argument;
mod games;
mod generate;
mod included;
mod input;
mod line_file;
mod loss;
mod match_games;
mod method;
mod numbers;
mod purge;
mod record;
mod repair;
mod restore;
mod seconds;
mod serve;
mod settings;
mod show;
mod snakgame;
mod solve;
mod states;
mod stopped_run;
mod store;
mod strategy;
mod style;
mod token;
mod train;
mod tune;
mod weights;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Train(Box<train::Arguments>),
    #[command(subcommand)]
    Config(config::Config),
    /// List the included games.
    Games,
    /// Play a game at random and write its record.
    Record(record::Arguments),
    /// Step through a recorded game in the terminal.
    Show(show::Arguments),
    /// Measure how fast this machine is.
    #[command(subcommand)]
    Bench(bench::Bench),
    Check(check::Check),
    Doctor(doctor::Doctor),
    Repair(repair::Repair),
    Backup(backup::Backup),
    Restore(restore::Restore),
    States(states::States),
    Loss(loss::Loss),
    Purge(purge::Purge),
    #[command(subcommand)]
    Store(store::StoreCommand),
    #[command(subcommand)]
    Token(token::Token),
    Conform(conform::Conform),
    Match(match_games::Arguments),
    Serve(serve::Arguments),
    Tune(tune::Arguments),
    Exam(exam::Arguments),
    Generate(generate::Arguments),
    Solve(solve::Arguments),
    #[command(subcommand)]
    Snakgame(snakgame::Snakgame),
}

impl Default for Command {
    fn default() -> Self {
        Self::Train(Box::default())
    }
}

impl Command {
    /// Runs the subcommand and returns its exit code.
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        match self {
            Self::Train(arguments) => train::run(&arguments, output),
            Self::Config(config) => config.run(output),
            Self::Games => games::run(output),
            Self::Record(arguments) => record::run(&arguments, output),
            Self::Show(arguments) => show::run(&arguments, output),
            Self::Bench(bench) => bench.run(output),
            Self::Check(verb) => verb.run(output),
            Self::Doctor(verb) => verb.run(output),
            Self::Repair(verb) => verb.run(output),
            Self::Backup(verb) => verb.run(output),
            Self::Restore(verb) => verb.run(output),
            Self::States(verb) => verb.run(output),
            Self::Loss(verb) => verb.run(output),
            Self::Purge(verb) => verb.run(output),
            Self::Store(verb) => verb.run(output),
            Self::Token(verb) => verb.run(output),
            Self::Conform(verb) => verb.run(output),
            Self::Match(arguments) => match_games::run(&arguments, output),
            Self::Serve(arguments) => serve::run(&arguments, output),
            Self::Tune(arguments) => tune::run(&arguments, output),
            Self::Exam(arguments) => exam::run(&arguments, output),
            Self::Generate(arguments) => generate::run(&arguments, output),
            Self::Solve(arguments) => solve::run(&arguments, output),
            Self::Snakgame(verb) => verb.run(output),
        }
    }
}
