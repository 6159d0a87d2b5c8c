//! Training kernels: the trunk of a residual tower on one core. The forward pass uses the batch's
//! own statistics; the backward pass computes the gradients of the trunk's tensors.
//!
//! A [`Trunk`] maps planes to features, and the gradient of the features to the gradient of its
//! tensors. It uses the engine's convolutions, layouts and instruction sets. The caller connects
//! both passes to its automatic differentiation. Boards are stored channel-last with a border of
//! zeros, so that a convolution reads its input in place. Batch norm, residual and ReLU take one
//! pass over memory.
//!
//! Contract: as in the engine, the order of additions depends on the shapes alone, so the same
//! batch gives the same bits on every processor.

mod convolution;
mod filter_gradient;
mod norm;

use ouro_game::PlaneShape;

use super::buffer::{Buffer, LINE};
use super::grid::Grid;
use super::isa::Isa;
use super::winograd::{Frequencies, Winograd};
use crate::spec::BATCH_NORM_EPSILON;
use crate::spec::{Architecture, NetSpec};

use convolution::Convolution;
use filter_gradient::FilterGradient;
use norm::BoardBatch;

/// Stem and blocks of a residual tower without pooling, with the activations that the backward
/// pass needs.
///
/// The trunk's tensors are the first trained tensors of the spec, concatenated: `weight`, `scale`
/// and `bias` of the stem and then of each convolution of each block.
#[derive(Debug)]
pub struct Trunk {
    isa: Isa,
    spec: NetSpec,
    channels: usize,
    /// The grid of the stem's input, then the grid of all other boards.
    grids: [Grid; 2],
    layers: Vec<Layer>,
    /// For each convolution except the stem, the map from the gradient of its results to the
    /// gradient of its input.
    backward: Vec<Convolution>,
    /// Boards of the last forward pass.
    boards: usize,
    positions: Buffer,
    between: Frequencies,
    /// Gradients of the results of a block, of its second convolution and of its first convolution.
    gradients: [Buffer; 3],
}

/// A convolution, the norm after it, and their results in the last forward pass.
#[derive(Debug)]
struct Layer {
    /// Offsets of weight, scale and bias in the tensors, and the end of bias.
    places: [usize; 4],
    forward: Convolution,
    filter: FilterGradient,
    /// Results of the convolution; `results` are those after norm, residual and ReLU.
    values: Buffer,
    results: Buffer,
    mean: Vec<f64>,
    variance: Vec<f64>,
}

impl Trunk {
    /// The trunk of a network; `None` unless it is a residual tower without pooling.
    pub fn new(spec: &NetSpec) -> Option<Self> {
        Self::with_isa(spec, Isa::detect())
    }

    fn with_isa(spec: &NetSpec, isa: Isa) -> Option<Self> {
        let Architecture::Residual { channels, blocks, global_pooling: None, .. } =
            spec.architecture
        else {
            return None;
        };
        let planes = spec.planes;
        let [input, inner] = grids(spec, channels);
        let mut from = 0;
        let layers = (0..=2 * blocks).map(|index| {
            let is_stem = index == 0;
            let (grid, inputs) =
                if is_stem { (&input, planes.channels) } else { (&inner, channels) };
            let weight = 9 * inputs * channels;
            let places =
                [from, from + weight, from + weight + channels, from + weight + 2 * channels];
            from = places[3];
            Layer {
                places,
                forward: Convolution::new(isa, grid, &inner, [inputs, channels], false),
                filter: FilterGradient::new(grid, &inner, [inputs, channels]),
                values: Buffer::default(),
                results: Buffer::default(),
                mean: Vec::new(),
                variance: Vec::new(),
            }
        });
        let layers = layers.collect();
        // The input gradient of a block's first convolution is added to that of the skip
        // connection.
        let backward = (0..2 * blocks)
            .map(|index| Convolution::new(isa, &inner, &inner, [channels; 2], index % 2 == 0));
        Some(Self {
            isa,
            spec: spec.clone(),
            channels,
            layers,
            backward: backward.collect(),
            grids: [input, inner],
            boards: 0,
            positions: Buffer::default(),
            between: Frequencies::default(),
            gradients: Default::default(),
        })
    }

    /// Bytes per position of a batch, those of the features and of their gradient included; `None` for
    /// a network without a trunk.
    pub fn row_bytes(spec: &NetSpec) -> Option<usize> {
        let Architecture::Residual { channels, blocks, global_pooling: None, .. } =
            spec.architecture
        else {
            return None;
        };
        let [input, inner] = grids(spec, channels);
        let (convolutions, gradients) = (1 + 2 * blocks, 3);
        let boards = input.board + (2 * convolutions + gradients) * inner.board;
        Some(4 * (boards + 2 * channels * inner.cells()))
    }

