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

/// Name of the file in the folder of a run.
pub(crate) const SETTINGS_FILE: &str = "run.toml";

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

/// A file of settings, before its keys are looked at.
pub(crate) struct Source {
    /// What its gaps were filled from.
    pub(crate) preset: Option<Preset>,
    /// The preset's settings; the default one's where gaps are not filled.
    pub(crate) base: toml::Table,
    /// What the file says, with its gaps filled.
    pub(crate) table: toml::Table,
}

impl Source {
    /// Reads a file of a person's own: what it does not say is taken from the preset that its
    /// key `preset` names. The file of a run says everything itself, and what it leaves out is
    /// not set.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let mut said = config::load_table(path).map_err(Failure::unreadable)?;
        let named = said.remove("preset");
        let is_run = path.file_name().is_some_and(|name| name == SETTINGS_FILE);
        if is_run && named.is_none() {
            return Ok(Self { preset: None, base: Preset::default().table()?, table: said });
        }
        let preset = match named {
            None => Preset::default(),
            Some(name) => {
                let known = name.as_str().and_then(|name| Preset::from_str(name, false).ok());
                known.ok_or_else(|| Failure::usage(unknown_preset(path, &name)))?
            }
        };
        let base = preset.table()?;
        let mut table = base.clone();
        config::merge(&mut table, said);
        Ok(Self { preset: Some(preset), base, table })
    }
}

impl Settings {
    /// What a file comes to; see [`Source::read`].
    pub(crate) fn load(path: &Path) -> Result<Self, Failure> {
        config::read(path, Source::read(path)?.table).map_err(Failure::usage)
    }
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
