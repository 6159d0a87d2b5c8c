//! AlphaZero: learn the results of a search (Silver et al. 2018, "A general reinforcement learning
//! algorithm that masters chess, shogi, and Go through self-play").
//!
//! Each position has a policy target t, an outcome o, a root value v and a weight w. With the network's
//! policy π and the value loss ℓ below:
//!
//! ```text
//! L = Σ w (−Σ t log π) / Σ w               policy; t is 0 for a row without a target
//!   + value_coefficient · Σ w ℓ / Σ w      value
//! ```
//!
//! A network with both players' policies has a second π, whose target is the search of the other player in
//! the same position. Its term is added to that of the first. Illegal actions have no part in π. The
//! optimiser's weight decay replaces the paper's L2 term.
//! o is the mover's own outcome, discounted to the position ([`targets::discounted`]). Surprise weights
//! positions when they are drawn, not in the loss: see
//! [`surprise_weights`](ouro_replay::surprise_weights).
//!
//! λ is [`root_value_share`](AlphaZeroConfig::root_value_share), and d the worth of a draw in searches. A
//! value head of one number V, for which the outcome of a draw is d, has
//!
//! ```text
//! ℓ = (V − (1 − λ) o − λ v)²
//! ```
//!
//! A head of outcome classes has the probabilities P of a win, a draw and a loss. The outcome is learned
//! by cross-entropy with the classes T(o) = (max(o, 0), 1 − |o|, max(−o, 0)). The root value, in which a
//! draw is worth d too, is compared with the value that the classes have then:
//!
//! ```text
//! ℓ = (1 − λ) (−Σ T(o) log P) + λ (P(win) − P(loss) + d · P(draw) − v)²
//! ```

pub(crate) mod targets;

use burn_tensor::activation::log_softmax;
use burn_tensor::{Device, Tensor, TensorData};
use ouro_net::{NetSpec, ValueRange};

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
    /// Legal actions, `[rows, policies, actions]`; none of a player who is not to move.
    pub legal: Vec<bool>,
    /// Policy targets, `[rows, policies, actions]`. A policy sums to 1 over its legal actions, or is all
    /// 0 if it has no target.
    pub policy: Vec<f32>,
    /// The mover's own outcome, discounted to the position, `[rows]`, −1 to 1.
    pub outcomes: Vec<f32>,
    /// Value of the search at the position, `[rows]`, −1 to 1.
    pub root_values: Vec<f32>,
    /// Weights, `[rows]`, 0 or more.
    pub weights: Vec<f32>,
}

impl Positions {
    /// An empty batch with room for `rows`.
    pub fn with_capacity(shape: RowShape, rows: usize) -> Self {
        Self {
            shape,
            planes: Vec::with_capacity(rows * shape.planes),
            legal: Vec::with_capacity(rows * shape.logits()),
            policy: Vec::with_capacity(rows * shape.logits()),
            outcomes: Vec::with_capacity(rows),
            root_values: Vec::with_capacity(rows),
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
        self.outcomes.len()
    }

    fn planes(&self) -> &[f32] {
        &self.planes
    }

    fn check(&self, spec: &NetSpec) -> Result<(), BatchError> {
        let (rows, logits) = (self.rows(), spec.logits());
        let columns = [
            ("planes", self.planes.len(), spec.planes.len()),
            ("legal", self.legal.len(), logits),
            ("policy", self.policy.len(), logits),
            ("root_values", self.root_values.len(), 1),
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
    root_value_share: f32,
    draw: f32,
}

impl AlphaZero {
    /// The loss with this worth of a draw in root values, −1 to 1.
    pub fn new(config: &AlphaZeroConfig, draw: f32) -> Self {
        let &AlphaZeroConfig { value_coefficient, root_value_share, .. } = config;
        Self { value_coefficient, root_value_share, draw }
    }

    /// The value loss ℓ of every row, `[rows, 1]`.
    fn value_losses(&self, batch: &Positions, outputs: &Outputs, device: &Device) -> Tensor<2> {
        let share = f64::from(self.root_value_share);
        if outputs.values.dims()[1] != ValueRange::Outcome.width() {
            let rows = batch.outcomes.iter().zip(&batch.root_values);
            let targets = rows.map(|(&outcome, &root)| {
                ((1.0 - share) * f64::from(outcome) + share * f64::from(root)) as f32
            });
            return (outputs.values.clone() - column(targets.collect(), device)).square();
        }
        let classes = batch.outcomes.iter().flat_map(|&outcome| targets::classes(outcome));
        let classes = TensorData::new(classes.collect(), outputs.values.dims());
        let classes = Tensor::<2>::from_data(classes, device);
        let log_shares = log_softmax(outputs.value_numbers.clone(), 1);
        let cross_entropy = (classes * log_shares).sum_dim(1).neg();
        let worth = Tensor::<2>::from_data([[1.0, self.draw, -1.0]], device);
        let expected = (outputs.values.clone() * worth).sum_dim(1);
        let errors = expected - column(batch.root_values.clone(), device);
        cross_entropy * (1.0 - share) + errors.square() * share
    }
}

impl From<&AlphaZeroConfig> for AlphaZero {
    /// The loss in which a draw is worth 0.
    fn from(config: &AlphaZeroConfig) -> Self {
        Self::new(config, 0.0)
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
        let RowShape { actions, policies, .. } = batch.shape;
        let (rows, by_policy) = (batch.rows(), [batch.rows() * policies, actions]);
        let targets = TensorData::new(batch.policy.clone(), by_policy);
        let targets = Tensor::<2>::from_data(targets, device);
        let log_policy =
            log_policy(outputs.logits.clone().reshape(by_policy), &batch.legal, device);

        let value = (shares.clone() * self.value_losses(batch, outputs, device)).sum();
        // A row of zeros contributes no cross-entropy, so rows without a target need no mask.
        let cross_entropy = (targets * log_policy.clone()).sum_dim(1).neg();
        let cross_entropy = cross_entropy.reshape([rows, policies]).sum_dim(1);
        let policy = (shares.clone() * cross_entropy).sum();
        let total = policy.clone() + value.clone() * self.value_coefficient;
        // The reported entropy is that of the mover's policy.
        let entropies = entropy(log_policy.inner()).reshape([rows, policies]).narrow(1, 0, 1);
        let entropy = (shares * entropies).sum();
        Ok(DeviceLoss { total, policy: policy.inner(), value: value.inner(), entropy, ratio: 1.0 })
    }
}

#[cfg(test)]
mod tests;
