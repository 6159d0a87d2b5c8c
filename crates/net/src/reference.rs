//! The reference implementation in f64: slow and simple. [`crate::Engine`] and the learner's
//! network are compared with it.

use crate::spec::{Architecture, TensorSpec, ValueRange};
use crate::spec::{BATCH_NORM_EPSILON, LEAKY_SLOPE};
use crate::weights::Weights;

/// Evaluates a batch of positions one by one.
///
/// Shapes as in [`Engine::evaluate`](crate::Engine::evaluate): `planes` `[batch, C, H, W]`,
/// `logits` `[batch, logits]`, `values` `[batch, value_width]`.
///
/// # Panics
///
/// If the three slices differ in batch size.
pub fn evaluate(weights: &Weights, planes: &[f32], logits: &mut [f32], values: &mut [f32]) {
    let spec = weights.spec();
    let (input, outputs) = (spec.planes.len(), spec.logits());
    let (width, batch) = (spec.value_width(), planes.len() / input);
    assert_eq!(planes.len(), batch * input, "planes must be [batch, {input}]");
    assert_eq!(values.len(), batch * width, "values must be [batch, {width}]");
    assert_eq!(logits.len(), batch * outputs, "logits must be [batch, {outputs}]");
    let positions = planes.chunks_exact(input).zip(logits.chunks_exact_mut(outputs));
    let list = spec.tensors();
    for ((planes, logits), values) in positions.zip(values.chunks_exact_mut(width)) {
        let (policy, numbers) = Net::new(weights, &list, None).run(&spec.architecture, planes);
        for (logit, policy) in logits.iter_mut().zip(policy) {
            *logit = policy as f32;
        }
        // Subtracting the largest number keeps every exponential finite.
        let top = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = numbers.iter().map(|number| (number - top).exp()).sum();
        for (value, &number) in values.iter_mut().zip(&numbers) {
            *value = match spec.architecture.value_range() {
                ValueRange::Unbounded => number as f32,
                ValueRange::Tanh => number.tanh() as f32,
                ValueRange::Outcome => ((number - top).exp() / sum) as f32,
            };
        }
    }
}

/// The results of every layer for one position, in order, before activations.
///
/// A layer's name is that of its tensors without the last part. A convolution with batch norm is
/// two layers.
pub fn layers(weights: &Weights, planes: &[f32]) -> Vec<(String, Vec<f64>)> {
    let (list, mut trace) = (weights.spec().tensors(), Vec::new());
    Net::new(weights, &list, Some(&mut trace)).run(&weights.spec().architecture, planes);
    trace
}

/// Names and results of the layers so far.
type Trace = Vec<(String, Vec<f64>)>;

/// One forward pass; every layer takes its tensors from the front of the list.
struct Net<'a> {
    tensors: std::iter::Zip<std::slice::Iter<'a, TensorSpec>, std::slice::Iter<'a, Vec<f32>>>,
    height: usize,
    width: usize,
    trace: Option<&'a mut Trace>,
}

impl<'a> Net<'a> {
    fn new(weights: &'a Weights, list: &'a [TensorSpec], trace: Option<&'a mut Trace>) -> Self {
        let planes = weights.spec().planes;
        let tensors = list.iter().zip(weights.tensors());
        Self { tensors, height: planes.height, width: planes.width, trace }
    }

    /// Logits, and the numbers of the value head before its range is applied.
    fn run(mut self, architecture: &Architecture, planes: &[f32]) -> (Vec<f64>, Vec<f64>) {
        let mut x: Vec<f64> = planes.iter().map(|&value| f64::from(value)).collect();
        match *architecture {
            Architecture::Conv { layers, .. } => {
                for _ in 0..layers {
                    x = relu(self.convolve_biased(&x));
                }
                x = relu(self.linear(&x));
                (self.linear(&x), self.linear(&x))
            }
            Architecture::Residual { blocks, global_pooling, .. } => {
                x = relu(self.convolve_normed(&x, 3));
                for block in 0..blocks {
                    let mut y = self.convolve_normed(&x, 3);
                    if let Some(pooling) = global_pooling
                        && pooling.applies_to(block)
                    {
                        let cells = self.height * self.width;
                        let pooled = relu(y[..pooling.channels * cells].to_vec());
                        let planes = || pooled.chunks_exact(cells);
                        let mean = planes().map(|p| p.iter().sum::<f64>() / cells as f64);
                        let max = planes().map(|p| p.iter().copied().fold(0.0, f64::max));
                        let shift = self.linear(&mean.chain(max).collect::<Vec<_>>());
                        for (plane, shift) in y.chunks_exact_mut(cells).zip(shift) {
                            plane.iter_mut().for_each(|y| *y += shift);
                        }
                    }
                    let y = self.convolve_normed(&relu(y), 3);
                    x = relu(x.iter().zip(y).map(|(x, y)| x + y).collect());
                }
                let policy = relu(self.convolve_normed(&x, 1));
                let policy = self.linear(&policy);
                let value = relu(self.convolve_normed(&x, 1));
                let value = relu(self.linear(&value));
                (policy, self.linear(&value))
            }
            Architecture::TwoConv { .. } => {
                x = leaky(self.convolve_biased(&x));
                x = leaky(self.convolve_biased(&x));
                x = self.max_pool(&x);
                let mut head = || {
                    let y = leaky(self.linear(&x));
                    let y = leaky(self.linear(&y));
                    self.linear(&y)
                };
                (head(), head())
            }
            Architecture::Mlp { layers, .. } => {
                for _ in 0..layers {
                    x = relu(self.linear(&x));
                }
                (self.linear(&x), self.linear(&x))
            }
        }
    }

