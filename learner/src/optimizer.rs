//! `AdamW` (Loshchilov and Hutter 2019) with clipping of the global gradient norm.
//!
//! The update of one tensor is burn's. The state is held here, flat and by position, so that a
//! checkpoint can store it under the tensors' names and restore it exactly.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::{
    AdamW, AdamWConfig, AdamWState, AdaptiveMomentumState, GradientsParams, Optimizer as _,
};
use burn::tensor::{Device, Tensor, TensorData};

use crate::model::Net;
use crate::trainer::TrainError;

/// Keeps a zero gradient from dividing by zero.
const NORM_EPSILON: f32 = 1e-6;

/// The optimiser's state as plain numbers, in the order and layout of the network's tensors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments {
    /// Updates made; 0 means that both lists are empty.
    pub time: u64,
    /// First moments.
    pub first: Vec<Vec<f32>>,
    /// Second moments.
    pub second: Vec<Vec<f32>>,
}

/// The optimiser of one network.
pub struct Optimizer {
    rule: AdamW,
    max_norm: f32,
    states: Vec<Option<AdamWState<1>>>,
}

impl Optimizer {
    /// A fresh optimiser, or one that continues from `moments`.
    pub fn new(weight_decay: f32, max_norm: f32, moments: &Moments, device: &Device) -> Self {
        let tensor = |values: &Vec<f32>| {
            let length = values.len();
            Tensor::<1>::from_data(TensorData::new(values.clone(), [length]), device)
        };
        let states = moments.first.iter().zip(&moments.second).map(|(first, second)| {
            Some(AdamWState::new(AdaptiveMomentumState::new(
                moments.time as usize,
                tensor(first),
                tensor(second),
            )))
        });
        Self {
            rule: AdamWConfig::new().with_weight_decay(weight_decay).build(),
            max_norm,
            states: states.collect(),
        }
    }

    /// One update. Returns the network and the gradient's norm before clipping, on the device.
    pub fn step(&mut self, net: Net, mut grads: GradientsParams, rate: f64) -> (Net, Tensor<1>) {
        let mut squares = SumOfSquares { grads: &grads, sum: None };
        net.visit(&mut squares);
        let norm = squares.sum.expect("a network has parameters").sqrt();
        let scale = (norm.clone() + NORM_EPSILON).recip().mul_scalar(self.max_norm).clamp_max(1.0);
        let mut update = Update { optimizer: self, grads: &mut grads, scale, rate, index: 0 };
        let net = net.map(&mut update);
        (net, norm)
    }

    /// The state as plain numbers. Waits for the device.
    pub fn moments(&self) -> Result<Moments, TrainError> {
        let mut moments = Moments::default();
        for state in self.states.iter().flatten() {
            let state = &state.momentum;
            let read = |tensor: &Tensor<1>| tensor.try_to_vec_as().map_err(TrainError::read);
            moments.time = state.time as u64;
            moments.first.push(read(&state.moment_1)?);
            moments.second.push(read(&state.moment_2)?);
        }
        Ok(moments)
    }
}

struct SumOfSquares<'a> {
    grads: &'a GradientsParams,
    sum: Option<Tensor<1>>,
}

impl ModuleVisitor for SumOfSquares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(grad) = self.grads.get::<D>(param.id) else { return };
        let square = grad.square().sum();
        self.sum = Some(match self.sum.take() {
            Some(sum) => sum + square,
            None => square,
        });
    }
}

struct Update<'a> {
    optimizer: &'a mut Optimizer,
    grads: &'a mut GradientsParams,
    scale: Tensor<1>,
    rate: f64,
    index: usize,
}

impl ModuleMapper for Update<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let index = self.index;
        self.index += 1;
        let (id, tensor, mapper) = param.consume();
        let shape = tensor.shape();
        let flat: Tensor<1> = tensor.inner().reshape([shape.num_elements()]);
        // A parameter that the loss does not reach still decays and keeps its state in step.
        let grad = match self.grads.remove::<D>(id) {
            Some(grad) => grad.reshape([shape.num_elements()]) * self.scale.clone(),
            None => flat.zeros_like(),
        };
        let states = &mut self.optimizer.states;
        if states.len() <= index {
            states.resize(index + 1, None);
        }
        let state = states[index].take();
        let (flat, state) = self.optimizer.rule.step(self.rate, flat, grad, state);
        self.optimizer.states[index] = state;
        let tensor = Tensor::from_inner(flat.reshape(shape)).require_grad();
        Param::from_mapped_value(id, tensor, mapper)
    }
}
