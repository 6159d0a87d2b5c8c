//! The layers of every [`Architecture`] on tensors.
//!
//! [`ouro_net::reference`] is the same computation in plain loops. A [`Pass`] takes its tensors
//! from the front of the list, so layers run in the order of [`ouro_net::NetSpec::tensors`].
//! Boards are `[batch, channels, height, width]`.

use burn_tensor::activation::{leaky_relu, relu, softmax};
use burn_tensor::module::{batch_norm, batch_norm_train, conv2d, max_pool2d};
use burn_tensor::ops::{ConvOptions, MaxPoolOptions};
use burn_tensor::{Shape, Tensor};
use ouro_net::spec::{BATCH_NORM_EPSILON, LEAKY_SLOPE};
use ouro_net::{Architecture, GlobalPooling, TensorSpec, ValueRange};

use super::ParameterLayout;

/// Which statistics batch norm uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Statistics of the batch, which the pass returns.
    Train,
    /// Running statistics.
    Evaluate,
}

/// Result of a pass.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// `[batch, logits]` ([`NetSpec::logits`](ouro_net::NetSpec::logits)), illegal actions included.
    pub logits: Tensor<2>,
    /// `[batch, value_width]`, in the range of the architecture.
    pub values: Tensor<2>,
    /// The same before the range is applied.
    pub value_numbers: Tensor<2>,
    /// In [`Mode::Train`], mean and unbiased variance of the batch for every norm in order, each
    /// `[channels]`, without gradients.
    pub statistics: Vec<Tensor<1>>,
}

/// One pass.
pub(super) struct Pass<'a> {
    layout: &'a ParameterLayout,
    tensors: std::iter::Zip<std::slice::Iter<'a, TensorSpec>, std::slice::Iter<'a, Tensor<1>>>,
    mode: Mode,
    statistics: Vec<Tensor<1>>,
    trace: Option<Vec<(String, Tensor<2>)>>,
}

impl<'a> Pass<'a> {
    /// A pass over `tensors`, which `specs` describe.
    pub(super) fn new(
        layout: &'a ParameterLayout,
        specs: &'a [TensorSpec],
        tensors: &'a [Tensor<1>],
        mode: Mode,
    ) -> Self {
        let tensors = specs.iter().zip(tensors);
        Self { layout, tensors, mode, statistics: Vec::new(), trace: None }
    }

    /// The same pass, recording the results of every layer.
    pub(super) fn traced(self) -> Self {
        Self { trace: Some(Vec::new()), ..self }
    }

    pub(super) fn into_trace(self) -> Vec<(String, Tensor<2>)> {
        self.trace.unwrap_or_default()
    }

    pub(super) fn run(mut self, planes: Tensor<4>) -> Outputs {
        let heads = self.compute(planes);
        self.outputs(heads)
    }

    /// Only the heads of a residual tower.
    pub(super) fn run_heads(mut self, features: Tensor<4>) -> Outputs {
        let heads = self.residual_heads(features);
        self.outputs(heads)
    }

    /// Only the linear layers of the heads of a residual tower. `policy` and `value` are the
    /// features of the heads, `[batch, values]`.
    pub(super) fn run_linear_heads(mut self, policy: Tensor<2>, value: Tensor<2>) -> Outputs {
        self.skip_normed_convolution();
        let logits = self.linear(policy);
        self.skip_normed_convolution();
        let value = relu(self.linear(value));
        let value_numbers = self.linear(value);
        self.outputs((logits, value_numbers))
    }

    /// Maps the numbers of the value head to the range of the architecture.
    fn outputs(self, (logits, value_numbers): (Tensor<2>, Tensor<2>)) -> Outputs {
        let values = match self.layout.spec().architecture.value_range() {
            ValueRange::Unbounded => value_numbers.clone(),
            ValueRange::Tanh => value_numbers.clone().tanh(),
            ValueRange::Outcome => softmax(value_numbers.clone(), 1),
        };
        Outputs { logits, values, value_numbers, statistics: self.statistics }
    }

    /// Logits and the numbers of the value head.
    pub(super) fn compute(&mut self, planes: Tensor<4>) -> (Tensor<2>, Tensor<2>) {
        let architecture = &self.layout.spec().architecture;
        match *architecture {
            Architecture::Conv { layers, .. } => {
                let mut x = planes;
                for _ in 0..layers {
                    x = relu(self.convolution(x));
                }
                let x = relu(self.linear(x.flatten(1, 3)));
                (self.linear(x.clone()), self.linear(x))
            }
            Architecture::Residual { blocks, global_pooling, .. } => {
                let x = self.tower(planes, blocks, global_pooling);
                self.residual_heads(x)
            }
            Architecture::TwoConv { .. } => {
                let x = leaky(self.convolution(planes));
                let x = leaky(self.convolution(x));
                let x: Tensor<2> = max_pool2d(x, MaxPoolOptions::new([2, 2])).flatten(1, 3);
                let mut head = || {
                    let y = leaky(self.linear(x.clone()));
                    let y = leaky(self.linear(y));
                    self.linear(y)
                };
                (head(), head())
            }
            Architecture::Mlp { layers, .. } => {
                let mut x = planes.flatten(1, 3);
                for _ in 0..layers {
                    x = relu(self.linear(x));
                }
                (self.linear(x.clone()), self.linear(x))
            }
        }
    }

