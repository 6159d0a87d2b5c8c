//! Forward and backward pass of a residual tower on a GPU, with gradients written by hand.
//!
//! Without autotune, burn computes the gradient of a filter and the sums of batch norm with one thread
//! per result. These have few results of a hundred thousand addends each, so most of a GPU has no
//! work. A [`Tower`] computes filter gradients as matrix products over groups of boards, and sums in
//! stages: the cells of a board, then up to [`STAGE`] boards at a time. A number of boards that no number
//! from 2 to [`STAGE`] divides, such as a large prime, is one stage. ADR 0031 has the figures.
//!
//! Burn differentiates the linear layers of the heads and the loss. Its graph starts at the features of
//! the heads, and [`TowerPass::backward`] maps their gradients to those of the tower's tensors.
//!
//! Inside, tensors are channel-last: `[rows, channels]`, with a row for each cell of each board.

use burn_tensor::module::conv_transpose2d;
use burn_tensor::ops::ConvTransposeOptions;
use burn_tensor::{Device, Int, Tensor, TensorData};
use ouro_game::PlaneShape;
use ouro_net::spec::BATCH_NORM_EPSILON;
use ouro_net::{Architecture, NetSpec};

use crate::model::Net;

/// Most boards that a stage of a sum adds up, if their number has a divisor up to this.
const STAGE: usize = 32;
/// Rows in a group of boards whose part of a filter gradient is one matrix product.
const GROUP_ROWS: usize = 1_024;
/// Limit of [`Tower::column_bytes`]. Adapters need not bind more than 128 MiB at once.
const COLUMN_BYTES: usize = 96 << 20;
/// Trained tensors of a convolution and its norm: weight, scale, bias.
const TRAINED: usize = 3;

/// A residual tower without pooling, with the convolutions of its heads.
#[derive(Debug)]
pub(crate) struct Tower {
    planes: PlaneShape,
    blocks: usize,
    /// Most bytes of the columns of boards at a time.
    column_bytes: usize,
    /// The rows that [`Self::columns`] gathers, for the largest chunk of boards so far.
    neighbours: Option<(usize, Tensor<1, Int>)>,
}

/// What a backward pass needs of a forward pass.
pub(crate) struct TowerPass<'a> {
    tower: &'a mut Tower,
    boards: usize,
    /// Stem and blocks.
    layers: Vec<Layer>,
    /// Convolutions of the policy and of the value head.
    heads: [Layer; 2],
    /// Mean and unbiased variance of each norm in order, `[channels]`.
    pub(crate) statistics: Vec<Tensor<1>>,
}

/// A convolution, its norm and ReLU in one forward pass.
struct Layer {
    weight: Tensor<4>,
    /// `[rows, inputs]`.
    input: Tensor<2>,
    /// Results of the convolution with mean 0 and variance 1, `[rows, channels]`.
    normed: Tensor<2>,
    /// The norm's scale, divided by the standard deviation, `[1, channels]`.
    factor: Tensor<2>,
    /// `[rows, channels]`.
    results: Tensor<2>,
}

/// Gradients of a layer.
struct LayerGradient {
    /// Of the sum that enters ReLU, `[rows, channels]`.
    sum: Tensor<2>,
    /// Of the results of the convolution, `[rows, channels]`.
    convolved: Tensor<2>,
    /// Of scale and bias, `[channels]`.
    norm: [Tensor<1>; 2],
}

impl Tower {
    /// The tower of a network; `None` unless it is a residual tower without pooling.
    pub(crate) fn new(spec: &NetSpec) -> Option<Self> {
        match spec.architecture {
            Architecture::Residual { blocks, global_pooling: None, .. } => {
                let (planes, column_bytes) = (spec.planes, COLUMN_BYTES);
                Some(Self { planes, blocks, column_bytes, neighbours: None })
            }
            _ => None,
        }
    }

    /// Number of the spec's tensors before those of the heads, running statistics included.
    pub(crate) fn tensor_count(&self) -> usize {
        5 * (1 + 2 * self.blocks)
    }

    fn cells(&self) -> usize {
        self.planes.height * self.planes.width
    }

