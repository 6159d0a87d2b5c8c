//! Which algorithm a run uses, with its settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{ConfigError, positive, range};

/// Which algorithm a run uses, with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AlgorithmConfig {
    /// Learn what a search found.
    #[serde(rename = "alphazero")]
    AlphaZero(AlphaZeroConfig),
    /// Learn from rewards alone.
    Reinforce(ReinforceConfig),
}

/// Which algorithm, without its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlgorithmName {
    /// Learn what a search found.
    AlphaZero,
    /// Learn from rewards alone.
    #[default]
    Reinforce,
}

impl AlgorithmName {
    /// As in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlphaZero => "alphazero",
            Self::Reinforce => "reinforce",
        }
    }
}

impl AlgorithmConfig {
    /// Checks every field.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let algorithm = |field: &str| format!("train.algorithm.{field}");
        match self {
            Self::AlphaZero(config) => {
                let share = |field, value| range(&algorithm(field), f64::from(value), 0.0, 1.0);
                share("root_value_share", config.root_value_share)?;
                share("surprise_share", config.surprise_share)?;
                let coefficient = f64::from(config.value_coefficient);
                range(&algorithm("value_coefficient"), coefficient, 0.0, 1e3)
            }
            Self::Reinforce(config) => {
                let coefficient = f64::from(config.value_coefficient);
                range(&algorithm("value_coefficient"), coefficient, 0.0, 1e3)?;
                let bonus = f64::from(config.entropy_bonus);
                range(&algorithm("entropy_bonus"), bonus, 0.0, 1e3)?;
                let cap = f64::from(config.ratio_cap);
                positive(&algorithm("ratio_cap"), cap)?;
                range(&algorithm("trace_cap"), f64::from(config.trace_cap), 0.0, cap)?;
                range(&algorithm("trace_decay"), f64::from(config.trace_decay), 0.0, 1.0)
            }
        }
    }

    /// Which algorithm it is.
    pub fn name(&self) -> AlgorithmName {
        match self {
            Self::AlphaZero(_) => AlgorithmName::AlphaZero,
            Self::Reinforce(_) => AlgorithmName::Reinforce,
        }
    }
}

impl Default for AlgorithmConfig {
    fn default() -> Self {
        Self::Reinforce(ReinforceConfig::default())
    }
}

/// The numbers of AlphaZero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AlphaZeroConfig {
    /// Share of the search's root value in the value target, 0 to 1; the rest is the outcome.
    pub root_value_share: f32,
    /// Share of a game's weight that goes to its positions by how much the search surprised the
    /// network, 0 to 1; the rest is equal.
    pub surprise_share: f32,
    /// Weight of the squared value error.
    pub value_coefficient: f32,
}

impl Default for AlphaZeroConfig {
    fn default() -> Self {
        Self { root_value_share: 0.25, surprise_share: 0.5, value_coefficient: 1.0 }
    }
}

/// The numbers of REINFORCE. Rewards are the game's: see `game.rewards` in the configuration of
/// Battlesnake.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReinforceConfig {
    /// Weight of the squared value error.
    pub value_coefficient: f32,
    /// Weight of the policy's entropy, in nats.
    pub entropy_bonus: f32,
    /// Upper bound ρ̄ of the importance ratio where it corrects one step.
    pub ratio_cap: f32,
    /// Upper bound c̄ of the importance ratio where it lets later steps count; at most
    /// `ratio_cap`.
    pub trace_cap: f32,
    /// What later steps count for besides, λ, 0 to 1: 1 learns from whole returns, 0 from the
    /// next value alone.
    pub trace_decay: f32,
    /// Whether advantages are divided by their standard deviation over the batch. Their mean is
    /// not taken off: the value baseline centres them.
    pub normalize_advantage: bool,
    /// Moves of weights more than so many generations older than the newest are not learned
    /// from.
    pub max_lag: u32,
}

impl Default for ReinforceConfig {
    fn default() -> Self {
        Self {
            value_coefficient: 0.5,
            entropy_bonus: 0.01,
            ratio_cap: 1.0,
            trace_cap: 1.0,
            trace_decay: 1.0,
            normalize_advantage: false,
            max_lag: 16,
        }
    }
}
