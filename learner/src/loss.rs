//! Parts that the losses of both algorithms share.

use burn_tensor::activation::log_softmax;
use burn_tensor::{Bool, Device, Tensor, TensorData};

use crate::error::TrainError;
use crate::model::read;

/// Replaces illegal logits. Finite, because −∞ and a target of 0 would give 0 · −∞ = NaN.
pub(crate) const ILLEGAL_LOGIT: f32 = -1e9;

/// A loss and its parts, weighted means over the batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossTerms {
    /// The sum that is minimised.
    pub total: f64,
    /// Policy term: cross-entropy, or the policy gradient's surrogate loss.
    pub policy: f64,
    /// Value term: the squared error, or for outcome classes the loss in [`crate::alphazero`].
    pub value: f64,
    /// Entropy of the policy over legal actions, in nats.
    pub entropy: f64,
    /// Mean truncated importance ratio; 1 for AlphaZero.
    pub ratio: f64,
}

/// A loss on the device: scalars of shape `[1]`.
pub struct DeviceLoss {
    /// The loss to differentiate.
    pub total: Tensor<1>,
    /// As in [`LossTerms`], without gradients.
    pub policy: Tensor<1>,
    /// As in [`LossTerms`], without gradients.
    pub value: Tensor<1>,
    /// As in [`LossTerms`], without gradients.
    pub entropy: Tensor<1>,
    /// As in [`LossTerms`].
    pub ratio: f64,
}

impl DeviceLoss {
    /// Reads the numbers. Waits for the device.
    pub fn read(&self) -> Result<LossTerms, TrainError> {
        // One tensor, because each read of the device waits until its queue is empty.
        let scalars = [&self.total, &self.policy, &self.value, &self.entropy];
        let scalars = scalars.map(|scalar| scalar.clone().inner()).to_vec();
        let [total, policy, value, entropy] = read(&Tensor::cat(scalars, 0))?[..] else {
            return Err(TrainError::Read("the loss has the wrong number of parts".into()));
        };
        Ok(LossTerms {
            total: total.into(),
            policy: policy.into(),
            value: value.into(),
            entropy: entropy.into(),
            ratio: self.ratio,
        })
    }
}

/// One number per row as a column on the device, `[rows, 1]`.
pub(crate) fn column(values: Vec<f32>, device: &Device) -> Tensor<2> {
    let rows = values.len();
    Tensor::from_data(TensorData::new(values, [rows, 1]), device)
}

/// Log-probabilities of the legal actions, `[rows, actions]`; very negative for the rest.
pub(crate) fn log_policy(logits: Tensor<2>, legal: &[bool], device: &Device) -> Tensor<2> {
    let illegal: Vec<bool> = legal.iter().map(|legal| !legal).collect();
    let illegal = TensorData::new(illegal, logits.dims());
    let illegal = Tensor::<2, Bool>::from_data(illegal, device);
    log_softmax(logits.mask_fill(illegal, ILLEGAL_LOGIT), 1)
}

/// Entropy of every row, `[rows, 1]`.
pub(crate) fn entropy(log_policy: Tensor<2>) -> Tensor<2> {
    (log_policy.clone().exp() * log_policy).sum_dim(1).neg()
}

/// The reference computation of [`log_policy`] for one row: `−∞` for illegal actions.
#[cfg(test)]
pub(crate) fn slow_log_policy(logits: &[f32], legal: &[bool]) -> Vec<f64> {
    let masked = |(&logit, &legal): (&f32, &bool)| {
        if legal { f64::from(logit) } else { f64::NEG_INFINITY }
    };
    let logits: Vec<f64> = logits.iter().zip(legal).map(masked).collect();
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|logit| (logit - largest).exp()).sum();
    logits.iter().map(|logit| logit - largest - sum.ln()).collect()
}