    /// A pass over planes, `[batch, C, H, W]`, with the statistics of the batch.
    pub(crate) fn forward(&mut self, net: &Net, planes: Tensor<4>) -> TowerPass<'_> {
        let boards = planes.dims()[0];
        let trained = net.trained_tensors();
        let rows = [boards * self.cells(), self.planes.channels];
        let mut x: Tensor<2> = planes.permute([0, 2, 3, 1]).reshape(rows);
        let mut statistics = Vec::new();
        let mut layers: Vec<Layer> = Vec::new();
        for index in 0..=2 * self.blocks {
            let closes_block = index > 0 && index % 2 == 0;
            let residual = closes_block.then(|| layers[index - 2].results.clone());
            let tensors = &trained[TRAINED * index..];
            let layer = self.layer(boards, x, tensors, residual, &mut statistics);
            x = layer.results.clone();
            layers.push(layer);
        }
        // The policy head has one linear layer between the two convolutions, of weight and bias.
        let first = TRAINED * layers.len();
        let heads = [first, first + TRAINED + 2]
            .map(|place| self.layer(boards, x.clone(), &trained[place..], None, &mut statistics));
        TowerPass { tower: self, boards, layers, heads, statistics }
    }

    fn layer(
        &self,
        boards: usize,
        input: Tensor<2>,
        tensors: &[Tensor<1>],
        residual: Option<Tensor<2>>,
        statistics: &mut Vec<Tensor<1>>,
    ) -> Layer {
        let [rows, inputs] = input.dims();
        let channels = tensors[1].dims()[0];
        let side = (tensors[0].dims()[0] / (inputs * channels)).isqrt();
        let weight: Tensor<4> = tensors[0].clone().reshape([channels, inputs, side, side]);
        let forward = weight.clone().swap_dims(0, 1);
        let y = match side {
            1 => input.clone().matmul(forward.reshape([inputs, channels])),
            _ => self.transposed_convolution(boards, input.clone(), forward.flip([2, 3])),
        };
        let count = rows as f32;
        let mean = self.sum(boards, y.clone()) / count;
        let centred = y - mean.clone();
        let variance = self.sum(boards, centred.clone().square()) / count;
        let inverse = (variance.clone() + BATCH_NORM_EPSILON).sqrt().recip();
        let normed = centred * inverse.clone();
        let [scale, bias] = [1, 2].map(|place| tensors[place].clone().reshape([1, channels]));
        let mut results = normed.clone() * scale.clone() + bias;
        if let Some(residual) = residual {
            results = results + residual;
        }
        let results = burn_tensor::activation::relu(results);
        let unbiased = count / (count - 1.0).max(1.0);
        statistics.push(mean.reshape([channels]));
        statistics.push(variance.reshape([channels]) * unbiased);
        Layer { weight, input, normed, factor: inverse * scale, results }
    }

    /// The transposed convolution of boards with `weight`, `[inputs, outputs, 3, 3]`. Burn's kernel
    /// for it is several times as fast as that for the convolution.
    fn transposed_convolution(&self, boards: usize, x: Tensor<2>, weight: Tensor<4>) -> Tensor<2> {
        let [rows, inputs] = x.dims();
        let outputs = weight.dims()[1];
        let PlaneShape { height, width, .. } = self.planes;
        let x: Tensor<4> = x.reshape([boards, height, width, inputs]).permute([0, 3, 1, 2]);
        let options = ConvTransposeOptions::new([1, 1], [1, 1], [0, 0], [1, 1], 1);
        let y = conv_transpose2d(x, weight, None, options);
        y.permute([0, 2, 3, 1]).reshape([rows, outputs])
    }

    /// The sum over all rows, `[1, channels]`.
    fn sum(&self, boards: usize, x: Tensor<2>) -> Tensor<2> {
        let channels = x.dims()[1];
        let by_board: Tensor<3> = x.reshape([boards, self.cells(), channels]);
        let mut x: Tensor<2> = by_board.sum_dim(1).reshape([boards, channels]);
        let mut rows = boards;
        while rows > 1 {
            let addends = largest_divisor(rows, STAGE);
            let addends = if addends == 1 { rows } else { addends };
            rows /= addends;
            let parts: Tensor<3> = x.reshape([rows, addends, channels]);
            x = parts.sum_dim(1).reshape([rows, channels]);
        }
        x
    }

    /// The gradient of a filter, `[outputs · inputs · side · side]`, from the input of its
    /// convolution and the gradient of its results.
    fn filter_gradient(
        &mut self,
        boards: usize,
        input: &Tensor<2>,
        gradient: &Tensor<2>,
        side: usize,
    ) -> Tensor<1> {
        let (inputs, outputs) = (input.dims()[1], gradient.dims()[1]);
        let width = side * side * inputs;
        let group = largest_divisor(boards, (GROUP_ROWS / self.cells()).max(1));
        let group_rows = group * self.cells();
        let groups = boards / group;
        let most = groups_at_once(self.column_bytes, group_rows, width, outputs).min(groups);
        let mut total: Option<Tensor<3>> = None;
        for first in (0..groups).step_by(most) {
            let count = most.min(groups - first);
            let part = |x: &Tensor<2>| {
                if count == groups {
                    return x.clone();
                }
                x.clone().narrow(0, first * group_rows, count * group_rows)
            };
            let columns = match side {
                1 => part(input),
                _ => self.columns(count * group, part(input)),
            };
            let columns: Tensor<3> = columns.reshape([count, group_rows, width]);
            let gradient: Tensor<3> = part(gradient).reshape([count, group_rows, outputs]);
            let product = columns.swap_dims(1, 2).matmul(gradient).sum_dim(0);
            total = Some(match total {
                Some(total) => total + product,
                None => product,
            });
        }
        let total = total.expect("a batch has boards");
        let filter: Tensor<4> = total.reshape([side, side, inputs, outputs]);
        filter.permute([3, 2, 0, 1]).reshape([outputs * width])
    }

    /// The 3×3 neighbourhood of each row, `[rows · 9, channels]`; 0 beyond the board.
    fn columns(&mut self, boards: usize, x: Tensor<2>) -> Tensor<2> {
        let [rows, channels] = x.dims();
        let device = x.device();
        if self.neighbours.as_ref().is_none_or(|(known, _)| *known < boards) {
            self.neighbours = Some((boards, neighbours(self.planes, boards, &device)));
        }
        let (_, neighbours) = self.neighbours.as_ref().expect("it was just made");
        let border = Tensor::zeros([1, channels], &device);
        Tensor::cat(vec![border, x], 0).select(0, neighbours.clone().narrow(0, 0, 9 * rows))
    }
}

