//! The network as burn trains it.
//!
//! A [`Net`] is two vectors, each in the order of [`NetSpec::tensors`]: all trained values, and
//! batch norm's running statistics. Optimiser, weight average, saved state and export therefore
//! handle one vector for any architecture. Only [`Net::update_statistics`] changes the statistics,
//! and no gradient flows to them.
//!
//! A pass takes [`Parameters`]: the two vectors cut into the tensors of the spec, and tracked if
//! gradients are needed. The module `layers` computes the pass.

mod layers;

use std::ops::Range;
use std::sync::Arc;

use burn_tensor::{Device, Gradients, Tensor, TensorData};
use ouro_net::{NetSpec, TensorRole, TensorSpec, Weights};

pub(crate) use layers::{Mode, Outputs};

use crate::error::TrainError;

/// Positions of a spec's tensors in the two vectors.
#[derive(Debug)]
pub struct ParameterLayout {
    spec: NetSpec,
    tensors: Vec<TensorSpec>,
    /// Per tensor: whether it is trained, and its range in its vector.
    ranges: Vec<(bool, Range<usize>)>,
    /// Values in each vector, the running one first.
    lengths: [usize; 2],
}

impl ParameterLayout {
    /// The layout of a valid spec.
    pub fn new(spec: &NetSpec) -> Self {
        let tensors = spec.tensors();
        let mut lengths = [0; 2];
        let ranges = tensors.iter().map(|tensor| {
            let is_trained = is_trained(tensor.role);
            let length = &mut lengths[usize::from(is_trained)];
            let from = *length;
            *length += tensor.len();
            (is_trained, from..*length)
        });
        let ranges = ranges.collect();
        Self { spec: spec.clone(), tensors, ranges, lengths }
    }

    /// The spec.
    pub fn spec(&self) -> &NetSpec {
        &self.spec
    }

    /// The tensors of the spec, in order.
    pub fn tensors(&self) -> &[TensorSpec] {
        &self.tensors
    }

    /// Number of trained values.
    pub fn trained_len(&self) -> usize {
        self.lengths[1]
    }

    /// The trained tensors with their ranges in the vector, in order.
    pub fn trained(&self) -> impl Iterator<Item = (&TensorSpec, Range<usize>)> {
        let ranges = self.tensors.iter().zip(&self.ranges);
        ranges.filter(|(_, place)| place.0).map(|(tensor, place)| (tensor, place.1.clone()))
    }

    /// Cuts a vector of the length of the trained values into its tensors.
    pub fn split(&self, vector: &[f32]) -> Vec<Vec<f32>> {
        self.trained().map(|(_, place)| vector[place].to_vec()).collect()
    }

    /// The two vectors, running statistics first, from every tensor in order.
    pub(crate) fn gather(&self, tensors: &[Vec<f32>]) -> [Vec<f32>; 2] {
        let mut vectors = self.lengths.map(Vec::with_capacity);
        for (values, (is_trained, _)) in tensors.iter().zip(&self.ranges) {
            vectors[usize::from(*is_trained)].extend_from_slice(values);
        }
        vectors
    }

    /// Every tensor in order, from the two vectors.
    fn scatter(&self, vectors: &[Vec<f32>; 2]) -> Vec<Vec<f32>> {
        let tensor = |(is_trained, place): &(bool, Range<usize>)| {
            vectors[usize::from(*is_trained)][place.clone()].to_vec()
        };
        self.ranges.iter().map(tensor).collect()
    }
}

/// Whether gradients change a tensor of this role.
pub(crate) fn is_trained(role: TensorRole) -> bool {
    !matches!(role, TensorRole::RunningMean | TensorRole::RunningVariance)
}

/// A network on a device. Clones share memory until one of them changes.
#[derive(Clone, Debug)]
pub struct Net {
    layout: Arc<ParameterLayout>,
    /// `[trained]`.
    trained: Tensor<1>,
    /// `[running]`; `None` without batch norm.
    running: Option<Tensor<1>>,
}

/// The tensors of a network for one pass.
#[derive(Clone, Debug)]
pub struct Parameters {
    layout: Arc<ParameterLayout>,
    /// Index of the first tensor in the spec; more than 0 if other code computes the first layers.
    first: usize,
    tensors: Vec<Tensor<1>>,
}

/// Numbers as a vector on a device.
pub(crate) fn vector(values: Vec<f32>, device: &Device) -> Tensor<1> {
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), device)
}

impl Net {
    /// The network with these weights. `device` is one without gradients.
    pub fn new(weights: &Weights, device: &Device) -> Self {
        let layout = ParameterLayout::new(weights.spec());
        let [running, trained] = layout.gather(weights.tensors());
        let running = (!running.is_empty()).then(|| vector(running, device));
        Self { layout: Arc::new(layout), trained: vector(trained, device), running }
    }

    /// The layout of the two vectors.
    pub fn layout(&self) -> &ParameterLayout {
        &self.layout
    }

    /// All trained values, `[trained]`.
    pub fn trained(&self) -> Tensor<1> {
        self.trained.clone()
    }

    /// The network with other trained values, `[trained]`.
    #[must_use]
    pub fn with_trained(&self, trained: Tensor<1>) -> Self {
        Self { trained, ..self.clone() }
    }

