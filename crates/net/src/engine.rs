//! Evaluates a network on one CPU core, many positions at a time.
//!
//! An [`Engine`] is immutable and shared between threads; each thread owns a [`Scratch`],
//! which grows to the largest batch it has seen and then allocates no more.
//!
//! At load, batch norm is folded into the convolutions and all weights are packed for the
//! processor: AVX-512, AVX2, NEON, or portable code. Activations are channel-last
//! (`[position, row, column, channel]`), with channels padded to whole cache lines and a frame of
//! zeros around the board. Convolutions use 4×4 Winograd tiles if that is less work, and a direct
//! product otherwise. Bias, residual and activation are applied while results are in registers.
//!
//! Contract: the order of multiply-adds depends on the spec alone. A position's result is
//! therefore the same, bit for bit, in every batch and on every processor.

#[expect(unsafe_code, reason = "a view of cache lines as values")]
mod buffer;
mod build;
#[expect(unsafe_code, reason = "vector instructions")]
mod chains;
mod grid;
#[expect(unsafe_code, reason = "calls into functions with more features than the crate's")]
mod isa;
#[expect(unsafe_code, reason = "vector instructions")]
mod layer;
#[expect(unsafe_code, reason = "vector instructions")]
mod panels;
#[expect(unsafe_code, reason = "vector instructions")]
mod pool;
mod program;
mod range;
#[expect(unsafe_code, reason = "vector instructions")]
pub mod training;
#[expect(unsafe_code, reason = "vector instructions")]
mod vector;
#[expect(unsafe_code, reason = "vector instructions")]
mod winograd;

use buffer::Buffer;
use isa::Isa;
use program::Program;
use winograd::Frequencies;

use crate::spec::NetSpec;
use crate::weights::Weights;

/// Activations of one chunk in the trunk, in f32 values: 512 KiB, so that they stay in a core's
/// second-level cache.
const CHUNK_VALUES: usize = 128 << 10;

/// A network packed for evaluation. See the [module](self).
#[derive(Clone, Debug)]
pub struct Engine {
    spec: NetSpec,
    isa: Isa,
    program: Program,
    /// Positions per chunk of the trunk.
    chunk: usize,
}

/// Working memory of one thread. It works with any engine and adapts to its sizes.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// The spec whose frames of zeros are in the slots.
    spec: Option<NetSpec>,
    slots: Vec<Buffer>,
    between: Frequencies,
}

impl Scratch {
    /// Empty working memory.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Engine {
    /// Packs weights for this processor.
    pub fn new(weights: &Weights) -> Self {
        Self::with_isa(weights, Isa::detect())
    }

    fn with_isa(weights: &Weights, isa: Isa) -> Self {
        let program = build::program(weights, isa);
        let chunk = (CHUNK_VALUES / program.chunk_values().max(1)).max(1);
        Self { spec: weights.spec().clone(), isa, program, chunk }
    }

    /// The shapes.
    pub fn spec(&self) -> &NetSpec {
        &self.spec
    }

    /// The instruction set in use: `avx512`, `avx2`, `neon` or `portable`.
    pub fn instruction_set(&self) -> &'static str {
        self.isa.name()
    }

    /// Evaluates a batch of positions.
    ///
    /// `planes` is `[batch, channels, height, width]`. The outputs are `logits`,
    /// `[batch, logits]` ([`NetSpec::logits`]) with illegal actions included, and `values`,
    /// `[batch, value_width]` ([`NetSpec::value_width`]) in the network's
    /// [`ValueRange`](crate::ValueRange).
    ///
    /// # Panics
    ///
    /// If the three slices differ in batch size.
    pub fn evaluate(
        &self,
        scratch: &mut Scratch,
        planes: &[f32],
        logits: &mut [f32],
        values: &mut [f32],
    ) {
        let (input, outputs) = (self.spec.planes.len(), self.spec.logits());
        let (width, batch) = (self.spec.value_width(), planes.len() / input);
        assert_eq!(planes.len(), batch * input, "planes must be [batch, {input}]");
        assert_eq!(values.len(), batch * width, "values must be [batch, {width}]");
        assert_eq!(logits.len(), batch * outputs, "logits must be [batch, {outputs}]");
        let Scratch { spec, slots, between } = scratch;
        if spec.as_ref() != Some(&self.spec) {
            // No step writes to the frames, so their zeros stay valid until the shape changes.
            *spec = Some(self.spec.clone());
            slots.iter_mut().for_each(Buffer::clear);
        }
        let Program { trunk, heads, policy, value, .. } = &self.program;
        self.program.prepare(slots, self.chunk.min(batch), batch);
        for (index, planes) in planes.chunks(self.chunk * input).enumerate() {
            let place = [index * self.chunk, planes.len() / input];
            self.write_input(planes, place[0], &mut slots[build::INPUT]);
            self.program.run(trunk, self.isa, slots, between, place);
        }
        self.program.run(heads, self.isa, slots, between, [0, batch]);

        let board = |slot: usize| self.program.slots[slot].grid.board;
        let rows = slots[policy.slot].chunks_exact(board(policy.slot));
        for (logits, row) in logits.chunks_exact_mut(outputs).zip(rows) {
            logits.copy_from_slice(&row[policy.offset..][..outputs]);
        }
        let rows = slots[value.slot].chunks_exact(board(value.slot));
        let range = self.spec.architecture.value_range();
        for (values, row) in values.chunks_exact_mut(width).zip(rows) {
            range::apply(range, &row[value.offset..][..width], values);
        }
    }

    /// Transposes `[position, channel, row, column]` into the input slot. `first` is the index of
    /// the first position in the batch.
    fn write_input(&self, planes: &[f32], first: usize, buffer: &mut Buffer) {
        let slot = &self.program.slots[build::INPUT];
        let grid = &slot.grid;
        let first = if slot.is_wide { first } else { 0 };
        let shape = self.spec.planes;
        for (position, planes) in planes.chunks_exact(shape.len()).enumerate() {
            let target = &mut buffer[(first + position) * grid.board..][..grid.board];
            if grid.cells() == 1 && grid.origin == 0 {
                target[..planes.len()].copy_from_slice(planes);
                continue;
            }
            for (channel, plane) in planes.chunks_exact(grid.cells()).enumerate() {
                for (row, values) in plane.chunks_exact(grid.width).enumerate() {
                    let at = grid.offset(row, 0) + channel;
                    for (column, value) in values.iter().enumerate() {
                        target[at + column * grid.cell] = *value;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