    /// Logits and the numbers of the value head.
    fn residual_heads(&mut self, x: Tensor<4>) -> (Tensor<2>, Tensor<2>) {
        let policy = relu(self.normed_convolution(x.clone()));
        let policy = self.linear(policy.flatten(1, 3));
        let value = relu(self.normed_convolution(x));
        let value = relu(self.linear(value.flatten(1, 3)));
        (policy, self.linear(value))
    }

    /// Stem and blocks.
    fn tower(
        &mut self,
        planes: Tensor<4>,
        blocks: usize,
        pooling: Option<GlobalPooling>,
    ) -> Tensor<4> {
        let mut x = relu(self.normed_convolution(planes));
        for block in 0..blocks {
            let mut y = self.normed_convolution(x.clone());
            if let Some(pooling) = pooling.filter(|pooling| pooling.applies_to(block)) {
                y = self.pool_globally(y, pooling);
            }
            y = self.normed_convolution(relu(y));
            x = relu(x + y);
        }
        x
    }

    /// The next tensor in its shape, with the name of its layer.
    fn next<const D: usize>(&mut self) -> (&'a str, Tensor<D>) {
        let (spec, tensor) = self.tensors.next().expect("a network has every tensor of its spec");
        let layer = spec.name.rsplit_once('.').map_or(&spec.name[..], |(layer, _)| layer);
        (layer, tensor.clone().reshape(Shape::from(spec.shape.clone())))
    }

    fn keep<const D: usize>(&mut self, layer: &str, results: &Tensor<D>) {
        if let Some(trace) = &mut self.trace {
            let rows = results.dims()[0];
            let width = results.shape().num_elements() / rows;
            trace.push((layer.to_owned(), results.clone().reshape([rows, width])));
        }
    }

    /// `[batch, in]` to `[batch, out]`; the weight is `[out, in]`.
    fn linear(&mut self, x: Tensor<2>) -> Tensor<2> {
        let (layer, weight) = self.next::<2>();
        let (_, bias) = self.next::<1>();
        let y = x.matmul(weight.transpose()) + bias.unsqueeze();
        self.keep(layer, &y);
        y
    }

    /// A convolution with bias.
    fn convolution(&mut self, x: Tensor<4>) -> Tensor<4> {
        let (layer, weight) = self.next::<4>();
        let (_, bias) = self.next::<1>();
        let y = convolve(x, weight, Some(bias));
        self.keep(layer, &y);
        y
    }

    /// A convolution without bias, then batch norm.
    fn normed_convolution(&mut self, x: Tensor<4>) -> Tensor<4> {
        let (layer, weight) = self.next::<4>();
        let y = convolve(x, weight, None);
        self.keep(layer, &y);
        let (layer, scale) = self.next::<1>();
        let [bias, mean, variance] = [(); 3].map(|()| self.next::<1>().1);
        let y = match self.mode {
            Mode::Evaluate => batch_norm(y, scale, bias, mean, variance, BATCH_NORM_EPSILON),
            Mode::Train => {
                let [rows, channels, height, width] = y.dims();
                let normed = batch_norm_train(y, scale, bias, BATCH_NORM_EPSILON);
                let count = rows * height * width;
                let unbiased = count as f32 / (count.max(2) - 1) as f32;
                debug_assert_eq!(normed.mean.dims(), [channels]);
                self.statistics.push(normed.mean.inner());
                self.statistics.push(normed.variance.inner() * unbiased);
                normed.output
            }
        };
        self.keep(layer, &y);
        y
    }

    fn skip_normed_convolution(&mut self) {
        self.tensors.by_ref().take(5).for_each(drop);
    }

    /// [`GlobalPooling`] on the results of a block's first norm.
    fn pool_globally(&mut self, y: Tensor<4>, pooling: GlobalPooling) -> Tensor<4> {
        let pooled = relu(y.clone().narrow(1, 0, pooling.channels)).flatten::<3>(2, 3);
        let (mean, max) = (pooled.clone().mean_dim(2), pooled.max_dim(2));
        let shift = self.linear(Tensor::cat(vec![mean, max], 1).flatten(1, 2));
        let [rows, channels] = shift.dims();
        y + shift.reshape([rows, channels, 1, 1])
    }
}

/// A convolution with stride 1 and zero padding that keeps the board's size.
fn convolve(x: Tensor<4>, weight: Tensor<4>, bias: Option<Tensor<1>>) -> Tensor<4> {
    let half = weight.dims()[3] / 2;
    conv2d(x, weight, bias, ConvOptions::new([1, 1], [half, half], [1, 1], 1))
}

fn leaky<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    leaky_relu(x, f64::from(LEAKY_SLOPE))
}
