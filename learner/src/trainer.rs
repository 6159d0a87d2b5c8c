//! A network, its optimiser and their device, one optimiser step at a time.
//!
//! A [`Trainer`] must stay on one thread, because a GPU queue belongs to the thread that submits to
//! it. The trainer does not know the origin of batches or the destination of weights. On the CPU, a
//! trainer that resumes from its [`TrainerState`] takes the same steps, bit for bit.

use ouro_net::{Generation, NetSpec, Weights, WeightsMeta};

use crate::algorithm::Algorithm;
use crate::batch::Batch;
use crate::config::TrainConfig;
use crate::device::TrainDevice;
use crate::error::TrainError;
use crate::export;
use crate::export::ExportCheck;
use crate::loss::LossTerms;
use crate::model::{Net, Outputs, planes_tensor, read};
use crate::optimizer::{Optimizer, OptimizerState};
use crate::passes::{Differentiated, Passes};
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
    passes: Passes,
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
        let passes = Passes::new(&spec, &device);
        Ok(Self { algorithm, config, spec, game, device, net, passes, optimizer, average, step })
    }

    /// The same trainer without passes of our own, for comparisons. Burn computes everything.
    #[must_use]
    pub fn by_burn_alone(self) -> Self {
        Self { passes: Passes::Burn, ..self }
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
            let (passes, device) = (&mut self.passes, self.device.plain());
            let statistics = |net: &Net| passes.statistics(net, batch.planes(), device);
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
        let (algorithm, device) = (&self.algorithm, self.device.plain());
        let loss = |outputs: &Outputs| algorithm.loss(batch, outputs, device);
        self.passes.differentiate(&self.net, batch.planes(), device, loss)
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
    ///
    /// Fails if the network has diverged, even if the average of its weights has not. A later trainer
    /// would refuse the state.
    pub fn state(&self) -> Result<TrainerState, TrainError> {
        let trained = export::weights(&self.net, self.meta(Generation(0)))?;
        let average = self.average.as_ref().map(|average| {
            Ok::<_, TrainError>(WeightAverageState {
                count: average.count(),
                tensors: average.net().tensors()?,
            })
        });
        Ok(TrainerState {
            tensors: trained.tensors().to_vec(),
            optimizer: self.optimizer.state()?,
            average: average.transpose()?,
        })
    }

    /// The device.
    pub fn device(&self) -> &TrainDevice {
        &self.device
    }
}

#[cfg(test)]
mod tests;
