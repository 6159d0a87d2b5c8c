//! Evaluates a network on one CPU core, many positions at a time.
//!
//! An [`Engine`] is immutable and shared between threads; each thread owns a [`Scratch`],
//! which grows to the largest batch it has seen and then allocates no more.
//!
//! Inside, activations are channel-last (`[position, row, column, channel]`) with a frame of
//! zeros around the board. The three neighbours of a cell in one row then lie side by side,
//! so a 3×3 convolution is a matrix product whose left rows are read where they lie: three
//! runs of `3 · channels` values each. That is im2col (Chellapilla et al. 2006, "High
//! performance convolutional neural networks for document processing") without the copy.
//! Bias and ReLU are applied while results are still in registers.
//!
//! Contract: every output is one chain of fused multiply-adds in an order that the spec
//! alone fixes. So a position's result is the same, bit for bit, whatever shares its batch,
//! and the same on every processor.

#[expect(unsafe_code, reason = "vector instructions, and calls that need them")]
mod kernel;
mod layer;
#[expect(unsafe_code, reason = "vector instructions")]
mod vector;

use kernel::Isa;
use layer::{Grid, Layer};

use crate::{Architecture, NetSpec, Weights};

/// Activations of one pass through the convolutions that stay in a core's second-level
/// cache, in values: 256 KiB.
const CHUNK_VALUES: usize = 64 << 10;

/// A network packed for evaluation. See the [module](self).
#[derive(Clone, Debug)]
pub struct Engine {
    spec: NetSpec,
    isa: Isa,
    convolutions: Vec<Layer>,
    hidden: Layer,
    /// Policy and value head as one layer: `actions` logits, then the value.
    heads: Layer,
    /// Length of one framed position: as input, and between convolutions.
    framed: [usize; 2],
    /// Positions that go through the convolutions together.
    chunk: usize,
}

/// Working memory of one thread. Belongs to no engine: it adapts to the one it is used with.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Lengths of framed positions that the zero frames below are right for.
    framed: [usize; 2],
    input: Vec<f32>,
    ping: Vec<f32>,
    pong: Vec<f32>,
    features: Vec<f32>,
    hidden: Vec<f32>,
    heads: Vec<f32>,
}

impl Scratch {
    /// Working memory that has not grown yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Engine {
    /// Packs weights for this processor.
    pub fn new(weights: &Weights) -> Self {
        let spec = weights.spec().clone();
        let isa = Isa::detect();
        let tensors = weights.tensors();
        let (height, width) = (spec.planes.height, spec.planes.width);
        let Architecture::Conv { channels, layers, .. } = spec.architecture;

        let mut convolutions = Vec::with_capacity(layers);
        let mut inputs = spec.planes.channels;
        for index in 0..layers {
            let output = if index + 1 == layers {
                Grid::plain(height, width, channels)
            } else {
                Grid::framed(height, width, channels)
            };
            let (weight, bias) = (&tensors[2 * index], &tensors[2 * index + 1]);
            convolutions.push(Layer::convolution(
                isa,
                weight,
                bias,
                [height, width],
                inputs,
                output,
            ));
            inputs = channels;
        }

        let cells = height * width;
        let [weight, bias, policy, policy_bias, value, value_bias] = &tensors[2 * layers..] else {
            unreachable!("weights hold every tensor of their spec")
        };
        let weight = channel_last(weight, channels, cells);
        let heads = [policy.as_slice(), value].concat();
        let heads_bias = [policy_bias.as_slice(), value_bias].concat();
        let framed = |channels| (height + 2) * (width + 2) * channels;
        let framed = [framed(spec.planes.channels), framed(channels)];
        Self {
            isa,
            convolutions,
            hidden: Layer::linear(isa, &weight, bias, true),
            heads: Layer::linear(isa, &heads, &heads_bias, false),
            framed,
            chunk: (CHUNK_VALUES / (framed[0] + 2 * framed[1])).max(1),
            spec,
        }
    }

    /// The shapes.
    pub fn spec(&self) -> &NetSpec {
        &self.spec
    }

