//! A network, its optimiser and their device, one optimiser step at a time.
//!
//! A [`Trainer`] must stay on one thread, because a GPU queue belongs to the thread that submits to
//! it. The trainer does not know the origin of batches or the destination of weights. On the CPU, a
//! trainer that resumes from its [`TrainerState`] takes the same steps, bit for bit.

use burn_tensor::{Device, Tensor, TensorData};
use ouro_game::PlaneShape;
use ouro_net::{Generation, NetSpec, Trunk, Weights, WeightsMeta};

use crate::algorithm::Algorithm;
use crate::batch::Batch;
use crate::config::TrainConfig;
use crate::device::TrainDevice;
use crate::error::TrainError;
use crate::export;
use crate::export::ExportCheck;
use crate::loss::{DeviceLoss, LossTerms};
use crate::model::{Mode, Net, planes_tensor, read, vector};
use crate::optimizer::{Optimizer, OptimizerState};
use crate::tower::Tower;
use crate::weight_average::WeightAverage;

/// Loss, gradient norm and learning rate of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Loss before the update.
    pub loss: LossTerms,
    /// L2 norm of the gradient before clipping.
    pub gradient_norm: f64,
    /// Learning rate of the update.
    pub learning_rate: f64,
}

/// Loss and gradient on one batch, for comparisons of devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// The loss.
    pub loss: LossTerms,
    /// Gradient of each trained tensor, in the order and layout of the spec.
    pub tensors: Vec<Vec<f32>>,
}

/// State of a trainer, besides the published weights and their step count.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainerState {
    /// The network of the last step, every tensor in the order of the spec.
    pub tensors: Vec<Vec<f32>>,
    /// The optimiser.
    pub optimizer: OptimizerState,
    /// The weight average, if weights are averaged.
    pub average: Option<WeightAverageState>,
}

impl TrainerState {
    /// The state at the start of a run.
    pub fn initial(weights: &Weights) -> Self {
        let (tensors, optimizer) = (weights.tensors().to_vec(), OptimizerState::default());
        Self { tensors, optimizer, average: None }
    }
}

/// A [`WeightAverage`] as plain numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightAverageState {
    /// Number of weights in the average.
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
    /// Forward and backward pass of a residual tower on the CPU, several times as fast as burn.
    trunk: Option<Trunk>,
    /// The same on a GPU; there burn is slower still.
    tower: Option<Tower>,
    optimizer: Optimizer,
    average: Option<WeightAverage>,
    step: u64,
}

