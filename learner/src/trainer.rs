//! The network, its optimiser and their device, one step at a time.
//!
//! A [`Trainer`] is used from one thread, always the same one: a GPU queue belongs to the
//! thread that feeds it. It knows nothing of where batches come from or where weights go. On the
//! CPU a trainer that goes on from its [`TrainerState`] takes the same steps, bit for bit.

use burn::tensor::{Device, Tensor, TensorData};
use ouro_game::PlaneShape;
use ouro_net::{Generation, NetSpec, Trunk, Weights, WeightsError, WeightsMeta};

use crate::agreement::{Disagreement, Probe};
use crate::algorithm::{Algorithm, Batch, BatchError};
use crate::average::Average;
use crate::config::TrainConfig;
use crate::device::TrainDevice;
use crate::export;
use crate::loss::{DeviceLoss, LossParts};
use crate::model::{Mode, Net, planes_tensor, read, vector};
use crate::optimizer::{Optimizer, OptimizerState};

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
    /// The batch does not fit the network.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The exported weights are not what was trained.
    #[error(transparent)]
    Disagreement(#[from] Disagreement),
    /// The state is that of another network or optimiser.
    #[error(
        "the checkpoint's {what} does not fit the run's configuration; keep net and train.optimizer.kind as they were, or start a new run"
    )]
    OtherState {
        /// What does not fit.
        what: &'static str,
    },
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
    /// Step size of the update.
    pub learning_rate: f64,
}

/// Loss and gradient on one batch, for comparisons.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// The loss.
    pub loss: LossParts,
    /// Gradient of each trained tensor, in the order and layout of the spec.
    pub tensors: Vec<Vec<f32>>,
}

/// Everything that training goes on from, besides the published weights and their step count.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainerState {
    /// The network of the last step, every tensor in the order of the spec.
    pub tensors: Vec<Vec<f32>>,
    /// The optimiser.
    pub optimizer: OptimizerState,
    /// The average, if there is one.
    pub average: Option<AverageState>,
}

impl TrainerState {
    /// Where a new run stands.
    pub fn fresh(weights: &Weights) -> Self {
        let (tensors, optimizer) = (weights.tensors().to_vec(), OptimizerState::default());
        Self { tensors, optimizer, average: None }
    }
}

/// An [`Average`] as plain numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct AverageState {
    /// Weights that went into it.
    pub count: u64,
    /// The averaged network, every tensor in the order of the spec.
    pub tensors: Vec<Vec<f32>>,
}

/// A network in training.
pub struct Trainer<A> {
    algorithm: A,
    config: TrainConfig,
    spec: NetSpec,
    game: String,
    device: TrainDevice,
    net: Net,
    /// Takes a tower forward and back on the CPU, several times as fast as burn does.
    trunk: Option<Trunk>,
    optimizer: Optimizer,
    average: Option<Average>,
    step: u64,
}

impl<A: Algorithm> Trainer<A> {
    /// Trains from `weights`, whose step count goes on; a run that is resumed has its `state`.
    pub fn new(
        algorithm: A,
        config: TrainConfig,
        weights: &Weights,
        state: Option<&TrainerState>,
        device: TrainDevice,
    ) -> Result<Self, TrainError> {
        let (spec, meta) = (weights.spec().clone(), weights.meta().clone());
        let plain = device.plain();
        let network = |tensors: &[Vec<f32>]| -> Result<Net, TrainError> {
            let meta = WeightsMeta::default();
            Ok(Net::new(&Weights::from_tensors(spec.clone(), meta, tensors.to_vec())?, plain))
        };
        let net = match state {
            Some(state) => network(&state.tensors)?,
            None => Net::new(weights, plain),
        };
        let fresh = OptimizerState::default();
        let optimizer = state.map_or(&fresh, |state| &state.optimizer);
        let length = net.layout().trained_len();
        let kept = if optimizer.time == 0 { 0 } else { config.optimizer.slots().len() };
        if optimizer.slots.len() != kept || optimizer.slots.iter().any(|slot| slot.len() != length)
        {
            return Err(TrainError::OtherState { what: "optimiser" });
        }
        let optimizer = Optimizer::new(
            config.optimizer.clone(),
            config.weight_decay,
            config.max_gradient_norm,
            net.layout(),
            optimizer,
            plain,
        );
        let average = match state.and_then(|state| state.average.as_ref()) {
            Some(average) => {
                Average::new(&config.average, network(&average.tensors)?, average.count)
            }
            None => Average::new(&config.average, net.clone(), 1),
        };
        let (game, step) = (meta.game, meta.step);
        let trunk = if device.is_cpu() { Trunk::new(&spec) } else { None };
        Ok(Self { algorithm, config, spec, game, device, net, trunk, optimizer, average, step })
    }

