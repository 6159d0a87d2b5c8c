//! Configuration of a Battlesnake game: ruleset, board, snakes and settings.

use std::fmt::Display;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::position::{MAX_SIDE, MAX_SNAKES, MIN_SIDE, Position};
use crate::error::ConfigError;

/// The game's name.
pub const NAME: &str = "battlesnake";

/// The official rulesets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruleset {
    /// Last snake alive wins.
    #[default]
    Standard,
    /// The game lasts until no snake is alive.
    Solo,
    /// Standard, with hazards that close in.
    Royale,
    /// Standard on a torus.
    Wrapped,
    /// Every snake grows every turn; no food.
    Constrictor,
    /// Constrictor on a torus.
    WrappedConstrictor,
}

/// The official maps, which place food and hazards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Map {
    /// Food as in `foodSpawnChance` and `minimumFood`.
    #[default]
    Standard,
    /// No food at all, ever.
    Empty,
    /// Food as in `standard`, hazards as in the royale ruleset.
    Royale,
}

/// Rewards that [`Game::returns`](crate::Game::returns) adds up. The rules do not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rewards {
    /// For dying.
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub death: f32,
    /// For every turn survived.
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub turn: f32,
    /// For every food eaten; 0 under constrictor rulesets, where growth is automatic.
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub food: f32,
    /// For being the only snake left.
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub win: f32,
}

impl Default for Rewards {
    fn default() -> Self {
        Self { death: -1.0, turn: 0.01, food: 1.0, win: 5.0 }
    }
}

/// One game of Battlesnake. Field names follow the official settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The ruleset.
    pub ruleset: Ruleset,
    /// The map.
    pub map: Map,
    /// Whether the game lasts until no snake is alive, whatever the ruleset.
    pub solo: bool,
    /// Columns, 3 to 25.
    #[schemars(range(min = MIN_SIDE, max = MAX_SIDE))]
    pub width: u8,
    /// Rows, 3 to 25.
    #[schemars(range(min = MIN_SIDE, max = MAX_SIDE))]
    pub height: u8,
    /// Snakes, 1 to 16 as far as the placement allows.
    #[schemars(range(min = 1, max = MAX_SNAKES))]
    pub snakes: u8,
    /// Food appears with probability (this − 1) % a turn, as in the engine; 0 to 100.
    #[schemars(range(min = 0, max = 100))]
    pub food_spawn_chance: u8,
    /// Food is topped up to this many.
    pub minimum_food: u16,
    /// Health lost in a hazard on top of the 1 of every turn; negative heals. −100 to 100.
    #[schemars(range(min = -100, max = 100))]
    pub hazard_damage_per_turn: i16,
    /// Turns between two shrinks of a royale board, at least 1; other boards ignore it.
    pub shrink_every_n_turns: u32,
    /// Rewards for training.
    pub rewards: Rewards,
    /// Result of the snakes that die last if no snake survives, from −1 for a loss to 1 for a win. Left
    /// out: 0.
    ///
    /// A value below 0 makes a head-to-head collision of equally long snakes costly. With 0, two
    /// players value a draw like the start of a game and collide at the first contested cell.
    ///
    /// With more than two snakes, a value below −0.9 counts as −0.9. The snakes that die last thereby
    /// rank above those that died before.
    #[schemars(range(min = -1, max = 1))]
    pub draw: f32,
    /// Start from this position instead of the official placement.
    pub start: Option<Position>,
}

/// The lowest outcome of a draw among more than two snakes.
const LOWEST_DRAW: f32 = -0.9;

impl Config {
    /// Outcome of the snakes that die last if no snake survives. Above −1 with more than two snakes.
    pub fn draw_outcome(&self) -> f32 {
        if self.snakes > 2 { self.draw.max(LOWEST_DRAW) } else { self.draw }
    }

    /// Whether hazards close in on the board.
    pub fn is_royale(&self) -> bool {
        self.ruleset == Ruleset::Royale || self.map == Map::Royale
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ruleset: Ruleset::Standard,
            map: Map::Standard,
            solo: false,
            width: 11,
            height: 11,
            snakes: 4,
            food_spawn_chance: 15,
            minimum_food: 1,
            hazard_damage_per_turn: 14,
            shrink_every_n_turns: 25,
            rewards: Rewards::default(),
            draw: 0.0,
            start: None,
        }
    }
}

/// A configuration error of this game.
pub(super) fn config_error(
    field: &'static str,
    value: &dyn Display,
    remedy: impl Into<String>,
) -> ConfigError {
    ConfigError::new(NAME, field, value, remedy)
}
