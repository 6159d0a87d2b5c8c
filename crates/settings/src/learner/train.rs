//! How a network is trained.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::algorithm::AlgorithmConfig;
use super::optimizer::{OptimizerConfig, WeightAveraging};
use super::schedule::LearningRateSchedule;
use crate::error::SettingError;
use crate::schema::check_ranges;

/// The update rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrainConfig {
    /// Rows per optimiser step. Fixed, because GPU kernels are tuned to one shape.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub batch_moves: usize,
    /// Factor of every reward. REINFORCE only.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub reward_scale: f32,
    /// Learning rate after the warm-up, before the schedule.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub learning_rate: f64,
    /// Steps over which the learning rate rises linearly; 0 for none.
    pub warmup_steps: u64,
    /// Decoupled weight decay. Each step shrinks weights by this times the learning rate; biases and norms keep their
    /// values. Over a run, weights shrink by `exp(-weight_decay · sum of the learning rates)`: 0.05 % for 0.0001 and
    /// 4,700 steps of 0.001 on average.
    #[schemars(range(min = 0, max = 1))]
    pub weight_decay: f32,
    /// The gradient of all parameters together is scaled down to this L2 norm.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max_gradient_norm: f32,
    /// Weight of each batch in batch norm's running statistics.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1))]
    pub norm_momentum: f32,
    /// Whether each position is seen under a random symmetry of its board.
    pub augment: bool,
    /// Steps between two readings of the loss. A reading waits for the device.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub report_every: u64,
    /// The algorithm, which decides what the network learns.
    pub algorithm: AlgorithmConfig,
    /// How a gradient becomes a step.
    pub optimizer: OptimizerConfig,
    /// How the learning rate changes over the run.
    pub schedule: LearningRateSchedule,
    /// Which weights are published.
    pub average: WeightAveraging,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            batch_moves: 1_024,
            reward_scale: 1.0,
            learning_rate: 1e-3,
            warmup_steps: 20,
            weight_decay: 0.0,
            max_gradient_norm: 1.0,
            norm_momentum: 0.1,
            augment: true,
            report_every: 10,
            algorithm: AlgorithmConfig::default(),
            optimizer: OptimizerConfig::default(),
            schedule: LearningRateSchedule::default(),
            average: WeightAveraging::default(),
        }
    }
}

impl TrainConfig {
    /// Step size of the step after `step` earlier steps. A pure function: a resumed run continues
    /// the schedule without saved state.
    pub fn learning_rate_at(&self, step: u64) -> f64 {
        let warmup = match self.warmup_steps {
            0 => 1.0,
            steps => ((step + 1) as f64 / steps as f64).min(1.0),
        };
        self.learning_rate * warmup * self.schedule.factor(step)
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_ranges("train", self)?;
        self.schedule.validate()?;
        self.algorithm.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_size_rises_then_halves() {
        let train = TrainConfig {
            learning_rate: 1.0,
            warmup_steps: 4,
            schedule: LearningRateSchedule::HalfLife { steps: 100 },
            ..TrainConfig::default()
        };
        assert!((train.learning_rate_at(0) - 0.25).abs() < 1e-12);
        let later = train.learning_rate_at(200);
        assert!((later - 0.25).abs() < 1e-12, "{later}");
    }
}
