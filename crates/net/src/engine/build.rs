//! Builds a program from weights: folds batch norm, packs, selects convolution algorithms.

use super::buffer::LINE;
use super::chains::ChainedLayer;
use super::grid::Grid;
use super::isa::Isa;
use super::layer::{Activation, Epilogue, Layer};
use super::pool::{ChannelBias, GlobalPool, MaxPool};
use super::program::{Operation, OutputSlot, Program, Slot, Step};
use super::winograd::Winograd;
use crate::spec::{Architecture, NetSpec};
use crate::weights::Weights;
use crate::weights::fold::ConvolutionWithNorm;

/// Index of the slot that holds the input planes.
pub(super) const INPUT: usize = 0;

/// Packs weights for an instruction set.
pub(super) fn program(weights: &Weights, isa: Isa) -> Program {
    let spec = weights.spec();
    let (height, width) = (spec.planes.height, spec.planes.width);
    let mut builder = Builder {
        isa,
        tensors: weights.tensors().iter(),
        height,
        width,
        program: Program::default(),
    };
    match spec.architecture {
        Architecture::Conv { channels, layers, .. } => builder.conv(spec, channels, layers),
        Architecture::Residual { .. } => builder.residual(spec),
        Architecture::TwoConv { channels, hidden, narrow } => {
            builder.two_conv(spec, channels, [hidden, narrow]);
        }
        Architecture::Mlp { layers, hidden, .. } => builder.mlp(spec, layers, hidden),
    }
    debug_assert!(builder.tensors.next().is_none(), "every tensor has been used");
    builder.program
}

struct Builder<'a> {
    isa: Isa,
    /// The remaining tensors; every layer takes its own from the front.
    tensors: std::slice::Iter<'a, Vec<f32>>,
    height: usize,
    width: usize,
    program: Program,
}

impl<'a> Builder<'a> {
    fn conv(&mut self, spec: &NetSpec, channels: usize, layers: usize) {
        let mut from = self.input(spec.planes.channels, channels);
        let spare = [self.framed(channels), self.framed(channels)];
        let grid = Grid::plain(self.height, self.width, channels.next_multiple_of(LINE));
        let features = self.slot(grid, true);
        for layer in 0..layers {
            let to = if layer + 1 == layers { features } else { spare[layer % 2] };
            let (weight, bias) = self.pair();
            let epilogue = Epilogue::with(Activation::Relu);
            self.convolve([weight, bias], from, to, epilogue);
            from = to;
        }
        let hidden = self.dense(features, Activation::Relu);
        self.both_outputs(hidden, spec.actions);
    }

    fn mlp(&mut self, spec: &NetSpec, layers: usize, hidden: usize) {
        // A single cell with the planes in their given order, which is that of the weights.
        let mut from = self.slot(Grid::flat(spec.planes.len()), true);
        for _ in 0..layers {
            let (weight, bias) = self.pair();
            from = self.chained([weight, bias], from, Activation::Relu);
        }
        debug_assert!(self.program.slots[from].grid.cell >= hidden);
        let (weight, bias) = self.both_heads();
        let slot = self.chained([&weight, &bias], from, Activation::Identity);
        self.outputs(slot, spec.actions);
    }

    fn two_conv(&mut self, spec: &NetSpec, channels: usize, units: [usize; 2]) {
        let from = self.input(spec.planes.channels, channels);
        let [first, second] = [self.framed(channels), self.framed(channels)];
        for (from, to) in [(from, first), (first, second)] {
            let (weight, bias) = self.pair();
            self.convolve([weight, bias], from, to, Epilogue::with(Activation::Leaky));
        }
        let cell = channels.next_multiple_of(LINE);
        let pooled = self.slot(Grid::plain(self.height / 2, self.width / 2, cell), true);
        let [input, output] = [second, pooled].map(|slot| self.program.slots[slot].grid);
        self.trunk(Operation::MaxPool(MaxPool { input, output }), second, pooled);
        let mut head = || {
            let wide = self.dense(pooled, Activation::Leaky);
            let narrow = self.dense(wide, Activation::Leaky);
            let grids = [wide, narrow].map(|slot| self.program.slots[slot].grid.cell);
            debug_assert!(grids.iter().zip(units).all(|(cell, units)| *cell >= units));
            OutputSlot { slot: self.dense(narrow, Activation::Identity), offset: 0 }
        };
        (self.program.policy, self.program.value) = (head(), head());
    }