    /// The same trainer with everything done by burn, for comparisons.
    #[must_use]
    pub fn by_burn_alone(self) -> Self {
        Self { trunk: None, ..self }
    }

    /// Steps taken since the start of the run.
    pub fn step_count(&self) -> u64 {
        self.step
    }

    /// One optimiser step on `batch`. Every [`report_every`](TrainConfig::report_every) steps
    /// the loss is read and checked.
    pub fn step(&mut self, batch: &A::Batch) -> Result<Option<StepReport>, TrainError> {
        let Differentiated { loss, gradient, statistics } = self.differentiate(batch)?;
        let learning_rate = self.config.learning_rate_at(self.step);
        let (trained, norm) = self.optimizer.step(self.net.trained(), gradient, learning_rate);
        self.net = self.net.with_trained(trained);
        self.net.track(statistics, self.config.norm_momentum);
        self.step += 1;
        if let Some(average) = &mut self.average {
            let (trunk, device) = (self.trunk.as_mut(), self.device.plain());
            let statistics = |net: &Net| batch_statistics(net, trunk, batch.planes(), device);
            average.update(&self.net, self.step, statistics, self.config.norm_momentum)?;
        }
        if !self.step.is_multiple_of(self.config.report_every) {
            return Ok(None);
        }
        let gradient_norm = read(&norm)?.into_iter().map(f64::from).sum();
        let report = StepReport { loss: loss.read()?, gradient_norm, learning_rate };
        for (what, value) in [("loss", report.loss.total), ("gradient", report.gradient_norm)] {
            if !value.is_finite() {
                let value = value.to_string();
                return Err(TrainError::NotFinite { step: self.step - 1, what, value });
            }
        }
        Ok(Some(report))
    }

    /// Forward and back.
    fn differentiate(&mut self, batch: &A::Batch) -> Result<Differentiated, TrainError> {
        batch.check(&self.spec)?;
        match self.trunk.take() {
            Some(mut trunk) => {
                let done = self.differentiate_heads(batch, &mut trunk);
                self.trunk = Some(trunk);
                done
            }
            None => self.differentiate_all(batch),
        }
    }

    /// All of it by burn.
    fn differentiate_all(&self, batch: &A::Batch) -> Result<Differentiated, TrainError> {
        let device = self.device.plain();
        let planes = planes_tensor(&self.spec, batch.planes().to_vec(), device);
        let parameters = self.net.tracked(0);
        let outputs = parameters.forward(planes, Mode::Train);
        let loss = self.algorithm.loss(batch, &outputs, device)?;
        let gradient = parameters.gradient(&mut loss.total.backward());
        Ok(Differentiated { loss, gradient, statistics: outputs.statistics })
    }