    /// Values in the trunk's trained tensors.
    pub fn trained_len(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.places[3])
    }

    /// Number of the spec's tensors that belong to the trunk, running statistics included.
    pub fn tensor_count(&self) -> usize {
        5 * self.layers.len()
    }

    /// Values in the features of one position.
    fn features_len(&self) -> usize {
        self.channels * self.grids[1].cells()
    }

    /// Computes features, `[batch, channels, H, W]`, from planes, `[batch, C, H, W]`.
    ///
    /// Also returns mean and unbiased variance of the batch for every norm in order, `[channels]`
    /// each. `trained` starts with the trunk's tensors.
    ///
    /// # Panics
    ///
    /// If a slice is too short or does not hold whole positions.
    pub fn forward(&mut self, trained: &[f32], planes: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let length = self.spec.planes.len();
        assert!(planes.len().is_multiple_of(length), "planes must be [batch, {length}]");
        assert!(trained.len() >= self.trained_len(), "the trunk has more tensors");
        self.boards = planes.len() / length;
        let [input, inner] = self.grids;
        self.positions.grow(self.boards * input.board);
        write(&input, self.spec.planes.channels, planes, &mut self.positions);
        let count = (self.boards * inner.cells()) as f64;
        let mut statistics = Vec::new();
        for index in 0..self.layers.len() {
            let (before, rest) = self.layers.split_at_mut(index);
            let layer = &mut rest[0];
            layer.values.grow(self.boards * inner.board);
            layer.results.grow(self.boards * inner.board);
            let from = before.last().map_or(&self.positions, |layer| &layer.results);
            let [weight, scale, bias, end] = layer.places;
            layer.forward.set(self.isa, &trained[weight..scale], false);
            let between = &mut self.between;
            layer.forward.run(self.isa, self.boards, from, &mut layer.values, between);

            let field = BoardBatch { isa: self.isa, grid: inner, boards: self.boards };
            (layer.mean, layer.variance) = field.moments(&layer.values);
            let (scale, bias) = (&trained[scale..bias], &trained[bias..end]);
            let factor =
                |channel: usize| f64::from(scale[channel]) * layer.inverse_deviation(channel);
            let [mut factors, mut addends] = [inner.cell; 2].map(Buffer::zeros);
            for channel in 0..self.channels {
                factors[channel] = factor(channel) as f32;
                let shift = layer.mean[channel] * factor(channel);
                addends[channel] = (f64::from(bias[channel]) - shift) as f32;
            }
            let closes_block = index > 0 && index % 2 == 0;
            let residual = closes_block.then(|| &before[index - 2].results[..]);
            field.normalise(&layer.values, residual, [&factors, &addends], &mut layer.results);
            let unbiased = count / (count - 1.0).max(1.0);
            statistics.extend(layer.mean[..self.channels].iter().map(|&mean| mean as f32));
            let variances = layer.variance[..self.channels].iter();
            statistics.extend(variances.map(|&variance| (variance * unbiased) as f32));
        }
        let mut features = vec![0.0; self.boards * self.features_len()];
        if let Some(last) = self.layers.last() {
            read(&inner, self.channels, &last.results, &mut features);
        }
        (features, statistics)
    }

    /// Computes the gradient of the trunk's tensors, in their order.
    ///
    /// `features` is the gradient of the features of the last forward pass,
    /// `[batch, channels, H, W]`. `trained` must be the same as in that pass.
    ///
    /// # Panics
    ///
    /// If a slice is too short, or the batch differs from that of the last forward pass.
    pub fn backward(&mut self, trained: &[f32], features: &[f32]) -> Vec<f32> {
        let length = self.features_len();
        assert_eq!(features.len(), self.boards * length, "features must be [batch, {length}]");
        assert!(trained.len() >= self.trained_len(), "the trunk has more tensors");
        let Self { isa, channels, grids: [_, inner], layers, backward, boards, .. } = self;
        let mut gradient = vec![0.0; layers.last().map_or(0, |layer| layer.places[3])];
        let [outer, second, first] = &mut self.gradients;
        for buffer in [&mut *outer, &mut *second, &mut *first] {
            buffer.grow(*boards * inner.board);
        }
        write(inner, *channels, features, outer);
        let field = BoardBatch { isa: *isa, grid: *inner, boards: *boards };
        let mut back = BackwardPass {
            field,
            channels: *channels,
            trained,
            gradient: &mut gradient,
            between: &mut self.between,
        };
        for block in (0..layers.len() / 2).rev() {
            let [input, one, two] = [0, 1, 2].map(|index| &layers[2 * block + index]);
            back.through_norm(two, outer, Some(second));
            back.filters(two, &one.results, second);
            back.input(two, &mut backward[2 * block + 1], second, first);
            back.through_norm(one, first, None);
            back.filters(one, &input.results, first);
            back.input(one, &mut backward[2 * block], first, outer);
        }
        if let Some(stem) = layers.first() {
            back.through_norm(stem, outer, None);
            back.filters(stem, &self.positions, outer);
        }
        gradient
    }
}

