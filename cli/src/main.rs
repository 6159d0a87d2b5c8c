//! `ouro`: one command to train, play and inspect games.
//!
//! Data goes to standard output, one-line errors to standard error. The exit code classifies
//! failures (see [`failure`]). A reader that closes the pipe early is not an error.

mod clock;
mod commands;
mod failure;
mod output;

use std::process::ExitCode;

use clap::Parser;

use crate::commands::Command;
use crate::output::Output;

/// Self-play training for games, from one laptop to a cluster.
#[derive(Debug, Parser)]
#[command(name = "ouro", version, after_help = failure::EXIT_CODES)]
struct Arguments {
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    json: bool,
    /// What to do; without a command, `train`.
    #[command(subcommand)]
    command: Option<Command>,
}

fn main() -> ExitCode {
    quiet_display();
    let arguments: Arguments = match ouro_service::process::arguments() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let mut output = Output::stdout(arguments.json);
    let result = arguments.command.unwrap_or_default().run(&mut output).and_then(|code| {
        output.flush()?;
        Ok(code)
    });
    result.unwrap_or_else(|failure| failure.report())
}

/// Keeps Vulkan's layers from printing warnings on the terminal.
///
/// The layers look for a display even if they only compute. They warn if the variable that names
/// its folder is missing, but accept a folder without a display.
#[expect(unsafe_code, reason = "edition 2024 marks changes of the environment")]
#[expect(clippy::disallowed_methods, reason = "no other thread is there yet to race with")]
fn quiet_display() {
    const DISPLAYS: &str = "XDG_RUNTIME_DIR";
    if std::env::var_os(DISPLAYS).is_none() {
        // SAFETY: called first thing in `main`, while the process has a single thread.
        unsafe { std::env::set_var(DISPLAYS, "/nonexistent") };
    }
}
