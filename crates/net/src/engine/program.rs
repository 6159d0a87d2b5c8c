//! A network as a list of steps between memory slots.
//!
//! The trunk runs on chunks of a few positions, so that its activations stay in the second-level
//! cache. The heads run on the whole batch, so that their weights are read once. Slots of the whole
//! batch pass features from the trunk to the heads.

use super::buffer::Buffer;
use super::chains::ChainedLayer;
use super::grid::Grid;
use super::isa::Isa;
use super::layer::Layer;
use super::pool::{ChannelBias, GlobalPool, MaxPool};
use super::winograd::{Frequencies, Winograd};

/// A network for one instruction set.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) slots: Vec<Slot>,
    /// Steps for a chunk of positions.
    pub(super) trunk: Vec<Step>,
    /// Steps for the whole batch.
    pub(super) heads: Vec<Step>,
    /// Locations of logits and value.
    pub(super) policy: OutputSlot,
    pub(super) value: OutputSlot,
}

/// A slot and an offset in each of its positions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutputSlot {
    pub(super) slot: usize,
    pub(super) offset: usize,
}

/// Memory for activations.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) grid: Grid,
    /// Whether the slot holds the whole batch instead of a chunk.
    pub(super) is_wide: bool,
}

/// One operation from slot to slot.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) operation: Operation,
    pub(super) from: usize,
    pub(super) to: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Operation {
    Layer(Layer),
    ChainedLayer(ChainedLayer),
    Winograd(Box<Winograd>),
    MaxPool(MaxPool),
    GlobalPool(GlobalPool),
    ChannelBias(ChannelBias),
}

impl Program {
    /// Values per position in the trunk's slots.
    pub(super) fn chunk_values(&self) -> usize {
        let slots = self.slots.iter().filter(|slot| !slot.is_wide);
        slots.map(|slot| slot.grid.board).sum()
    }

    /// Grows the buffers for a batch whose trunk runs in chunks.
    pub(super) fn prepare(&self, buffers: &mut Vec<Buffer>, chunk: usize, batch: usize) {
        if buffers.len() < self.slots.len() {
            buffers.resize_with(self.slots.len(), Buffer::default);
        }
        for (slot, buffer) in self.slots.iter().zip(buffers) {
            let positions = if slot.is_wide { batch } else { chunk };
            buffer.grow(positions * slot.grid.board);
        }
    }

    /// Runs steps on `positions` positions, starting with position `first` of the batch.
    pub(super) fn run(
        &self,
        steps: &[Step],
        isa: Isa,
        buffers: &mut [Buffer],
        between: &mut Frequencies,
        [first, positions]: [usize; 2],
    ) {
        let offset = |slot: usize| {
            let Slot { grid, is_wide } = &self.slots[slot];
            if *is_wide { first * grid.board } else { 0 }
        };
        for step in steps {
            // Taken out during the step, so that both slots can be borrowed.
            let mut target = std::mem::take(&mut buffers[step.to]);
            let input = &buffers[step.from][offset(step.from)..];
            let output = &mut target[offset(step.to)..];
            match &step.operation {
                Operation::Layer(layer) => layer.run(isa, positions, input, output),
                Operation::ChainedLayer(layer) => layer.run(isa, positions, input, output),
                Operation::Winograd(layer) => layer.run(isa, positions, input, output, between),
                Operation::MaxPool(pool) => pool.run(isa, positions, input, output),
                Operation::GlobalPool(pool) => pool.run(isa, positions, input, output),
                Operation::ChannelBias(shift) => shift.run(isa, positions, input, output),
            }
            buffers[step.to] = target;
        }
    }
}
