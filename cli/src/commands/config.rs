//! `ouro config`: prints settings, checks a file of settings, explains keys.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ouro_settings::{Preset, SETTINGS_FILE, Settings, Source};

use crate::failure::Failure;
use crate::output::Output;

mod check;
mod explain;

/// Settings of a run: print, check, explain.
///
/// One file holds the settings of `ouro train`, `ouro-arena`, `ouro-learner` and `ouro-actor`.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  ouro config print tictactoe > run.toml
  ouro config check run.toml
  ouro config explain actor.search.simulations
  ouro train --config run.toml")]
pub(crate) enum Config {
    Print(Print),
    Check(Check),
    Explain(Explain),
}

/// Print complete settings as TOML.
///
/// A run.toml without a preset is complete: optional keys that it leaves out are not set. Save its settings
/// under that name, because the gaps of any other file without a preset are filled from duel-7x7. The first
/// line then says so.
#[derive(Debug, Args)]
pub(crate) struct Print {
    /// A preset, or a settings file. The preset that the file names fills its gaps.
    #[arg(value_name = "PRESET|FILE", default_value = Preset::default().name())]
    what: String,
}

/// List everything that is wrong with a settings file.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// A settings file, such as the run.toml of a run.
    file: PathBuf,
}

/// Explain a key: meaning, type, range, default, value in each preset.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A key or a table, such as train.learning_rate; left out, every key is listed.
    key: Option<String>,
}

impl Config {
    /// Runs the command.
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
    let (preset, settings) = match what.parse::<Preset>() {
        Ok(preset) => (Some(preset), preset.settings()),
        Err(_) if !path.exists() => {
            let known = Preset::names().join(", ");
            return Err(Failure::no_input(format_args!(
                "{what} is neither a preset nor a file; presets are {known}"
            )));
        }
        Err(_) => {
            let source = Source::read(path).map_err(Failure::unreadable)?;
            (source.preset, source.into_settings(path).map_err(Failure::usage)?)
        }
    };
    // The first line names the preset, or the name under which a file without a preset is complete.
    let first = match preset {
        Some(preset) => format!("preset = \"{}\"", preset.name()),
        None => format!(
            "# Save as {SETTINGS_FILE}: under another name, gaps of a file without a preset are \
             filled from {}.",
            Preset::default().name()
        ),
    };
    let text = toml::to_string::<Settings>(&settings).map_err(Failure::bug)?;
    let mut text = format!("{first}\n{text}");
    // TOML has no value for an optional key that is not set, and the preset would set it.
    for key in preset.map(|preset| settings.keys_off(preset)).unwrap_or_default() {
        let (table, name) = key.rsplit_once('.').unwrap_or(("", &key));
        let head = if table.is_empty() { first.clone() } else { format!("[{table}]") };
        text = text.replacen(&format!("{head}\n"), &format!("{head}\n{name} = \"off\"\n"), 1);
    }
    output.result(&settings, text)?;
    Ok(ExitCode::SUCCESS)
}
