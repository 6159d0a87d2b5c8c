//! Which algorithm a run uses, with its settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::SettingError;

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
    /// The name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlphaZero => "alphazero",
            Self::Reinforce => "reinforce",
        }
    }
}

impl AlgorithmConfig {
    /// Checks every field.
    pub(super) fn validate(&self) -> Result<(), SettingError> {
        if let Self::Reinforce(ReinforceConfig { trace_cap, ratio_cap, .. }) = self
            && trace_cap > ratio_cap
        {
            let remedy = "it must be at most train.algorithm.ratio_cap";
            return Err(SettingError::new("train.algorithm.trace_cap", trace_cap, remedy));
        }
        Ok(())
    }

    /// The name of the algorithm.
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
    /// Share of the search's root value in the value target. The rest is the outcome.
    #[schemars(range(min = 0, max = 1))]
    pub root_value_share: f32,
    /// Share of a game's weight that its positions get by how much the search surprised the
    /// network. The rest is spread evenly.
    #[schemars(range(min = 0, max = 1))]
    pub surprise_share: f32,
    /// Weight of the value loss: the squared error, or for outcome classes the sum of the losses of
    /// both targets.
    #[schemars(range(min = 0, max = 1_000))]
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
    #[schemars(range(min = 0, max = 1_000))]
    pub value_coefficient: f32,
    /// Weight of the policy's entropy, in nats.
    #[schemars(range(min = 0, max = 1_000))]
    pub entropy_bonus: f32,
    /// Upper bound ρ̄ of the importance ratio where it corrects one step.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub ratio_cap: f32,
    /// Upper bound c̄ of the importance ratio where it lets later steps count; at most
    /// `ratio_cap`.
    #[schemars(range(min = 0))]
    pub trace_cap: f32,
    /// Weight λ of later steps: 1 learns from whole returns, 0 from the next value alone.
    #[schemars(range(min = 0, max = 1))]
    pub trace_decay: f32,
    /// Whether advantages are divided by their standard deviation over the batch. Their mean is
    /// not subtracted: the value baseline centres them.
    pub normalize_advantage: bool,
    /// Largest age in generations of the weights that played a move. Older moves are not learned
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
