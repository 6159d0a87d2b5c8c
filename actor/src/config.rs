//! What an actor can be told.

use ouro_game::GameConfig;
use serde::{Deserialize, Serialize};

use crate::ActorError;

/// Settings of one actor process. Every key has a default except the game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActorConfig {
    /// Name of this actor, unique in the run.
    #[serde(default = "default_name")]
    pub name: String,
    /// The game to play; must be the learner's.
    pub game: GameConfig,
    /// Address of the arena, `http://host:port`.
    pub arena: String,
    /// Address of the learner, `http://host:port`.
    pub learner: String,
    /// Threads that play.
    #[serde(default = "default_threads")]
    pub threads: usize,
    /// Games that each thread plays at once; their moves share one network batch.
    #[serde(default = "default_games_per_thread")]
    pub games_per_thread: usize,
    /// Share of games in which every seat is held by the newest weights, 0 to 1. In the others
    /// one seat is, and the rest are drawn from the pool.
    #[serde(default = "default_self_play_share")]
    pub self_play_share: f64,
    /// Plies after which a game is cut short.
    #[serde(default = "default_max_plies")]
    pub max_plies: usize,
    /// Finished games kept until the learner has acknowledged them.
    #[serde(default = "default_outbox_games")]
    pub outbox_games: usize,
    /// Seed of everything random here but the epoch.
    #[serde(default)]
    pub seed: u64,
}

fn default_name() -> String {
    "actor".to_owned()
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn default_games_per_thread() -> usize {
    64
}

fn default_self_play_share() -> f64 {
    0.5
}

fn default_max_plies() -> usize {
    400
}

fn default_outbox_games() -> usize {
    256
}

impl ActorConfig {
    /// A configuration with every default, for a game and two addresses.
    pub fn new(game: GameConfig, arena: String, learner: String) -> Self {
        Self {
            name: default_name(),
            game,
            arena,
            learner,
            threads: default_threads(),
            games_per_thread: default_games_per_thread(),
            self_play_share: default_self_play_share(),
            max_plies: default_max_plies(),
            outbox_games: default_outbox_games(),
            seed: 0,
        }
    }

    /// Refuses values that cannot work, naming the field.
    pub fn validate(&self) -> Result<(), ActorError> {
        let at_least_one = [
            ("threads", self.threads),
            ("games_per_thread", self.games_per_thread),
            ("max_plies", self.max_plies),
            ("outbox_games", self.outbox_games),
        ];
        for (field, value) in at_least_one {
            if value == 0 {
                let remedy = "give at least 1".to_owned();
                return Err(ActorError::Config { field, value: value.to_string(), remedy });
            }
        }
        if !(0.0..=1.0).contains(&self.self_play_share) {
            return Err(ActorError::Config {
                field: "self_play_share",
                value: self.self_play_share.to_string(),
                remedy: "give a share from 0 to 1".to_owned(),
            });
        }
        if self.name.is_empty() || self.name.len() > 64 {
            return Err(ActorError::Config {
                field: "name",
                value: format!("{} bytes long", self.name.len()),
                remedy: "give 1 to 64 bytes".to_owned(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> ActorConfig {
        let game = GameConfig::TicTacToe(ouro_game::tic_tac_toe::Config::default());
        ActorConfig::new(game, "http://127.0.0.1:1".to_owned(), "http://127.0.0.1:2".to_owned())
    }

    #[test]
    fn the_defaults_are_valid_and_each_bad_value_is_named() {
        config().validate().expect("the defaults are valid");
        type Spoil = fn(&mut ActorConfig);
        let cases: [(&str, Spoil); 7] = [
            ("threads", |config| config.threads = 0),
            ("games_per_thread", |config| config.games_per_thread = 0),
            ("max_plies", |config| config.max_plies = 0),
            ("outbox_games", |config| config.outbox_games = 0),
            ("self_play_share", |config| config.self_play_share = f64::NAN),
            ("self_play_share", |config| config.self_play_share = 1.5),
            ("name", |config| config.name = String::new()),
        ];
        for (field, spoil) in cases {
            let mut config = config();
            spoil(&mut config);
            let error = config.validate().expect_err("a bad value is refused");
            assert!(error.to_string().contains(field), "{error}");
        }
    }
}