impl TowerPass<'_> {
    /// Features of the policy and of the value head, `[batch, values]`.
    pub(crate) fn features(&self) -> [Tensor<2>; 2] {
        [0, 1].map(|head| {
            let x = self.heads[head].results.clone();
            let [_, channels] = x.dims();
            let cells = self.tower.cells();
            let x: Tensor<3> = x.reshape([self.boards, cells, channels]);
            x.swap_dims(1, 2).reshape([self.boards, channels * cells])
        })
    }

    /// The gradients of the trained tensors, in order, from those of [`Self::features`]: first those
    /// of stem and blocks, then those of the convolution of the policy head and of the value head.
    pub(crate) fn backward(self, features: [Tensor<2>; 2]) -> [Vec<Tensor<1>>; 3] {
        let Self { tower, boards, mut layers, heads, .. } = self;
        let cells = tower.cells();
        let mut outer: Option<Tensor<2>> = None;
        let [policy, value] = heads;
        let mut heads = [(policy, 0), (value, 1)].map(|(layer, head)| {
            let channels = layer.results.dims()[1];
            let pull: Tensor<3> = features[head].clone().reshape([boards, channels, cells]);
            let pull = pull.swap_dims(1, 2).reshape([boards * cells, channels]);
            let gradient = layer.backward(tower, boards, pull);
            let input = layer.input_gradient(tower, boards, gradient.convolved.clone());
            outer = Some(match outer.take() {
                Some(outer) => outer + input,
                None => input,
            });
            layer.tensors(tower, boards, gradient)
        });
        let mut outer = outer.expect("there are two heads");
        let mut parts: Vec<Vec<Tensor<1>>> = Vec::new();
        while layers.len() > 1 {
            let [second, first] = [(); 2].map(|()| layers.pop().expect("a block has two layers"));
            let last = second.backward(tower, boards, outer);
            let between = second.input_gradient(tower, boards, last.convolved.clone());
            let skipped = last.sum.clone();
            parts.push(second.tensors(tower, boards, last));
            let middle = first.backward(tower, boards, between);
            outer = first.input_gradient(tower, boards, middle.convolved.clone()) + skipped;
            parts.push(first.tensors(tower, boards, middle));
        }
        let stem = layers.pop().expect("a tower has a stem");
        let gradient = stem.backward(tower, boards, outer);
        parts.push(stem.tensors(tower, boards, gradient));
        let trunk = parts.into_iter().rev().flatten().collect();
        let [policy, value] = heads.each_mut().map(std::mem::take);
        [trunk, policy, value]
    }
}