    /// Evaluates `values.len()` positions.
    ///
    /// `planes` is `[batch, channels, height, width]`; `logits` becomes `[batch, actions]`,
    /// illegal actions included, and `values` `[batch]`, the expected discounted returns.
    ///
    /// # Panics
    ///
    /// If the three slices are not of one batch size.
    pub fn evaluate(
        &self,
        scratch: &mut Scratch,
        planes: &[f32],
        logits: &mut [f32],
        values: &mut [f32],
    ) {
        let (input, actions, batch) = (self.spec.planes.len(), self.spec.actions, values.len());
        assert_eq!(planes.len(), batch * input, "planes must be [batch, {input}]");
        assert_eq!(logits.len(), batch * actions, "logits must be [batch, {actions}]");
        self.prepare(scratch, batch);
        let Scratch { input: framed, ping, pong, features, hidden, heads, .. } = scratch;

        let cells = self.spec.planes.height * self.spec.planes.width;
        let width = self.hidden.inputs();
        let chunks = planes.chunks(self.chunk * input).zip(features.chunks_mut(self.chunk * width));
        for (planes, features) in chunks {
            let positions = planes.len() / input;
            self.frame_input(planes, framed);
            let (mut from, mut to) = (&mut *ping, &mut *pong);
            for (index, layer) in self.convolutions.iter().enumerate() {
                let source: &[f32] = if index == 0 { framed } else { from };
                let target: &mut [f32] =
                    if index + 1 == self.convolutions.len() { features } else { to };
                layer.run(self.isa, source, positions * cells, target);
                std::mem::swap(&mut from, &mut to);
            }
        }
        self.hidden.run(self.isa, features, batch, hidden);
        self.heads.run(self.isa, hidden, batch, heads);
        let rows = heads.chunks_exact(actions + 1).zip(logits.chunks_exact_mut(actions));
        for ((head, logits), value) in rows.zip(values) {
            logits.copy_from_slice(&head[..actions]);
            *value = head[actions];
        }
    }

    /// Sizes the buffers for a batch. Frames are zeroed only when a buffer grows or was used
    /// with another shape; nothing ever writes to them.
    fn prepare(&self, scratch: &mut Scratch, batch: usize) {
        if scratch.framed != self.framed {
            scratch.framed = self.framed;
            for buffer in [&mut scratch.input, &mut scratch.ping, &mut scratch.pong] {
                buffer.clear();
            }
        }
        let chunk = self.chunk.min(batch);
        grow(&mut scratch.input, chunk * self.framed[0]);
        grow(&mut scratch.ping, chunk * self.framed[1]);
        grow(&mut scratch.pong, chunk * self.framed[1]);
        scratch.features.resize(batch * self.hidden.inputs(), 0.0);
        scratch.hidden.resize(batch * self.heads.inputs(), 0.0);
        scratch.heads.resize(batch * (self.spec.actions + 1), 0.0);
    }

    /// Transposes `[position, channel, row, column]` into framed channel-last positions.
    fn frame_input(&self, planes: &[f32], framed: &mut [f32]) {
        let shape = self.spec.planes;
        let grid = Grid::framed(shape.height, shape.width, shape.channels);
        let cells = shape.height * shape.width;
        for (position, planes) in planes.chunks_exact(shape.len()).enumerate() {
            for cell in 0..cells {
                let at = grid.offset(position * cells + cell);
                let target = &mut framed[at..at + shape.channels];
                for (value, plane) in target.iter_mut().zip(planes.chunks_exact(cells)) {
                    *value = plane[cell];
                }
            }
        }
    }
}

fn grow(buffer: &mut Vec<f32>, len: usize) {
    if buffer.len() < len {
        buffer.resize(len, 0.0);
    }
}

/// Reorders the columns of `[rows, channels · cells]` to `[rows, cells · channels]`.
fn channel_last(weight: &[f32], channels: usize, cells: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(weight.len());
    for row in weight.chunks_exact(channels * cells) {
        for cell in 0..cells {
            out.extend((0..channels).map(|channel| row[channel * cells + cell]));
        }
    }
    out
}
