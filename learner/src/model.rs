//! The network as burn trains it.
//!
//! Parameters keep PyTorch's layout (a linear layer's weight is `[out, in]`) and the module
//! visits them in the order of [`NetSpec::tensors`], so weights move in and out by position,
//! without transposing anything.

use burn::module::{Module, ModuleVisitor, Param};
use burn::nn::PaddingConfig2d;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor, TensorData};
use ouro_net::{Architecture, NetSpec, TensorSpec, Weights};

use crate::trainer::TrainError;

/// A linear layer.
#[derive(Module, Debug)]
struct Dense {
    /// `[out, in]`.
    weight: Param<Tensor<2>>,
    /// `[out]`.
    bias: Param<Tensor<1>>,
}

impl Dense {
    /// `[batch, in]` to `[batch, out]`.
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        x.matmul(self.weight.val().transpose()) + self.bias.val().unsqueeze()
    }
}

/// [`Architecture::Conv`]. Fields are in the order of its tensors.
#[derive(Module, Debug)]
pub struct Net {
    conv: Vec<Conv2d>,
    hidden: Dense,
    policy: Dense,
    value: Dense,
}

/// Hands out tensors in order.
struct Source<'a> {
    tensors: std::iter::Zip<std::vec::IntoIter<TensorSpec>, std::slice::Iter<'a, Vec<f32>>>,
    device: &'a Device,
}

impl Source<'_> {
    fn next<const D: usize>(&mut self) -> Param<Tensor<D>> {
        let (spec, values) = self.tensors.next().expect("weights hold every tensor of their spec");
        let data = TensorData::new(values.clone(), spec.shape);
        Param::from_tensor(Tensor::from_data(data, self.device))
    }

    fn dense(&mut self) -> Dense {
        Dense { weight: self.next(), bias: self.next() }
    }
}

impl Net {
    /// The network with these weights. It can be trained if `device` is an autodiff device.
    pub fn new(weights: &Weights, device: &Device) -> Self {
        let spec = weights.spec();
        let mut source =
            Source { tensors: spec.tensors().into_iter().zip(weights.tensors()), device };
        let Architecture::Conv { channels, layers, .. } = spec.architecture else {
            unreachable!("the configuration admits no other architecture")
        };
        let conv = (0..layers)
            .map(|layer| {
                let inputs = if layer == 0 { spec.planes.channels } else { channels };
                let mut conv = Conv2dConfig::new([inputs, channels], [3, 3])
                    .with_padding(PaddingConfig2d::Explicit(1, 1, 1, 1))
                    .init(device);
                conv.weight = source.next();
                conv.bias = Some(source.next());
                conv
            })
            .collect();
        Self { conv, hidden: source.dense(), policy: source.dense(), value: source.dense() }
    }

    /// Planes `[batch, C, H, W]` to logits `[batch, actions]` and values `[batch, 1]`.
    pub fn forward(&self, planes: Tensor<4>) -> (Tensor<2>, Tensor<2>) {
        let mut x = planes;
        for conv in &self.conv {
            x = relu(conv.forward(x));
        }
        let x = relu(self.hidden.forward(x.flatten(1, 3)));
        (self.policy.forward(x.clone()), self.value.forward(x))
    }

    /// The parameters, in the order and layout of [`NetSpec::tensors`].
    pub fn tensors(&self) -> Result<Vec<Vec<f32>>, TrainError> {
        struct Read(Vec<Result<Vec<f32>, TrainError>>);
        impl ModuleVisitor for Read {
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                self.0.push(param.val().inner().try_into_vec_as().map_err(TrainError::read));
            }
        }
        let mut read = Read(Vec::new());
        self.visit(&mut read);
        read.0.into_iter().collect()
    }
}

/// Rows of planes as the tensor that [`Net::forward`] takes.
pub fn planes_tensor(spec: &NetSpec, planes: Vec<f32>, device: &Device) -> Tensor<4> {
    let shape = spec.planes;
    let rows = planes.len() / shape.len();
    let data = TensorData::new(planes, [rows, shape.channels, shape.height, shape.width]);
    Tensor::from_data(data, device)
}

#[cfg(test)]
mod tests;
