//! `ouro config`: what a run can be told, what is wrong with what it is told, and what each key
//! means.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use ouro_service::config;

use super::train::preset::Preset;
use super::train::settings::{Settings, Source};
use crate::failure::Failure;
use crate::output::Output;

mod check;
mod explain;
mod keys;
mod range;

/// Settings of a run: print, check, explain.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  ouro config print tictactoe > my.toml
  ouro config check my.toml
  ouro config explain actor.search.simulations
  ouro train --config my.toml --run runs/mine")]
pub(crate) enum Config {
    Print(Print),
    Check(Check),
    Explain(Explain),
}

/// Print whole settings as TOML.
#[derive(Debug, Args)]
pub(crate) struct Print {
    /// A preset, or a file, whose gaps are filled from the preset that it names.
    #[arg(value_name = "PRESET|FILE", default_value = Preset::default().name())]
    what: String,
}

/// Say everything that is wrong with a file of settings.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Settings as for `ouro train --config`, or the run.toml of a run.
    file: PathBuf,
}

/// Say what a key means, what it may be, and what it is in each preset.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A key or a table, such as train.learning_rate; left out, every key is listed.
    key: Option<String>,
}

impl Config {
    /// Runs the verb.
    pub(super) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        match self {
            Self::Print(Print { what }) => print(&what, output),
            Self::Check(Check { file }) => check::run(&file, output),
            Self::Explain(Explain { key }) => explain::run(key.as_deref(), output),
        }
    }
}

fn print(what: &str, output: &mut Output) -> Result<ExitCode, Failure> {
    let path = Path::new(what);
    let (preset, settings) = match Preset::from_str(what, false) {
        Ok(preset) => (Some(preset), preset.settings()),
        Err(_) if !path.exists() => {
            let known: Vec<&str> =
                Preset::value_variants().iter().map(|preset| preset.name()).collect();
            let known = known.join(", ");
            return Err(Failure::no_input(format_args!(
                "{what} is neither a preset nor a file; presets are {known}"
            )));
        }
        Err(_) => {
            let Source { preset, table, .. } = Source::read(path)?;
            (preset, config::read(path, table).map_err(Failure::usage)?)
        }
    };
    // What a preset leaves out cannot be written down but by its name.
    let preset = preset.map(|preset| format!("preset = \"{}\"\n", preset.name()));
    let text = toml::to_string::<Settings>(&settings).map_err(Failure::bug)?;
    output.result(&settings, format_args!("{}{text}", preset.unwrap_or_default()))?;
    Ok(ExitCode::SUCCESS)
}
