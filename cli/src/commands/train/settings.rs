//! The settings of a run, as in its `run.toml`.

use std::path::Path;

use clap::ValueEnum;
use ouro_actor::ActorConfig;
use ouro_actor::worker::Swap;
use ouro_arena::config::MatchConfig;
use ouro_game::GameConfig;
use ouro_learner::algorithm::AlgorithmConfig;
use ouro_learner::config::{IntakeConfig, ReplayConfig, TrainConfig};
use ouro_net::Architecture;
use ouro_players::Shares;
use ouro_search::SearchConfig;
use ouro_search::mcts::Objective;
use ouro_service::config;
use serde::{Deserialize, Serialize};

use super::preset::Preset;
use crate::failure::Failure;

/// Everything that is settled when a run begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// Seed of everything random.
    pub(crate) seed: u64,
    /// Optimiser steps between two generations.
    pub(crate) generation_steps: u64,
    /// The game.
    pub(crate) game: GameConfig,
    /// The network's layers.
    pub(crate) net: Architecture,
    /// How games are played for training.
    pub(crate) actor: ActorSettings,
    /// The update rule.
    pub(crate) train: TrainConfig,
    /// How long games are learned from, and how often.
    pub(crate) replay: ReplayConfig,
    /// What the learner lets in.
    pub(crate) intake: IntakeConfig,
    /// How candidates are judged.
    pub(crate) arena: MatchConfig,
}

/// How games are played for training; see [`ActorConfig`] for each field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ActorSettings {
    pub(crate) games_per_thread: usize,
    pub(crate) batch: usize,
    pub(crate) epsilon: f32,
    pub(crate) opening_plies: u32,
    pub(crate) swap: Swap,
    pub(crate) max_plies: usize,
    pub(crate) remembered_positions: usize,
    pub(crate) outbox_games: usize,
    /// Whether a line is written to `actor/records.log` for each game sent or acknowledged.
    pub(crate) log_records: bool,
    pub(crate) opponents: Shares,
    pub(crate) search: Option<SearchConfig>,
}

impl Default for ActorSettings {
    fn default() -> Self {
        let game = GameConfig::TicTacToe(ouro_game::tic_tac_toe::Config {});
        let usual = ActorConfig::new(game, String::new(), String::new());
        Self {
            games_per_thread: usual.games_per_thread,
            batch: usual.batch,
            epsilon: usual.epsilon,
            opening_plies: usual.opening_plies,
            swap: usual.swap,
            max_plies: usual.max_plies,
            remembered_positions: usual.remembered_positions,
            outbox_games: usual.outbox_games,
            log_records: false,
            opponents: usual.opponents,
            search: usual.search,
        }
    }
}

impl Settings {
    /// A file of a person's own: what it does not say is taken from the preset that its key
    /// `preset` names.
    pub(crate) fn load(path: &Path) -> Result<Self, Failure> {
        let mut said = config::load_table(path).map_err(Failure::usage)?;
        let preset = match said.remove("preset") {
            None => Preset::default(),
            Some(name) => {
                let known = name.as_str().and_then(|name| Preset::from_str(name, false).ok());
                known.ok_or_else(|| Failure::usage(unknown_preset(path, &name)))?
            }
        };
        let mut table = toml::Table::try_from(preset.settings()).map_err(Failure::bug)?;
        config::merge(&mut table, said);
        config::read(path, table).map_err(Failure::usage)
    }
}

impl Settings {
    /// What no part can see alone: that playing and training mean the same by a value.
    pub(crate) fn check(&self) -> Result<(), String> {
        let AlgorithmConfig::AlphaZero(_) = self.train.algorithm else {
            return match self.actor.search {
                None => Ok(()),
                Some(_) => Err("actor.search is set, but REINFORCE learns from moves drawn from \
                     the policy itself; start from preset = \"reinforce-duel\", or \
                     choose train.algorithm.kind = \"alphazero\""
                    .to_owned()),
            };
        };
        let Some(search) = &self.actor.search else {
            return Err(
                "actor.search is missing, but AlphaZero learns what a search found; write \
                 [actor.search] with the number of simulations, or choose \
                 train.algorithm.kind = \"reinforce\""
                    .to_owned(),
            );
        };
        if search.discount.to_bits() != self.train.gamma.to_bits() {
            return Err(format!(
                "actor.search.discount is {} and train.gamma {}; write the same number for both",
                search.discount, self.train.gamma
            ));
        }
        if search.objective != Objective::Outcome {
            return Err(
                "actor.search.objective is \"returns\", but AlphaZero learns outcomes here; \
                 write \"outcome\""
                    .to_owned(),
            );
        }
        Ok(())
    }
}

fn unknown_preset(path: &Path, name: &toml::Value) -> String {
    let known: Vec<&str> = Preset::value_variants().iter().map(|known| known.name()).collect();
    format!("config {}: preset is {name}; known are {}", path.display(), known.join(", "))
}

impl Default for Settings {
    /// Those of the preset that is used when none is named.
    fn default() -> Self {
        Preset::default().settings()
    }
}
