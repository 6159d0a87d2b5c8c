//! How a network is trained.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::algorithm::AlgorithmConfig;
use super::error::{ConfigError, count, positive, range};
use super::schedule::LearningRateSchedule;
use crate::optimizer::OptimizerConfig;
use crate::weight_average::WeightAveraging;

/// The update rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrainConfig {
    /// Rows per optimiser step. Fixed, since GPU kernels are tuned to one shape.
    pub batch_moves: usize,
    /// Discount per time step, above 0 and at most 1.
    pub gamma: f32,
    /// Every reward is multiplied by this before it is summed.
    pub reward_scale: f32,
    /// Step size after the warm-up, before the schedule.
    pub learning_rate: f64,
    /// Steps over which the step size rises linearly; 0 for none.
    pub warmup_steps: u64,
    /// Decoupled weight decay; biases and norms do not decay.
    pub weight_decay: f32,
    /// The gradient of all parameters together is scaled down to this L2 norm.
    pub max_gradient_norm: f32,
    /// How far batch norm's running statistics move towards those of each batch.
    pub norm_momentum: f32,
    /// Whether each position is seen under a random symmetry of its board.
    pub augment: bool,
    /// The loss is read from the device every so many steps: reading waits for the device.
    pub report_every: u64,
    /// What the network is trained towards.
    pub algorithm: AlgorithmConfig,
    /// How a gradient becomes a step.
    pub optimizer: OptimizerConfig,
    /// How the step size changes over the run.
    pub schedule: LearningRateSchedule,
    /// Which weights are published.
    pub average: WeightAveraging,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            batch_moves: 1_024,
            gamma: 0.99,
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
    /// Step size of the step that follows `step` others. A pure function, so that a resumed
    /// run continues the schedule without any state.
    pub fn learning_rate_at(&self, step: u64) -> f64 {
        let warmup = match self.warmup_steps {
            0 => 1.0,
            steps => ((step + 1) as f64 / steps as f64).min(1.0),
        };
        self.learning_rate * warmup * self.schedule.factor(step)
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        positive("train.learning_rate", self.learning_rate)?;
        positive("train.max_gradient_norm", f64::from(self.max_gradient_norm))?;
        positive("train.reward_scale", f64::from(self.reward_scale))?;
        range("train.gamma", f64::from(self.gamma), f64::MIN_POSITIVE, 1.0)?;
        range("train.weight_decay", f64::from(self.weight_decay), 0.0, 1.0)?;
        range("train.norm_momentum", f64::from(self.norm_momentum), f64::MIN_POSITIVE, 1.0)?;
        count("train.batch_moves", self.batch_moves, 1, 1 << 20)?;
        count("train.report_every", self.report_every as usize, 1, 1 << 20)?;
        self.schedule.validate()?;
        // What is below 1 in f64.
        let below_one = 1.0 - f64::EPSILON;
        match self.optimizer {
            OptimizerConfig::AdamW { beta1, beta2, epsilon } => {
                range("train.optimizer.beta1", beta1, 0.0, below_one)?;
                range("train.optimizer.beta2", beta2, 0.0, below_one)?;
                positive("train.optimizer.epsilon", epsilon)?;
            }
            OptimizerConfig::Sgd { momentum } => {
                range("train.optimizer.momentum", momentum, 0.0, below_one)?;
            }
        }
        if let WeightAveraging::Exponential { every_steps, half_life_steps } = self.average {
            count("train.average.every_steps", every_steps as usize, 1, 1 << 20)?;
            count("train.average.half_life_steps", half_life_steps as usize, 1, 1 << 40)?;
        }
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
