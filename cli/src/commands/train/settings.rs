//! The settings of a run, as in its `run.toml`.

use std::path::Path;

use clap::ValueEnum;
use ouro_actor::PlayConfig;
use ouro_arena::config::MatchConfig;
use ouro_game::GameConfig;
use ouro_learner::config::{IntakeConfig, ReplayConfig, TrainConfig};
use ouro_net::Architecture;
use ouro_service::config;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::preset::Preset;
use crate::failure::Failure;

mod problem;

/// Everything that is settled when a run begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    pub(crate) actor: PlayConfig,
    /// The update rule.
    pub(crate) train: TrainConfig,
    /// How long games are learned from, and how often.
    pub(crate) replay: ReplayConfig,
    /// What the learner lets in.
    pub(crate) intake: IntakeConfig,
    /// How candidates are judged.
    pub(crate) arena: MatchConfig,
}

impl Settings {
    /// A file of a person's own: what it does not say is taken from the preset that its key
    /// `preset` names.
    pub(crate) fn load(path: &Path) -> Result<Self, Failure> {
        let mut said = config::load_table(path).map_err(Failure::unreadable)?;
        let preset = preset_of(path, &mut said)?;
        let mut table = preset.table()?;
        config::merge(&mut table, said);
        config::read(path, table).map_err(Failure::usage)
    }
}

/// Takes the key `preset` out of what a file says.
pub(crate) fn preset_of(path: &Path, said: &mut toml::Table) -> Result<Preset, Failure> {
    let Some(name) = said.remove("preset") else { return Ok(Preset::default()) };
    let known = name.as_str().and_then(|name| Preset::from_str(name, false).ok());
    known.ok_or_else(|| Failure::usage(unknown_preset(path, &name)))
}

impl Preset {
    /// The settings as in a file.
    pub(crate) fn table(self) -> Result<toml::Table, Failure> {
        toml::Table::try_from(self.settings()).map_err(Failure::bug)
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