    /// The next tensor, with the name of its layer.
    fn next(&mut self) -> (&'a str, Vec<f64>) {
        let (spec, values) = self.tensors.next().expect("weights hold every tensor of their spec");
        let layer = spec.name.rsplit_once('.').map_or(&spec.name[..], |(layer, _)| layer);
        (layer, values.iter().map(|&value| f64::from(value)).collect())
    }

    fn keep(&mut self, layer: &str, results: &[f64]) {
        if let Some(trace) = &mut self.trace {
            trace.push((layer.to_owned(), results.to_vec()));
        }
    }

    fn linear(&mut self, x: &[f64]) -> Vec<f64> {
        let ((layer, weight), (_, bias)) = (self.next(), self.next());
        let rows = weight.chunks_exact(x.len()).zip(bias);
        let y: Vec<f64> = rows
            .map(|(row, bias)| bias + row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>())
            .collect();
        self.keep(layer, &y);
        y
    }

    fn convolve_biased(&mut self, x: &[f64]) -> Vec<f64> {
        let ((layer, weight), (_, bias)) = (self.next(), self.next());
        let y = self.convolve(x, &weight, &bias, 3);
        self.keep(layer, &y);
        y
    }

    /// Convolution without bias, then batch norm with the running statistics.
    fn convolve_normed(&mut self, x: &[f64], side: usize) -> Vec<f64> {
        let (layer, weight) = self.next();
        let (norm, scale) = self.next();
        let [bias, mean, variance] = [(); 3].map(|()| self.next().1);
        let mut y = self.convolve(x, &weight, &vec![0.0; bias.len()], side);
        self.keep(layer, &y);
        for (channel, plane) in y.chunks_exact_mut(self.height * self.width).enumerate() {
            let deviation = (variance[channel] + BATCH_NORM_EPSILON).sqrt();
            for y in plane {
                *y = (*y - mean[channel]) / deviation * scale[channel] + bias[channel];
            }
        }
        self.keep(norm, &y);
        y
    }

    /// Stride 1, zero padding `side / 2`. `x` is `[in, height, width]`, `weight`
    /// `[out, in, side, side]`.
    fn convolve(&self, x: &[f64], weight: &[f64], bias: &[f64], side: usize) -> Vec<f64> {
        let (height, width, half) = (self.height, self.width, side / 2);
        let inputs = x.len() / (height * width);
        let mut out = Vec::with_capacity(bias.len() * height * width);
        for (output, bias) in bias.iter().enumerate() {
            for (row, column) in (0..height).flat_map(|row| (0..width).map(move |c| (row, c))) {
                let mut sum = *bias;
                for input in 0..inputs {
                    for (dy, dx) in (0..side).flat_map(|dy| (0..side).map(move |dx| (dy, dx))) {
                        let (y, x_) = (row + dy, column + dx);
                        if y >= half && x_ >= half && y - half < height && x_ - half < width {
                            let cell = (input * height + y - half) * width + x_ - half;
                            let tap = ((output * inputs + input) * side + dy) * side + dx;
                            sum += x[cell] * weight[tap];
                        }
                    }
                }
                out.push(sum);
            }
        }
        out
    }

    /// 2×2, stride 2, no padding.
    fn max_pool(&self, x: &[f64]) -> Vec<f64> {
        let mut out = Vec::new();
        for plane in x.chunks_exact(self.height * self.width) {
            for (row, column) in
                (0..self.height / 2).flat_map(|row| (0..self.width / 2).map(move |c| (row, c)))
            {
                let at = 2 * row * self.width + 2 * column;
                let below = at + self.width;
                let cells = [plane[at], plane[at + 1], plane[below], plane[below + 1]];
                out.push(cells.into_iter().fold(f64::NEG_INFINITY, f64::max));
            }
        }
        out
    }
}

fn relu(mut x: Vec<f64>) -> Vec<f64> {
    x.iter_mut().for_each(|value| *value = value.max(0.0));
    x
}

fn leaky(mut x: Vec<f64>) -> Vec<f64> {
    x.iter_mut().for_each(|value| *value = value.max(f64::from(LEAKY_SLOPE) * *value));
    x
}