impl<A: Algorithm> Trainer<A> {
    /// A trainer that starts with `weights` and their step count. A resumed run passes its `state`.
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
                WeightAverage::new(&config.average, network(&average.tensors)?, average.count)
            }
            None => WeightAverage::new(&config.average, net.clone(), 1),
        };
        let (game, step) = (meta.game, meta.step);
        let trunk = if device.is_cpu() { Trunk::new(&spec) } else { None };
        let tower = if device.is_cpu() { None } else { Tower::new(&spec) };
        Ok(Self {
            algorithm,
            config,
            spec,
            game,
            device,
            net,
            trunk,
            tower,
            optimizer,
            average,
            step,
        })
    }

    /// The same trainer without passes of our own, for comparisons. Burn computes everything.
    #[must_use]
    pub fn by_burn_alone(self) -> Self {
        Self { trunk: None, tower: None, ..self }
    }

    /// Steps taken since the start of the run.
    pub fn step_count(&self) -> u64 {
        self.step
    }

    /// Takes one optimiser step on `batch`. Every [`report_every`](TrainConfig::report_every) steps
    /// the loss is read from the device, checked and returned.
    pub fn step(&mut self, batch: &A::Batch) -> Result<Option<StepReport>, TrainError> {
        let Differentiated { loss, gradient, statistics } = self.differentiate(batch)?;
        let learning_rate = self.config.learning_rate_at(self.step);
        let (trained, norm) = self.optimizer.step(self.net.trained(), gradient, learning_rate);
        self.net = self.net.with_trained(trained);
        self.net.update_statistics(statistics, self.config.norm_momentum);
        self.step += 1;
        if let Some(average) = &mut self.average {
            let (trunk, tower) = (self.trunk.as_mut(), self.tower.as_mut());
            let device = self.device.plain();
            let statistics =
                |net: &Net| batch_statistics(net, trunk, tower, batch.planes(), device);
            average.update(&self.net, self.step, statistics, self.config.norm_momentum)?;
        }
        // Reading the loss waits for the device, so most steps skip it.
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

    /// Forward and backward pass.
    fn differentiate(&mut self, batch: &A::Batch) -> Result<Differentiated, TrainError> {
        batch.check(&self.spec)?;
        if let Some(mut trunk) = self.trunk.take() {
            let done = self.differentiate_heads(batch, &mut trunk);
            self.trunk = Some(trunk);
            return done;
        }
        if let Some(mut tower) = self.tower.take() {
            let done = self.differentiate_linear_heads(batch, &mut tower);
            self.tower = Some(tower);
            return done;
        }
        self.differentiate_all(batch)
    }

    /// Forward and backward pass by burn alone.
    fn differentiate_all(&self, batch: &A::Batch) -> Result<Differentiated, TrainError> {
        let device = self.device.plain();
        let planes = planes_tensor(&self.spec, batch.planes().to_vec(), device);
        let parameters = self.net.tracked(0);
        let outputs = parameters.forward(planes, Mode::Train);
        let loss = self.algorithm.loss(batch, &outputs, device)?;
        let gradient = parameters.gradient(&mut loss.total.backward());
        Ok(Differentiated { loss, gradient, statistics: outputs.statistics })
    }

    /// Forward and backward pass with the CPU trunk. Burn computes heads and loss; the trunk's
    /// features are a leaf of burn's graph.
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

    /// Forward and backward pass with the tower on the device. Burn computes the linear layers of the
    /// heads and the loss; the features of the heads are leaves of burn's graph.
    fn differentiate_linear_heads(
        &self,
        batch: &A::Batch,
        tower: &mut Tower,
    ) -> Result<Differentiated, TrainError> {
        let device = self.device.plain();
        let first = tower.tensor_count();
        let planes = planes_tensor(&self.spec, batch.planes().to_vec(), device);
        let mut pass = tower.forward(&self.net, planes);
        let features = pass.features().map(|one| Tensor::from_inner(one).require_grad());

        let parameters = self.net.tracked(first);
        let [policy, value] = features.clone();
        let outputs = parameters.linear_heads(policy, value);
        let loss = self.algorithm.loss(batch, &outputs, device)?;
        let mut gradients = loss.total.backward();
        let pulls = features.map(|one| {
            let pull = one.grad_remove(&mut gradients);
            pull.unwrap_or_else(|| one.inner().zeros_like())
        });
        let statistics = std::mem::take(&mut pass.statistics);
        let [trunk, policy, value] = pass.backward(pulls);
        // A head is a convolution with its norm, then linear layers, which burn differentiated.
        let linear = parameters.gradients(&mut gradients);
        let mut parts = trunk;
        let (policy_linear, value_linear) = (&linear[3..5], &linear[8..]);
        parts.extend(policy.into_iter().chain(policy_linear.iter().cloned()));
        parts.extend(value.into_iter().chain(value_linear.iter().cloned()));
        Ok(Differentiated { loss, gradient: Tensor::cat(parts, 0), statistics })
    }

    /// Computes loss and gradient on `batch` without a step.
    pub fn gradient(&mut self, batch: &A::Batch) -> Result<Gradient, TrainError> {
        let Differentiated { loss, gradient, .. } = self.differentiate(batch)?;
        let tensors = self.net.layout().split(&read(&gradient)?);
        Ok(Gradient { loss: loss.read()?, tensors })
    }

    /// Logits and values on `batch` with running statistics, as in play, for comparisons of devices.
    /// Burn computes them, also on the CPU.
    pub fn outputs(&self, batch: &A::Batch) -> Result<(Vec<f32>, Vec<f32>), TrainError> {
        batch.check(&self.spec)?;
        let planes = planes_tensor(&self.spec, batch.planes().to_vec(), self.device.plain());
        let outputs = self.net.evaluate(planes);
        Ok((read(&outputs.logits)?, read(&outputs.values)?))
    }

    /// The network to publish: the average, if weights are averaged.
    fn published(&self) -> &Net {
        self.average.as_ref().map_or(&self.net, WeightAverage::net)
    }

    fn meta(&self, generation: Generation) -> WeightsMeta {
        WeightsMeta { game: self.game.clone(), generation, step: self.step }
    }

    /// The published network as weights of `generation`, after the export check.
    /// Waits for the device.
    pub fn export(
        &self,
        generation: Generation,
        export_check: &ExportCheck,
    ) -> Result<Weights, TrainError> {
        export::checked(self.published(), self.meta(generation), export_check, self.device.plain())
    }

    /// The published network as weights, without that check. Waits for the device.
    pub fn weights(&self, generation: Generation) -> Result<Weights, TrainError> {
        export::weights(self.published(), self.meta(generation))
    }

    /// The state that a later trainer resumes from. Waits for the device.
    pub fn state(&self) -> Result<TrainerState, TrainError> {
        let average = self.average.as_ref().map(|average| {
            Ok::<_, TrainError>(WeightAverageState {
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

    /// The device.
    pub fn device(&self) -> &TrainDevice {
        &self.device
    }
}

/// The trunk's features of `planes`, `[rows, channels, H, W]`, and its batch statistics.
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

/// Batch norm statistics of a network on `planes`, in order.
fn batch_statistics(
    net: &Net,
    trunk: Option<&mut Trunk>,
    tower: Option<&mut Tower>,
    planes: &[f32],
    device: &Device,
) -> Result<Vec<Tensor<1>>, TrainError> {
    let spec = net.layout().spec();
    if let Some(tower) = tower {
        let planes = planes_tensor(spec, planes.to_vec(), device);
        return Ok(tower.forward(net, planes).statistics);
    }
    let Some(trunk) = trunk else {
        let planes = planes_tensor(spec, planes.to_vec(), device);
        return Ok(net.untracked(0).forward(planes, Mode::Train).statistics);
    };
    let (features, first) = trunk_features(spec, trunk, &read(&net.trained())?, planes, device);
    let heads = net.untracked(trunk.tensor_count()).heads(features, Mode::Train);
    Ok(std::iter::once(first).chain(heads.statistics).collect())
}

/// Result of a forward and a backward pass.
struct Differentiated {
    loss: DeviceLoss,
    /// `[trained]`.
    gradient: Tensor<1>,
    statistics: Vec<Tensor<1>>,
}

#[cfg(test)]
mod tests;
