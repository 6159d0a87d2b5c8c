//! The optimiser: clipping of the gradient by its norm, then AdamW or SGD.
//!
//! All trained values form one vector, so a step is a dozen tensor operations for any network.
//! Burn's optimisers are not used: burn dampens SGD's momentum by default, and the state of its
//! optimisers cannot be saved and restored exactly.

use burn_tensor::{Device, Tensor, TensorData};
use ouro_net::TensorRole;
use ouro_settings::OptimizerConfig;

use crate::error::TrainError;
use crate::model::{ParameterLayout, read};

/// Added to the gradient's norm, so that a zero gradient does not divide by zero.
const NORM_EPSILON: f32 = 1e-6;

/// The optimiser's state as plain numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OptimizerState {
    /// Updates made; at 0 there are no vectors yet.
    pub time: u64,
    /// The vectors of the update rule in the order of [`OptimizerConfig::slots`], each `[trained]`.
    pub slots: Vec<Vec<f32>>,
}

/// The optimiser of one network.
pub(crate) struct Optimizer {
    config: OptimizerConfig,
    max_norm: f32,
    weight_decay: f64,
    /// 1 where weights decay, 0 at biases and norms, `[trained]`; `None` without decay.
    decays: Option<Tensor<1>>,
    time: u64,
    slots: Vec<Tensor<1>>,
}

impl Optimizer {
    /// An optimiser that continues from `state`, which is empty at the start of a run.
    pub(crate) fn new(
        config: OptimizerConfig,
        weight_decay: f32,
        max_norm: f32,
        layout: &ParameterLayout,
        state: &OptimizerState,
        device: &Device,
    ) -> Self {
        let vector = |values: Vec<f32>| {
            let length = values.len();
            Tensor::<1>::from_data(TensorData::new(values, [length]), device)
        };
        let decays = (weight_decay > 0.0).then(|| {
            let factors = layout.trained().flat_map(|(tensor, place)| {
                let decays = !matches!(tensor.role, TensorRole::Bias | TensorRole::Scale);
                std::iter::repeat_n(f32::from(u8::from(decays)), place.len())
            });
            vector(factors.collect())
        });
        let slots = state.slots.iter().cloned().map(vector).collect();
        let weight_decay = f64::from(weight_decay);
        Self { config, max_norm, weight_decay, decays, time: state.time, slots }
    }

    /// Updates the trained values by their gradient, both `[trained]`, with learning rate `rate`.
    /// Returns the new values and the gradient's norm before clipping, on the device.
    pub(crate) fn step(
        &mut self,
        trained: Tensor<1>,
        gradient: Tensor<1>,
        rate: f64,
    ) -> (Tensor<1>, Tensor<1>) {
        // Clipping stays on the device: reading the norm would wait for the queue in every step.
        let norm = gradient.clone().square().sum().sqrt();
        let scale = (norm.clone() + NORM_EPSILON).recip().mul_scalar(self.max_norm).clamp_max(1.0);
        let gradient = gradient * scale;
        if self.slots.is_empty() {
            self.slots = self.config.slots().iter().map(|_| gradient.zeros_like()).collect();
        }
        self.time += 1;
        let direction = match self.config {
            OptimizerConfig::AdamW { beta1, beta2, epsilon } => {
                let squares = gradient.clone().square();
                let first = moving_average(self.slots[0].clone(), gradient, beta1);
                let second = moving_average(self.slots[1].clone(), squares, beta2);
                let correction = |beta: f64| 1.0 - beta.powf(self.time as f64);
                let scale = correction(beta2).sqrt();
                // Both bias corrections and ε are folded into one factor and one addend.
                let root = second.clone().sqrt() + (epsilon * scale) as f32;
                let direction = first.clone() / root * (scale / correction(beta1)) as f32;
                self.slots = vec![first, second];
                direction
            }
            OptimizerConfig::Sgd { momentum } => {
                let sum = self.slots[0].clone() * momentum as f32 + gradient;
                self.slots = vec![sum.clone()];
                sum
            }
        };
        // One subtraction. Alone, the decay of a step is often less than half a unit in the last place
        // of a weight, which leaves the weight unchanged.
        let direction = match &self.decays {
            Some(decays) => direction + trained.clone() * decays.clone() * self.weight_decay as f32,
            None => direction,
        };
        (trained - direction * rate as f32, norm)
    }

    /// The state as plain numbers. Waits for the device.
    pub(crate) fn state(&self) -> Result<OptimizerState, TrainError> {
        let slots = self.slots.iter().map(read).collect::<Result<_, _>>()?;
        Ok(OptimizerState { time: self.time, slots })
    }
}

/// An exponential moving average after one more value.
fn moving_average(mean: Tensor<1>, value: Tensor<1>, beta: f64) -> Tensor<1> {
    mean * beta as f32 + value * (1.0 - beta) as f32
}

#[cfg(test)]
mod tests;