    /// Moves the running statistics towards those of a batch by `momentum`. `statistics` are
    /// [`Outputs::statistics`] of a pass in [`Mode::Train`].
    pub fn update_statistics(&mut self, statistics: Vec<Tensor<1>>, momentum: f32) {
        if let Some(running) = self.running.take() {
            let batch = Tensor::cat(statistics, 0);
            self.running = Some(running * (1.0 - momentum) + batch * momentum);
        }
    }

    /// Whether the network has batch norm.
    pub fn has_norms(&self) -> bool {
        self.running.is_some()
    }

    /// The trained tensors in order, as vectors without gradients.
    pub fn trained_tensors(&self) -> Vec<Tensor<1>> {
        let places = self.layout.trained().map(|(_, place)| place);
        places.map(|place| self.trained.clone().narrow(0, place.start, place.len())).collect()
    }

    /// The tensors from index `first` on, for passes without gradients.
    pub fn untracked(&self, first: usize) -> Parameters {
        self.cut(first, |tensor| tensor)
    }

    /// The tensors from index `first` on, for one pass that is differentiated.
    pub fn tracked(&self, first: usize) -> Parameters {
        self.cut(first, |tensor| Tensor::from_inner(tensor).require_grad())
    }

    fn cut(&self, first: usize, lift: impl Fn(Tensor<1>) -> Tensor<1>) -> Parameters {
        let tensor = |(is_trained, place): &(bool, Range<usize>)| {
            let from = if *is_trained { Some(&self.trained) } else { self.running.as_ref() };
            let vector = from.expect("a network with running statistics has their vector");
            let tensor = vector.clone().narrow(0, place.start, place.len());
            if *is_trained { lift(tensor) } else { tensor }
        };
        let tensors = self.layout.ranges[first..].iter().map(tensor).collect();
        Parameters { layout: Arc::clone(&self.layout), first, tensors }
    }

    /// Logits and values with running statistics, as in play.
    pub fn evaluate(&self, planes: Tensor<4>) -> Outputs {
        self.untracked(0).forward(planes, Mode::Evaluate)
    }

    /// Every tensor in the order and layout of [`NetSpec::tensors`]. Waits for the device.
    pub fn tensors(&self) -> Result<Vec<Vec<f32>>, TrainError> {
        let running = self.running.as_ref().map(read).transpose()?.unwrap_or_default();
        Ok(self.layout.scatter(&[running, read(&self.trained)?]))
    }
}

impl Parameters {
    fn pass(&self, mode: Mode) -> layers::Pass<'_> {
        layers::Pass::new(&self.layout, &self.layout.tensors[self.first..], &self.tensors, mode)
    }

    /// Planes `[batch, C, H, W]` to logits and values.
    pub fn forward(&self, planes: Tensor<4>, mode: Mode) -> Outputs {
        self.pass(mode).run(planes)
    }

    /// Features `[batch, channels, H, W]` of a residual tower to logits and values. The tensors
    /// must be those of the heads.
    pub fn heads(&self, features: Tensor<4>, mode: Mode) -> Outputs {
        self.pass(mode).run_heads(features)
    }

    /// Features of the heads of a residual tower, `[batch, values]`, to logits and values. The tensors
    /// must be those of the heads.
    pub fn linear_heads(&self, policy: Tensor<2>, value: Tensor<2>) -> Outputs {
        self.pass(Mode::Train).run_linear_heads(policy, value)
    }

    /// A pass with running statistics that returns the results of every layer, by name, as
    /// `[batch, values]`.
    pub fn trace(&self, planes: Tensor<4>) -> Vec<(String, Tensor<2>)> {
        let mut pass = self.pass(Mode::Evaluate).traced();
        pass.compute(planes);
        pass.into_trace()
    }

    /// The gradient of the trained tensors from a backward pass, as one untracked vector.
    pub fn gradient(&self, gradients: &mut Gradients) -> Tensor<1> {
        Tensor::cat(self.gradients(gradients), 0)
    }

    /// The same, tensor by tensor.
    pub fn gradients(&self, gradients: &mut Gradients) -> Vec<Tensor<1>> {
        let ranges = self.layout.ranges[self.first..].iter();
        let trained = self.tensors.iter().zip(ranges).filter(|(_, place)| place.0);
        let part = |(tensor, _): (&Tensor<1>, _)| {
            let gradient = tensor.grad_remove(gradients);
            gradient.unwrap_or_else(|| tensor.clone().inner().zeros_like())
        };
        trained.map(part).collect()
    }
}

/// The numbers of a tensor. Waits for the device.
pub(crate) fn read<const D: usize>(tensor: &Tensor<D>) -> Result<Vec<f32>, TrainError> {
    tensor.try_to_vec_as().map_err(TrainError::read)
}

/// Rows of planes as the input of [`Parameters::forward`].
pub(crate) fn planes_tensor(spec: &NetSpec, planes: Vec<f32>, device: &Device) -> Tensor<4> {
    let shape = spec.planes;
    let rows = planes.len() / shape.len();
    let data = TensorData::new(planes, [rows, shape.channels, shape.height, shape.width]);
    Tensor::from_data(data, device)
}

#[cfg(test)]
mod tests;