/// The grid of the stem's input, then the grid of all other boards.
fn grids(spec: &NetSpec, channels: usize) -> [Grid; 2] {
    let PlaneShape { height, width, channels: inputs } = spec.planes;
    let is_winograd = Winograd::is_faster(height, width, inputs, channels);
    let cell = if is_winograd { inputs.next_multiple_of(LINE) } else { inputs };
    [
        Grid::framed(height, width, cell),
        Grid::framed(height, width, channels.next_multiple_of(LINE)),
    ]
}

impl Layer {
    /// One over the standard deviation of a channel.
    fn inverse_deviation(&self, channel: usize) -> f64 {
        1.0 / (self.variance[channel] + BATCH_NORM_EPSILON).sqrt()
    }
}

/// The state of a backward pass.
struct BackwardPass<'a> {
    field: BoardBatch,
    channels: usize,
    trained: &'a [f32],
    gradient: &'a mut [f32],
    between: &'a mut Frequencies,
}

impl BackwardPass<'_> {
    /// Propagates the gradient of a layer's results to the results of its convolution, into
    /// `output` or else in place.
    ///
    /// ReLU blocks the gradient where results are 0; `gradient` keeps the part that passes.
    fn through_norm(&mut self, layer: &Layer, gradient: &mut Buffer, output: Option<&mut Buffer>) {
        let field = &self.field;
        let cell = field.grid.cell;
        let count = (field.boards * field.grid.cells()) as f64;
        let [_, scale, bias, _] = layer.places;
        let mut means = Buffer::zeros(cell);
        means.iter_mut().zip(&layer.mean).for_each(|(to, &mean)| *to = mean as f32);
        let [sums, products] = field.gate([&layer.results, &layer.values], &means, gradient);
        let [mut factors, mut slopes, mut addends] = [cell; 3].map(Buffer::zeros);
        for channel in 0..self.channels {
            let inverse = layer.inverse_deviation(channel);
            let factor = f64::from(self.trained[scale + channel]) * inverse;
            let slope = -factor * inverse * inverse * products[channel] / count;
            let addend = -factor * sums[channel] / count - slope * layer.mean[channel];
            factors[channel] = factor as f32;
            slopes[channel] = slope as f32;
            addends[channel] = addend as f32;
            self.gradient[scale + channel] = (inverse * products[channel]) as f32;
            self.gradient[bias + channel] = sums[channel] as f32;
        }
        field.propagate(&layer.values, gradient, [&factors, &slopes, &addends], output);
    }

    /// Computes the gradient of a layer's filters.
    fn filters(&mut self, layer: &Layer, input: &[f32], gradient: &[f32]) {
        let [weight, scale, ..] = layer.places;
        let BoardBatch { isa, boards, .. } = self.field;
        layer.filter.run(isa, boards, input, gradient, &mut self.gradient[weight..scale]);
    }

    /// Computes the gradient of a layer's input.
    fn input(&mut self, layer: &Layer, way: &mut Convolution, gradient: &[f32], input: &mut [f32]) {
        let [weight, scale, ..] = layer.places;
        let BoardBatch { isa, boards, .. } = self.field;
        way.set(isa, &self.trained[weight..scale], true);
        way.run(isa, boards, gradient, input, self.between);
    }
}

/// Writes `[board, channel, row, column]` to framed boards.
fn write(grid: &Grid, channels: usize, values: &[f32], boards: &mut [f32]) {
    let targets = boards.chunks_exact_mut(grid.board);
    for (board, target) in values.chunks_exact(channels * grid.cells()).zip(targets) {
        for (channel, plane) in board.chunks_exact(grid.cells()).enumerate() {
            for (row, values) in plane.chunks_exact(grid.width).enumerate() {
                let at = grid.offset(row, 0) + channel;
                for (column, value) in values.iter().enumerate() {
                    target[at + column * grid.cell] = *value;
                }
            }
        }
    }
}

/// Reads framed boards as `[board, channel, row, column]`.
fn read(grid: &Grid, channels: usize, boards: &[f32], values: &mut [f32]) {
    let sources = boards.chunks_exact(grid.board);
    for (board, source) in values.chunks_exact_mut(channels * grid.cells()).zip(sources) {
        for (channel, plane) in board.chunks_exact_mut(grid.cells()).enumerate() {
            for (row, values) in plane.chunks_exact_mut(grid.width).enumerate() {
                let at = grid.offset(row, 0) + channel;
                for (column, value) in values.iter_mut().enumerate() {
                    *value = source[at + column * grid.cell];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
