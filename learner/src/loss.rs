//! The loss of [`crate::reinforce`] on tensors.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use ouro_net::NetSpec;

use crate::model::{Net, planes_tensor};
use crate::reinforce::{ADVANTAGE_EPSILON, ILLEGAL_LOGIT, LossConfig, LossParts};
use crate::samples::Samples;
use crate::trainer::TrainError;

/// A loss on the device: scalars of shape `[1]`.
pub struct DeviceLoss {
    /// What to differentiate.
    pub total: Tensor<1>,
    policy: Tensor<1>,
    value: Tensor<1>,
    entropy: Tensor<1>,
    ratio: Tensor<1>,
}

impl DeviceLoss {
    /// The numbers. Waits for the device.
    pub fn read(self) -> Result<LossParts, TrainError> {
        let scalars = [self.total, self.policy, self.value, self.entropy, self.ratio];
        let scalars = Tensor::cat(scalars.map(Tensor::inner).to_vec(), 0);
        let read: Vec<f32> = scalars.try_into_vec_as().map_err(TrainError::read)?;
        let [total, policy, value, entropy, ratio] = read[..] else {
            return Err(TrainError::Read("the loss has the wrong number of parts".into()));
        };
        Ok(LossParts {
            total: total.into(),
            policy: policy.into(),
            value: value.into(),
            entropy: entropy.into(),
            ratio: ratio.into(),
        })
    }
}

/// The loss of `net` on a batch. `device` is where the batch is sent; gradients flow if the
/// network's parameters are tracked.
pub fn loss(
    net: &Net,
    spec: &NetSpec,
    config: &LossConfig,
    batch: &Samples,
    device: &Device,
) -> DeviceLoss {
    let (rows, width) = (batch.rows(), spec.actions);
    let column =
        |values: Vec<f32>| Tensor::<2>::from_data(TensorData::new(values, [rows, 1]), device);
    let planes = planes_tensor(spec, batch.planes.clone(), device);
    let illegal: Vec<bool> = batch.legal.iter().map(|legal| !legal).collect();
    let illegal = Tensor::<2, Bool>::from_data(TensorData::new(illegal, [rows, width]), device);
    let actions: Vec<i32> = batch.actions.iter().map(|&action| action as i32).collect();
    let actions = Tensor::<2, Int>::from_data(TensorData::new(actions, [rows, 1]), device);
    let log_behaviour = column(batch.behaviour.iter().map(|p| p.ln()).collect());
    let returns = column(batch.returns.clone());

    let (logits, values) = net.forward(planes);
    let log_policy = log_softmax(logits.mask_fill(illegal, ILLEGAL_LOGIT), 1);
    let chosen = log_policy.clone().gather(1, actions);

    let ratio = (chosen.clone().detach() - log_behaviour).exp().clamp_max(config.ratio_cap);
    let error = values - returns;
    let mut advantage = error.clone().detach().neg();
    if config.normalize_advantage {
        let centred = advantage.clone() - advantage.clone().mean_dim(0);
        let deviation = centred.square().mean_dim(0).sqrt();
        advantage = advantage / (deviation + ADVANTAGE_EPSILON as f32);
    }

    let policy = (ratio.clone() * advantage * chosen).mean().neg();
    let value = error.square().mean();
    let entropy = (log_policy.clone().exp() * log_policy).sum_dim(1).mean().neg();
    let total = policy.clone() + value.clone().mul_scalar(config.value_coefficient)
        - entropy.clone().mul_scalar(config.entropy_bonus);
    DeviceLoss { total, policy, value, entropy, ratio: ratio.mean() }
}