    fn residual(&mut self, spec: &NetSpec) {
        let Architecture::Residual {
            channels,
            blocks,
            policy_channels,
            value_channels,
            global_pooling,
            ..
        } = spec.architecture
        else {
            unreachable!("called for residual towers alone")
        };
        let input = self.input(spec.planes.channels, channels);
        let [x, y] = [self.framed(channels), self.framed(channels)];
        let relu = Epilogue::with(Activation::Relu);
        let (weight, bias) = self.folded();
        self.convolve([&weight, &bias], input, x, relu);
        for block in 0..blocks {
            let (weight, bias) = self.folded();
            match global_pooling.filter(|pooling| pooling.applies_to(block)) {
                None => self.convolve([&weight, &bias], x, y, relu),
                Some(pooling) => {
                    self.convolve([&weight, &bias], x, y, Epilogue::with(Activation::Identity));
                    self.pool(y, pooling.channels);
                }
            }
            let (weight, bias) = self.folded();
            self.convolve([&weight, &bias], y, x, Epilogue::RESIDUAL);
        }

        // One 1×1 convolution computes the features of both heads, so the tower is read once.
        // Their tensors come one head after the other.
        let (mut weight, mut bias) = self.folded();
        let policy = self.pair();
        let (value_weight, value_bias) = self.folded();
        weight.extend(value_weight);
        bias.extend(value_bias);
        let cell = (policy_channels + value_channels).next_multiple_of(LINE);
        let features = self.slot(Grid::plain(self.height, self.width, cell), true);
        let [from, to] = [x, features].map(|slot| self.program.slots[slot].grid);
        let layer = Layer::pointwise(self.isa, [&weight, &bias], &from, &to, relu);
        self.trunk(Operation::Layer(layer), x, features);

        let logits = self.linear([policy.0, policy.1], features, 0, Activation::Identity);
        let (weight, bias) = self.pair();
        let hidden = self.linear([weight, bias], features, policy_channels, Activation::Relu);
        let value = self.dense(hidden, Activation::Identity);
        self.program.policy = OutputSlot { slot: logits, offset: 0 };
        self.program.value = OutputSlot { slot: value, offset: 0 };
    }

    /// Global pooling of the first channels of `slot` into a bias of all its channels.
    fn pool(&mut self, slot: usize, channels: usize) {
        let grid = self.program.slots[slot].grid;
        let pooled = self.slot(Grid::flat(2 * channels), false);
        let output = self.program.slots[pooled].grid;
        let pool = GlobalPool { input: grid, channels, output };
        self.trunk(Operation::GlobalPool(pool), slot, pooled);
        let (weight, bias) = self.pair();
        let shifts = self.slot(Grid::flat(bias.len()), false);
        let [from, to] = [pooled, shifts].map(|slot| self.program.slots[slot].grid);
        let epilogue = Epilogue::with(Activation::Identity);
        let layer = Layer::linear(self.isa, [weight, bias], &from, 0, &to, epilogue);
        self.trunk(Operation::Layer(layer), pooled, shifts);
        self.trunk(Operation::ChannelBias(ChannelBias { input: to, output: grid }), shifts, slot);
    }

    /// Policy and value as one layer over `from`, with the value after the logits.
    fn both_outputs(&mut self, from: usize, actions: usize) {
        let (weight, bias) = self.both_heads();
        let slot = self.linear([&weight, &bias], from, 0, Activation::Identity);
        self.outputs(slot, actions);
    }

    /// Weight and bias of policy and value together, the value after the logits.
    fn both_heads(&mut self) -> (Vec<f32>, Vec<f32>) {
        let (policy, policy_bias) = self.pair();
        let (value, value_bias) = self.pair();
        ([policy, value].concat(), [policy_bias, value_bias].concat())
    }