    /// Heads and loss by burn, for which the trunk's features are a leaf of its graph.
    fn differentiate_heads(
        &self,
        batch: &A::Batch,
        trunk: &mut Trunk,
    ) -> Result<Differentiated, TrainError> {
        let device = self.device.plain();
        let trained = read(&self.net.trained())?;
        let (features, statistics) =
            trunk_features(&self.spec, trunk, &trained, batch.planes(), device);
        let features = Tensor::from_inner(features).require_grad();

        let parameters = self.net.tracked(trunk.tensor_count());
        let outputs = parameters.heads(features.clone(), Mode::Train);
        let loss = self.algorithm.loss(batch, &outputs, device)?;
        let mut gradients = loss.total.backward();
        let pull = features.grad_remove(&mut gradients);
        let pull = read(&pull.unwrap_or_else(|| features.inner().zeros_like()))?;
        let gradient = vector(trunk.backward(&trained, &pull), device);
        let gradient = Tensor::cat(vec![gradient, parameters.gradient(&mut gradients)], 0);
        let statistics = std::iter::once(statistics).chain(outputs.statistics);
        Ok(Differentiated { loss, gradient, statistics: statistics.collect() })
    }

    /// Loss and gradient on `batch`, without a step.
    pub fn gradient(&mut self, batch: &A::Batch) -> Result<Gradient, TrainError> {
        let Differentiated { loss, gradient, .. } = self.differentiate(batch)?;
        let tensors = self.net.layout().split(&read(&gradient)?);
        Ok(Gradient { loss: loss.read()?, tensors })
    }

    /// The network that is published: the average, if one is kept.
    fn published(&self) -> &Net {
        self.average.as_ref().map_or(&self.net, Average::net)
    }

    fn meta(&self, generation: Generation) -> WeightsMeta {
        WeightsMeta { game: self.game.clone(), generation, step: self.step }
    }

    /// The published network as weights of `generation`, after the check that the CPU engine
    /// plays them as they were trained. Waits for the device.
    pub fn export(&self, generation: Generation, probe: &Probe) -> Result<Weights, TrainError> {
        export::checked(self.published(), self.meta(generation), probe, self.device.plain())
    }

    /// The published network as weights, without that check. Waits for the device.
    pub fn weights(&self, generation: Generation) -> Result<Weights, TrainError> {
        export::weights(self.published(), self.meta(generation))
    }

    /// What a later trainer goes on from. Waits for the device.
    pub fn state(&self) -> Result<TrainerState, TrainError> {
        let average = self.average.as_ref().map(|average| {
            Ok::<_, TrainError>(AverageState {
                count: average.count(),
                tensors: average.net().tensors()?,
            })
        });
        Ok(TrainerState {
            tensors: self.net.tensors()?,
            optimizer: self.optimizer.state()?,
            average: average.transpose()?,
        })
    }

    /// The device, as its backend names it.
    pub fn device(&self) -> &TrainDevice {
        &self.device
    }
}

/// What the trunk makes of planes, `[rows, channels, H, W]`, and its statistics.
fn trunk_features(
    spec: &NetSpec,
    trunk: &mut Trunk,
    trained: &[f32],
    planes: &[f32],
    device: &Device,
) -> (Tensor<4>, Tensor<1>) {
    let (features, statistics) = trunk.forward(trained, planes);
    let PlaneShape { height, width, .. } = spec.planes;
    let rows = planes.len() / spec.planes.len();
    let shape = [rows, features.len() / rows / (height * width), height, width];
    let features = Tensor::from_data(TensorData::new(features, shape), device);
    (features, vector(statistics, device))
}

/// Batch norm's statistics that a network has of these planes, in order.
fn batch_statistics(
    net: &Net,
    trunk: Option<&mut Trunk>,
    planes: &[f32],
    device: &Device,
) -> Result<Vec<Tensor<1>>, TrainError> {
    let spec = net.layout().spec();
    let Some(trunk) = trunk else {
        let planes = planes_tensor(spec, planes.to_vec(), device);
        return Ok(net.fixed(0).forward(planes, Mode::Train).statistics);
    };
    let (features, first) = trunk_features(spec, trunk, &read(&net.trained())?, planes, device);
    let heads = net.fixed(trunk.tensor_count()).heads(features, Mode::Train);
    Ok(std::iter::once(first).chain(heads.statistics).collect())
}

/// What a pass forward and back came to.
struct Differentiated {
    loss: DeviceLoss,
    /// `[trained]`.
    gradient: Tensor<1>,
    statistics: Vec<Tensor<1>>,
}

#[cfg(test)]
mod tests;
