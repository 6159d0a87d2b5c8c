//! Chores of the project, one command each: `cargo xtask <command>`.
//!
//! `ci` is the one door: everything a change must pass, in the order in which it fails
//! fastest.

mod budget;
mod ci;
mod layers;
mod mistakes;
mod shell;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <command>

  ci [--skip-tests]  budget, layers, format, lints, docs, tests, mistakes
  layers             no crate depends on a layer above its own
  budget             no source file is longer than 500 lines
  mistakes           20 rule mistakes planted in the Battlesnake engine are all caught";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ci"] => ci::run(ci::Tests::Run),
        ["ci", "--skip-tests"] => ci::run(ci::Tests::Skip),
        ["layers"] => layers::run(),
        ["budget"] => budget::run(),
        ["mistakes"] => mistakes::run(),
        _ => {
            shell::say(USAGE);
            return ExitCode::from(64);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            shell::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
