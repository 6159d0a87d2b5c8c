//! AlphaZero: learn the results of a search (Silver et al. 2018, "A general reinforcement learning
//! algorithm that masters chess, shogi, and Go through self-play").
//!
//! Each position has a policy target t, a value target z and a weight w. With the network's policy
//! π and value V:
//!
//! ```text
//! L = Σ w p (−Σ t log π) / Σ w                     policy; p is 0 for a row without a target
//!   + value_coefficient · Σ w (V − z)² / Σ w       value
//! ```
//!
//! Illegal actions have no part in π. The optimiser's weight decay replaces the paper's L2 term.
//! z is [`targets::value_target`]. Surprise weights positions when they are drawn, not in the
//! loss: see [`surprise_weights`](ouro_replay::surprise_weights).

pub(crate) mod targets;

use burn_tensor::{Device, Tensor, TensorData};
use ouro_net::NetSpec;

use crate::algorithm::Algorithm;
use crate::batch::{Batch, BatchError, RowShape, check_lengths};
use crate::config::AlphaZeroConfig;
use crate::error::TrainError;
use crate::loss::{DeviceLoss, column, entropy, log_policy};
use crate::model::Outputs;

/// A batch of positions with their targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Positions {
    shape: RowShape,
    /// Observations, `[rows, C · H · W]`.
    pub planes: Vec<f32>,
    /// Legal actions, `[rows, actions]`.
    pub legal: Vec<bool>,
    /// Policy targets, `[rows, actions]`. A row sums to 1 over its legal actions, or is all 0 if it
    /// has no target.
    pub policy: Vec<f32>,
    /// Value targets, `[rows]`.
    pub values: Vec<f32>,
    /// Weights, `[rows]`, 0 or more.
    pub weights: Vec<f32>,
}

impl Positions {
    /// An empty batch with room for `rows`.
    pub fn with_capacity(shape: RowShape, rows: usize) -> Self {
        Self {
            shape,
            planes: Vec::with_capacity(rows * shape.planes),
            legal: Vec::with_capacity(rows * shape.actions),
            policy: Vec::with_capacity(rows * shape.actions),
            values: Vec::with_capacity(rows),
            weights: Vec::with_capacity(rows),
        }
    }

    /// Sizes of a row.
    pub fn shape(&self) -> RowShape {
        self.shape
    }
}

impl Batch for Positions {
    fn rows(&self) -> usize {
        self.values.len()
    }

    fn planes(&self) -> &[f32] {
        &self.planes
    }

    fn check(&self, spec: &NetSpec) -> Result<(), BatchError> {
        let (rows, actions) = (self.rows(), spec.actions);
        let columns = [
            ("planes", self.planes.len(), spec.planes.len()),
            ("legal", self.legal.len(), actions),
            ("policy", self.policy.len(), actions),
            ("weights", self.weights.len(), 1),
        ];
        check_lengths(rows, &columns)?;
        if self.weights.iter().all(|&weight| weight == 0.0) {
            return Err(BatchError::Empty);
        }
        Ok(())
    }
}

/// The loss of AlphaZero.
#[derive(Clone, Debug)]
pub struct AlphaZero {
    value_coefficient: f32,
}

impl From<&AlphaZeroConfig> for AlphaZero {
    fn from(config: &AlphaZeroConfig) -> Self {
        Self { value_coefficient: config.value_coefficient }
    }
}

impl Algorithm for AlphaZero {
    type Batch = Positions;

    fn loss(
        &self,
        batch: &Positions,
        outputs: &Outputs,
        device: &Device,
    ) -> Result<DeviceLoss, TrainError> {
        let sum: f64 = batch.weights.iter().copied().map(f64::from).sum();
        let shares = batch.weights.iter().map(|&weight| (f64::from(weight) / sum) as f32).collect();
        let shares = column(shares, device);
        let targets = TensorData::new(batch.policy.clone(), outputs.logits.dims());
        let targets = Tensor::<2>::from_data(targets, device);
        let log_policy = log_policy(outputs.logits.clone(), &batch.legal, device);

        let errors = outputs.values.clone() - column(batch.values.clone(), device);
        let value = (shares.clone() * errors.square()).sum();
        // A row of zeros contributes no cross-entropy, so rows without a target need no mask.
        let cross_entropy = (targets * log_policy.clone()).sum_dim(1).neg();
        let policy = (shares.clone() * cross_entropy).sum();
        let total = policy.clone() + value.clone() * self.value_coefficient;
        let entropy = (shares * entropy(log_policy.inner())).sum();
        Ok(DeviceLoss { total, policy: policy.inner(), value: value.inner(), entropy, ratio: 1.0 })
    }
}

#[cfg(test)]
mod tests;
