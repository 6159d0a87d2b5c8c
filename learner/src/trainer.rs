//! The network, its optimiser and their device, one step at a time.
//!
//! A [`Trainer`] is used from one thread, always the same one: a GPU queue belongs to the
//! thread that feeds it. It knows nothing of where batches come from or where weights go.

use burn::module::ModuleVisitor;
use burn::module::{Module, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use ouro_net::{NetSpec, Weights, WeightsError, WeightsMeta};

use crate::config::TrainConfig;
use crate::device::TrainDevice;
use crate::loss::loss;
use crate::model::Net;
use crate::optimizer::{Moments, Optimizer};
use crate::reinforce::{LossConfig, LossParts};
use crate::samples::Samples;

/// Why training cannot go on. The process must restart from its last checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrainError {
    /// The loss or the gradient is infinite or not a number.
    #[error("step {step}: {what} is {value}; lower train.learning_rate and restart")]
    NotFinite {
        /// Steps taken before.
        step: u64,
        /// Which number.
        what: &'static str,
        /// The number, as text.
        value: String,
    },
    /// The device did not hand over its numbers.
    #[error("reading from the training device: {0}")]
    Read(String),
    /// The parameters are no valid weights.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

impl TrainError {
    pub(crate) fn read(error: impl std::fmt::Display) -> Self {
        Self::Read(error.to_string())
    }
}

/// What a step came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Loss before the update.
    pub loss: LossParts,
    /// L2 norm of the gradient before clipping.
    pub gradient_norm: f64,
}

/// Loss and gradient on one batch, for comparisons.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// The loss.
    pub loss: LossParts,
    /// Gradient of each tensor, in the order and layout of the spec.
    pub tensors: Vec<Vec<f32>>,
}

/// A network in training.
pub struct Trainer {
    config: TrainConfig,
    spec: NetSpec,
    game: String,
    device: TrainDevice,
    net: Net,
    optimizer: Optimizer,
    step: u64,
}

impl Trainer {
    /// Continues from `weights` (with their step count) and `moments`; a new run starts with
    /// [`Moments::default`].
    pub fn new(
        config: TrainConfig,
        weights: &Weights,
        moments: &Moments,
        device: TrainDevice,
    ) -> Self {
        let net = Net::new(weights, &device.autodiff());
        let optimizer =
            Optimizer::new(config.weight_decay, config.max_gradient_norm, moments, device.plain());
        let (spec, meta) = (weights.spec().clone(), weights.meta());
        Self { config, spec, game: meta.game.clone(), device, net, optimizer, step: meta.step }
    }

    /// Steps taken since the start of the run.
    pub fn step_count(&self) -> u64 {
        self.step
    }

    /// One optimiser step on `batch`. Every [`report_every`](TrainConfig::report_every) steps
    /// the loss is read and checked; in between nothing waits for the device.
    pub fn step(&mut self, batch: &Samples) -> Result<Option<StepReport>, TrainError> {
        let loss = self.loss(batch);
        let grads = GradientsParams::from_grads(loss.total.backward(), &self.net);
        let rate = self.config.learning_rate_at(self.step);
        let (net, norm) = self.optimizer.step(self.net.clone(), grads, rate);
        self.net = net;
        self.step += 1;
        if !self.step.is_multiple_of(self.config.report_every) {
            return Ok(None);
        }
        let norm: Vec<f32> = norm.try_into_vec_as().map_err(TrainError::read)?;
        let report = StepReport {
            loss: loss.read()?,
            gradient_norm: norm.iter().copied().map(f64::from).sum(),
        };
        for (what, value) in [("loss", report.loss.total), ("gradient", report.gradient_norm)] {
            if !value.is_finite() {
                let value = value.to_string();
                return Err(TrainError::NotFinite { step: self.step - 1, what, value });
            }
        }
        Ok(Some(report))
    }

    fn loss(&self, batch: &Samples) -> crate::loss::DeviceLoss {
        let config = LossConfig::from(&self.config);
        loss(&self.net, &self.spec, &config, batch, self.device.plain())
    }

    /// Loss and gradient on `batch`, without a step.
    pub fn gradient(&self, batch: &Samples) -> Result<Gradient, TrainError> {
        struct Read<'a>(&'a GradientsParams, Vec<Result<Vec<f32>, TrainError>>);
        impl ModuleVisitor for Read<'_> {
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                let grad = self.0.get::<D>(param.id).unwrap_or_else(|| param.val().inner() * 0.0);
                self.1.push(grad.try_into_vec_as().map_err(TrainError::read));
            }
        }
        let loss = self.loss(batch);
        let grads = GradientsParams::from_grads(loss.total.backward(), &self.net);
        let mut read = Read(&grads, Vec::new());
        self.net.visit(&mut read);
        let tensors = read.1.into_iter().collect::<Result<_, _>>()?;
        Ok(Gradient { loss: loss.read()?, tensors })
    }

    /// The parameters as weights of `generation`. Waits for the device; fails if any value is
    /// not finite, so broken weights are never published.
    pub fn weights(&self, generation: u32) -> Result<Weights, TrainError> {
        let meta = WeightsMeta { game: self.game.clone(), generation, step: self.step };
        Ok(Weights::from_tensors(self.spec.clone(), meta, self.net.tensors()?)?)
    }

    /// The optimiser's state. Waits for the device.
    pub fn moments(&self) -> Result<Moments, TrainError> {
        self.optimizer.moments()
    }

    /// The device, as its backend names it.
    pub fn device(&self) -> &TrainDevice {
        &self.device
    }
}

#[cfg(test)]
mod tests;
