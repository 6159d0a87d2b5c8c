//! Reads and checks the settings of a run, in terms of the command line.

use std::path::Path;

use ouro_actor::{ActorConfig, ActorError};
use ouro_arena::ArenaConfig;
use ouro_arena::config::ConfigError;
use ouro_arena::store::Run;
use ouro_settings::Settings;

use crate::failure::Failure;

/// An invalid setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The invalid key, or the innermost table around it.
    pub(super) key: String,
    /// Error message: the key, its value and the remedy.
    pub(super) text: String,
}

/// Reads the settings in a file; does not validate their values.
pub(super) fn load(path: &Path) -> Result<Settings, Failure> {
    Settings::load(path).map_err(Failure::unreadable)
}

/// Returns the first invalid setting, if any. In addition to the checks that all processes share,
/// the arena and an actor build every player that the settings name.
pub(super) fn problem(settings: &Settings) -> Option<Problem> {
    if let Err(error) = settings.validate() {
        return Some(Problem { key: error.key.clone(), text: error.to_string() });
    }
    problem_of_arena(settings).or_else(|| problem_of_actor(settings))
}

fn problem_of_arena(settings: &Settings) -> Option<Problem> {
    let run = Run { game: settings.game.clone(), seed: settings.seed };
    let (matches, net) = (settings.arena.clone(), settings.net_spec().ok());
    let config = ArenaConfig { matches, net, ..ArenaConfig::new(run, "") };
    let error = config.validate().err()?;
    let key = match &error {
        ConfigError::Setting(error) => error.key.clone(),
        ConfigError::Player { key, .. } => format!("arena.{key}"),
        ConfigError::Weightless(_) => "arena.player".to_owned(),
        ConfigError::LongAnchor(_) => "arena.anchors".to_owned(),
        ConfigError::Gate(_) => "arena.gate".to_owned(),
        ConfigError::Weights(_) => "deploy.weights".to_owned(),
    };
    Some(Problem { key, text: error.to_string() })
}

fn problem_of_actor(settings: &Settings) -> Option<Problem> {
    let config = ActorConfig::of_run(settings, Path::new(""), String::new(), String::new());
    let error = config.check_play().err()?;
    let (key, text) = match &error {
        ActorError::Play(error) => (error.key(), error.to_string()),
        error => ("actor", error.to_string()),
    };
    Some(Problem { key: key.to_owned(), text })
}

#[cfg(test)]
mod tests {
    use ouro_settings::Preset;

    use super::*;

    #[test]
    fn the_arenas_player_is_checked_with_the_network_of_the_run() {
        let problem_of = |preset: Preset, player: &str| {
            let mut settings = preset.settings();
            settings.arena.player = player.to_owned();
            problem(&settings)
        };
        // The network learns returns, in which a draw has no worth.
        let drawing = problem_of(Preset::ReinforceDuel, "mcts{sims=32,weights=self,draw=-0.5}");
        assert_eq!(drawing.expect("refused").key, "arena.player");
        // The game has one player, and the network learns outcomes.
        assert_eq!(problem_of(Preset::MazeDash, "minimax{depth=4,weights=self}"), None);
        // An evaluation takes as long as about a hundred positions.
        let deep = problem_of(Preset::Duel7x7, "minimax{depth=18,weights=self}");
        assert!(deep.expect("refused").text.ends_with("with this network; give a smaller depth"));
    }
}
