//! Configuration of a Snake game: board, time limit and rewards.

use std::fmt::Display;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ConfigError;

/// The game's name.
pub(super) const NAME: &str = "snake";

/// Smallest side of a board.
pub const MIN_SIZE: u8 = 2;
/// Largest side of a board.
pub const MAX_SIZE: u8 = 21;
/// Largest time limit, in steps.
pub const MAX_TIME_LIMIT: u32 = 1_000_000;
/// The paper's discount per time step.
pub const DISCOUNT: f64 = 0.98;

/// Default time limit in steps per cell of the board: the paper's 1,200 on its 100 cells.
const STEPS_PER_CELL: u32 = 12;

/// One game of Snake.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Rows and columns, 2 to 21.
    #[schemars(range(min = MIN_SIZE, max = MAX_SIZE))]
    pub size: u8,
    /// Steps after which the game is over, 1 to 1,000,000. By default it is 12 steps per cell:
    /// the paper's 1,200 on 10×10, and as many rounds of the board on any other size.
    #[schemars(range(min = 1, max = MAX_TIME_LIMIT))]
    pub time_limit: Option<u32>,
    /// Rewards for training.
    pub rewards: Rewards,
}

impl Default for Config {
    fn default() -> Self {
        Self { size: 10, time_limit: None, rewards: Rewards::default() }
    }
}

/// Rewards that [`Game::returns`](crate::Game::returns) adds up. The rules do not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rewards {
    /// For every apple.
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub apple: f32,
    /// For having no legal action.
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub loss: f32,
    /// For filling the board.
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub win: f32,
}

impl Default for Rewards {
    fn default() -> Self {
        Self { apple: 1.0, loss: -10.0, win: 10.0 }
    }
}

impl Config {
    /// Cells of the board.
    pub fn cells(&self) -> usize {
        usize::from(self.size) * usize::from(self.size)
    }

    /// Steps after which the game is over.
    pub fn limit(&self) -> u32 {
        self.time_limit.unwrap_or(STEPS_PER_CELL * self.cells() as u32)
    }

    /// Checks every field; the error names the first that is out of range.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if !(MIN_SIZE..=MAX_SIZE).contains(&self.size) {
            let remedy = format!("boards are {MIN_SIZE} to {MAX_SIZE} wide and high");
            return Err(config_error("size", &self.size, remedy));
        }
        if !(1..=MAX_TIME_LIMIT).contains(&self.limit()) {
            let remedy = format!("it is 1 to {MAX_TIME_LIMIT} steps");
            return Err(config_error("time_limit", &self.limit(), remedy));
        }
        let Rewards { apple, loss, win } = self.rewards;
        for (field, reward) in
            [("rewards.apple", apple), ("rewards.loss", loss), ("rewards.win", win)]
        {
            if !reward.is_finite() || reward.abs() > 1e6 {
                return Err(config_error(field, &reward, "it is -1000000 to 1000000"));
            }
        }
        Ok(())
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