impl Layer {
    /// The gradients inside the layer from that of its results.
    fn backward(&self, tower: &Tower, boards: usize, gradient: Tensor<2>) -> LayerGradient {
        let count = gradient.dims()[0] as f32;
        let sum = gradient.mask_fill(self.results.clone().lower_equal_elem(0.0), 0.0);
        let bias = tower.sum(boards, sum.clone());
        let scale = tower.sum(boards, sum.clone() * self.normed.clone());
        let along = self.normed.clone() * (scale.clone() / count);
        let convolved = (sum.clone() - along - bias.clone() / count) * self.factor.clone();
        let channels = bias.dims()[1];
        LayerGradient { sum, convolved, norm: [scale, bias].map(|one| one.reshape([channels])) }
    }

    /// The gradient of the input, `[rows, inputs]`, from that of the results of the convolution.
    fn input_gradient(&self, tower: &Tower, boards: usize, convolved: Tensor<2>) -> Tensor<2> {
        let [channels, inputs, side, _] = self.weight.dims();
        match side {
            1 => convolved.matmul(self.weight.clone().reshape([channels, inputs])),
            _ => tower.transposed_convolution(boards, convolved, self.weight.clone()),
        }
    }

    /// The gradients of weight, scale and bias.
    fn tensors(&self, tower: &mut Tower, boards: usize, gradient: LayerGradient) -> Vec<Tensor<1>> {
        let side = self.weight.dims()[3];
        let weight = tower.filter_gradient(boards, &self.input, &gradient.convolved, side);
        let [scale, bias] = gradient.norm;
        vec![weight, scale, bias]
    }
}

/// Number of groups whose columns, `[rows, width]` each, and whose products, `[width, outputs]` each, take at
/// most `bytes`; at least 1.
fn groups_at_once(bytes: usize, rows: usize, width: usize, outputs: usize) -> usize {
    (bytes / (4 * width * rows.max(outputs))).max(1)
}

/// The largest divisor of `number` up to `most`.
fn largest_divisor(number: usize, most: usize) -> usize {
    (1..=most.min(number)).rev().find(|one| number.is_multiple_of(*one)).unwrap_or(1)
}

/// For each cell of each board, nine rows in the order of a filter: 0 is the border, `1 + row` a row.
fn neighbours(planes: PlaneShape, boards: usize, device: &Device) -> Tensor<1, Int> {
    let PlaneShape { height, width, .. } = planes;
    let mut rows = Vec::with_capacity(9 * boards * height * width);
    for board in 0..boards {
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            for (down, right) in (0..3).flat_map(|down| (0..3).map(move |right| (down, right))) {
                let (y, x) = ((y + down).wrapping_sub(1), (x + right).wrapping_sub(1));
                let inside = y < height && x < width;
                let row = if inside { 1 + (board * height + y) * width + x } else { 0 };
                rows.push(row as i32);
            }
        }
    }
    let length = rows.len();
    Tensor::from_data(TensorData::new(rows, [length]), device)
}

#[cfg(test)]
mod tests;
