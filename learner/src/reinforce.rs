//! REINFORCE with a learned baseline, corrected for the age of its data.
//!
//! The policy gradient of Williams (1992, "Simple statistical gradient-following algorithms for
//! connectionist reinforcement learning") with a state value as baseline (Sutton and Barto,
//! "Reinforcement Learning", 2nd edition, section 13.4). Actors play with weights that are some
//! steps old, and mix in random moves. The truncated importance ratios of
//! [V-trace](mod@vtrace) correct both. They compare the current policy π with μ, the probability
//! with which the actor chose the action. With V-trace's value targets v and advantages A, and
//! weights w:
//!
//! ```text
//! L = Σ w (−A log π(a|s)) / Σ w                    policy
//!   + value_coefficient · Σ w (V − v)² / Σ w       value
//!   − entropy_bonus · Σ w (−Σ π log π) / Σ w       entropy over legal actions
//! ```
//!
//! Advantages may be divided by their standard deviation over the batch, but their mean is not
//! subtracted. The baseline V already centres them in each state, and the remaining mean is signal:
//! moves whose results were better than expected. Subtracting a constant c changes nothing in
//! expectation if actions are drawn from π. Here actions are drawn from μ, so subtracting c would
//! add c · KL(μ ‖ π) to the objective. That term pushes π away from the played actions or towards
//! them, regardless of their rewards.
//!
//! No gradient flows through A and v, which come from the pass that is differentiated. With batch
//! norm, that pass uses the statistics of its batch, while play used running statistics. Ratios
//! therefore differ from 1 even for the weights that played, and truncation weights steps slightly
//! too low. The mean ratio is reported with the loss.

mod segments;
mod transitions;
pub(crate) mod vtrace;

pub(crate) use segments::Segments;
pub(crate) use transitions::{SeatTransitions, seat_transitions};

use burn_tensor::{Device, Int, Tensor, TensorData};

use crate::algorithm::Algorithm;
use crate::config::ReinforceConfig;
use crate::error::TrainError;
use crate::loss::{DeviceLoss, column, entropy, log_policy};
use crate::model::{Outputs, read};
use vtrace::{TruncationLevels, vtrace};

/// Added to the standard deviation of the advantages, which may be 0.
const ADVANTAGE_EPSILON: f64 = 1e-6;

/// The loss of REINFORCE with V-trace.
#[derive(Clone, Debug)]
pub struct Reinforce {
    config: ReinforceConfig,
}

impl From<&ReinforceConfig> for Reinforce {
    fn from(config: &ReinforceConfig) -> Self {
        Self { config: config.clone() }
    }
}

/// Constants of the loss, through which no gradient flows, `[rows]` each.
#[derive(Clone, Debug, PartialEq)]
struct UpdateTargets {
    advantages: Vec<f64>,
    values: Vec<f64>,
    /// Weighted mean of the truncated ratios.
    ratio: f64,
}

impl Reinforce {
    /// Advantages and value targets at the network's outputs, both `[rows]`: `chosen` is log π of
    /// the actions taken, and `values` is V.
    fn targets(&self, batch: &Segments, chosen: &[f32], values: &[f32]) -> UpdateTargets {
        let Self { config } = self;
        let ratios: Vec<f64> = chosen
            .iter()
            .zip(&batch.behaviour)
            .map(|(&log, &played)| (f64::from(log) - f64::from(played).ln()).exp())
            .collect();
        let levels = TruncationLevels {
            ratio: config.ratio_cap.into(),
            trace: config.trace_cap.into(),
            lambda: config.trace_decay.into(),
        };
        let mut targets = vtrace(levels, batch, &ratios, values);
        let sum = batch.weight();
        let mean = |values: &[f64]| {
            let weighted = values.iter().zip(&batch.weights);
            weighted.map(|(value, &weight)| value * f64::from(weight)).sum::<f64>() / sum
        };
        let ratio = mean(&ratios.iter().map(|ratio| ratio.min(levels.ratio)).collect::<Vec<_>>());
        if config.normalize_advantage {
            let centre = mean(&targets.advantages);
            let squares = targets.advantages.iter().map(|a| (a - centre).powi(2));
            let deviation = mean(&squares.collect::<Vec<_>>()).sqrt();
            targets.advantages.iter_mut().for_each(|a| *a /= deviation + ADVANTAGE_EPSILON);
        }
        UpdateTargets { advantages: targets.advantages, values: targets.values, ratio }
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

        // One read of the device instead of two, because each waits until the queue is empty.
        let seen = Tensor::cat(vec![chosen.clone().inner(), outputs.values.clone().inner()], 1);
        let seen = read(&seen)?;
        let pairs = seen.as_chunks::<2>().0.iter();
        let (logs, values): (Vec<f32>, Vec<f32>) = pairs.map(|[log, value]| (*log, *value)).unzip();
        let targets = self.targets(batch, &logs, &values);

        let sum = batch.weight();
        let shares = || batch.weights.iter().map(|&weight| f64::from(weight) / sum);
        let weighted = |values: &[f64]| -> Vec<f32> {
            values.iter().zip(shares()).map(|(value, share)| (value * share) as f32).collect()
        };
        let values = targets.values.iter().map(|&value| value as f32).collect();
        let errors = outputs.values.clone() - column(values, device);
        let share = column(shares().map(|share| share as f32).collect(), device);

        let policy = (chosen * column(weighted(&targets.advantages), device)).sum().neg();
        let value = (share.clone() * errors.square()).sum();
        let entropy = (share * entropy(log_policy)).sum();
        let total = policy.clone() + value.clone() * self.config.value_coefficient
            - entropy.clone() * self.config.entropy_bonus;
        Ok(DeviceLoss {
            total,
            policy: policy.inner(),
            value: value.inner(),
            entropy: entropy.inner(),
            ratio: targets.ratio,
        })
    }
}

#[cfg(test)]
mod tests;