    /// Takes logits and value from one slot.
    fn outputs(&mut self, slot: usize, actions: usize) {
        self.program.policy = OutputSlot { slot, offset: 0 };
        self.program.value = OutputSlot { slot, offset: actions };
    }

    /// A small fully connected layer, from all of `from` to a new slot.
    fn chained(&mut self, tensors: [&[f32]; 2], from: usize, activation: Activation) -> usize {
        let output = Grid::flat(tensors[1].len());
        let to = self.slot(output, true);
        let input = self.program.slots[from].grid;
        let layer = ChainedLayer::new(tensors, &input, &output, Epilogue::with(activation));
        self.program.heads.push(Step { operation: Operation::ChainedLayer(layer), from, to });
        to
    }

    /// A fully connected layer of the heads, from all of `from` to a new slot.
    fn dense(&mut self, from: usize, activation: Activation) -> usize {
        let (weight, bias) = self.pair();
        self.linear([weight, bias], from, 0, activation)
    }

    fn linear(
        &mut self,
        tensors: [&[f32]; 2],
        from: usize,
        first: usize,
        activation: Activation,
    ) -> usize {
        let output = Grid::flat(tensors[1].len());
        let to = self.slot(output, true);
        let input = self.program.slots[from].grid;
        let epilogue = Epilogue::with(activation);
        let layer = Layer::linear(self.isa, tensors, &input, first, &output, epilogue);
        self.program.heads.push(Step { operation: Operation::Layer(layer), from, to });
        to
    }

    /// A 3×3 convolution of the trunk.
    fn convolve(&mut self, tensors: [&[f32]; 2], from: usize, to: usize, epilogue: Epilogue) {
        let [input, output] = [from, to].map(|slot| self.program.slots[slot].grid);
        let inputs = tensors[0].len() / tensors[1].len() / 9;
        let is_winograd = Winograd::is_faster(self.height, self.width, inputs, tensors[1].len());
        let operation = if is_winograd {
            let layer = Winograd::new(self.isa, tensors, &input, &output, epilogue);
            Operation::Winograd(Box::new(layer))
        } else {
            Operation::Layer(Layer::convolution(self.isa, tensors, &input, &output, epilogue))
        };
        self.trunk(operation, from, to);
    }

    fn trunk(&mut self, operation: Operation, from: usize, to: usize) {
        self.program.trunk.push(Step { operation, from, to });
    }

    /// The input slot for a first convolution to `outputs` channels. Cells are padded for Winograd
    /// only, since a direct convolution reads fewer values without padding.
    fn input(&mut self, planes: usize, outputs: usize) -> usize {
        debug_assert!(self.program.slots.is_empty(), "the input is the first slot");
        if Winograd::is_faster(self.height, self.width, planes, outputs) {
            return self.framed(planes);
        }
        self.slot(Grid::framed(self.height, self.width, planes), false)
    }

    /// A slot of framed boards with padded cells.
    fn framed(&mut self, channels: usize) -> usize {
        let cell = channels.next_multiple_of(LINE);
        self.slot(Grid::framed(self.height, self.width, cell), false)
    }

    fn slot(&mut self, grid: Grid, is_wide: bool) -> usize {
        self.program.slots.push(Slot { grid, is_wide });
        self.program.slots.len() - 1
    }

    fn next(&mut self) -> &'a [f32] {
        self.tensors.next().expect("weights hold every tensor of their spec")
    }

    /// Weight and bias.
    fn pair(&mut self) -> (&'a [f32], &'a [f32]) {
        (self.next(), self.next())
    }

    /// Weight and bias of a convolution with the following batch norm folded in.
    fn folded(&mut self) -> (Vec<f32>, Vec<f32>) {
        let weight = self.next();
        let normed = ConvolutionWithNorm { weight, norm: std::array::from_fn(|_| self.next()) };
        (normed.weight().collect(), normed.bias().collect())
    }
}
