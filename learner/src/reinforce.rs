//! REINFORCE with a learned baseline, corrected for the age of its data.
//!
//! The policy gradient of Williams (1992, "Simple statistical gradient-following algorithms for
//! connectionist reinforcement learning") with a state value as baseline (Sutton and Barto,
//! "Reinforcement Learning", 2nd edition, section 13.4). Actors play weights that are some steps
//! old, and mix in random moves; both are corrected by the truncated importance ratios of
//! [V-trace](mod@vtrace) between the current policy π and the probability μ that the action was
//! played with. With its value targets v and advantages A, and weights w:
//!
//! ```text
//! L = Σ w (−A log π(a|s)) / Σ w                    policy
//!   + value_coefficient · Σ w (V − v)² / Σ w       value
//!   − entropy_bonus · Σ w (−Σ π log π) / Σ w       entropy over legal actions
//! ```
//!
//! Advantages may be divided by their standard deviation over the batch; their mean stays. V centres
//! them already, state by state, and a mean that is left is news: moves that came out better than
//! expected on the whole. To take a constant c off changes nothing in expectation where actions
//! are drawn from π. These are drawn from μ: there it adds c · KL(μ ‖ π) to what is maximised, and
//! pushes π away from what was played, or towards it, whatever that earned.
//!
//! No gradient flows through A and v; both come from the same pass that is differentiated. With
//! batch norm that pass sees the statistics of its batch and play saw running ones, so that ratios
//! differ from 1 even for the weights that played; truncation then weighs steps a little low. Their
//! mean is reported with the loss.

mod course;
mod segments;
pub mod vtrace;

pub use course::{Course, Step, course};
pub use segments::Segments;

use burn::tensor::{Device, Int, Tensor, TensorData};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::algorithm::Algorithm;
use crate::loss::{DeviceLoss, column, entropy, log_policy};
use crate::model::{Outputs, read};
use crate::trainer::TrainError;
use vtrace::{Caps, vtrace};

/// Keeps a standard deviation from dividing by zero.
const ADVANTAGE_EPSILON: f64 = 1e-6;

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

/// The loss. See the [module](self).
#[derive(Clone, Debug)]
pub struct Reinforce {
    config: ReinforceConfig,
}

impl From<&ReinforceConfig> for Reinforce {
    fn from(config: &ReinforceConfig) -> Self {
        Self { config: config.clone() }
    }
}

/// What no gradient flows through, `[rows]` each.
#[derive(Clone, Debug, PartialEq)]
struct Fixed {
    advantages: Vec<f64>,
    targets: Vec<f64>,
    /// Weighted mean of the truncated ratios.
    ratio: f64,
}

impl Reinforce {
    /// Advantages and value targets at these network outputs: `chosen` is log π of the actions
    /// taken, both are `[rows]`.
    fn fix(&self, batch: &Segments, chosen: &[f32], values: &[f32]) -> Fixed {
        let Self { config } = self;
        let ratios: Vec<f64> = chosen
            .iter()
            .zip(&batch.behaviour)
            .map(|(&log, &played)| (f64::from(log) - f64::from(played).ln()).exp())
            .collect();
        let caps = Caps {
            ratio: config.ratio_cap.into(),
            trace: config.trace_cap.into(),
            decay: config.trace_decay.into(),
        };
        let mut traces = vtrace(caps, batch, &ratios, values);
        let sum = batch.weight();
        let mean = |values: &[f64]| {
            let weighted = values.iter().zip(&batch.weights);
            weighted.map(|(value, &weight)| value * f64::from(weight)).sum::<f64>() / sum
        };
        let ratio = mean(&ratios.iter().map(|ratio| ratio.min(caps.ratio)).collect::<Vec<_>>());
        if config.normalize_advantage {
            let centre = mean(&traces.advantages);
            let squares = traces.advantages.iter().map(|a| (a - centre).powi(2));
            let deviation = mean(&squares.collect::<Vec<_>>()).sqrt();
            traces.advantages.iter_mut().for_each(|a| *a /= deviation + ADVANTAGE_EPSILON);
        }
        Fixed { advantages: traces.advantages, targets: traces.targets, ratio }
    }
}

impl Algorithm for Reinforce {
    type Batch = Segments;

    fn loss(
        &self,
        batch: &Segments,
        outputs: &Outputs,
        device: &Device,
    ) -> Result<DeviceLoss, TrainError> {
        let actions: Vec<i32> = batch.actions.iter().map(|&action| action as i32).collect();
        let actions = TensorData::new(actions, [batch.actions.len(), 1]);
        let actions = Tensor::<2, Int>::from_data(actions, device);
        let log_policy = log_policy(outputs.logits.clone(), &batch.legal, device);
        let chosen = log_policy.clone().gather(1, actions);

        let seen = Tensor::cat(vec![chosen.clone().inner(), outputs.values.clone().inner()], 1);
        let seen = read(&seen)?;
        let pairs = seen.as_chunks::<2>().0.iter();
        let (logs, values): (Vec<f32>, Vec<f32>) = pairs.map(|[log, value]| (*log, *value)).unzip();
        let fixed = self.fix(batch, &logs, &values);

        let sum = batch.weight();
        let shares = || batch.weights.iter().map(|&weight| f64::from(weight) / sum);
        let weighted = |values: &[f64]| -> Vec<f32> {
            values.iter().zip(shares()).map(|(value, share)| (value * share) as f32).collect()
        };
        let targets = fixed.targets.iter().map(|&target| target as f32).collect();
        let errors = outputs.values.clone() - column(targets, device);
        let share = column(shares().map(|share| share as f32).collect(), device);

        let policy = (chosen * column(weighted(&fixed.advantages), device)).sum().neg();
        let value = (share.clone() * errors.square()).sum();
        let entropy = (share * entropy(log_policy)).sum();
        let total = policy.clone() + value.clone() * self.config.value_coefficient
            - entropy.clone() * self.config.entropy_bonus;
        Ok(DeviceLoss {
            total,
            policy: policy.inner(),
            value: value.inner(),
            entropy: entropy.inner(),
            ratio: fixed.ratio,
        })
    }
}

#[cfg(test)]
mod tests;
