//! Reads and checks the settings of a run, in terms of the command line.

use std::path::Path;

use ouro_arena::ArenaConfig;
use ouro_arena::config::ConfigError;
use ouro_arena::store::Run;
use ouro_settings::Settings;

use crate::failure::Failure;

/// A setting that does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The key, or the innermost table that holds the problem.
    pub(super) key: String,
    /// The key, its value and the remedy.
    pub(super) text: String,
}

/// The settings in a file. Values are not checked yet.
pub(super) fn load(path: &Path) -> Result<Settings, Failure> {
    Settings::load(path).map_err(Failure::unreadable)
}

/// The first setting that does not work. Beyond the checks of all processes, the arena builds
/// every player that the settings name.
pub(super) fn problem(settings: &Settings) -> Option<Problem> {
    if let Err(error) = settings.validate() {
        return Some(Problem { key: error.key.clone(), text: error.to_string() });
    }
    let run = Run { game: settings.game.clone(), seed: settings.seed };
    let config = ArenaConfig { matches: settings.arena.clone(), ..ArenaConfig::new(run, "") };
    let error = config.validate().err()?;
    let key = match &error {
        ConfigError::Setting(error) => error.key.clone(),
        ConfigError::Player { key, .. } => format!("arena.{key}"),
        ConfigError::Weightless(_) => "arena.player".to_owned(),
        ConfigError::Gate(_) => "arena.gate".to_owned(),
    };
    Some(Problem { key, text: error.to_string() })
}
