//! Operations that are not products: pooling and biases per channel. All grids have cells of whole
//! lines.

use super::buffer::LINE;
use super::grid::Grid;
use super::isa::{Isa, Task};
use super::vector::Vector;

/// 2×2 maximum with stride 2; an odd last row or column is dropped.
#[derive(Clone, Debug)]
pub(super) struct MaxPool {
    pub(super) input: Grid,
    pub(super) output: Grid,
}

/// Mean and maximum of the first channels over a board, after a separate ReLU.
#[derive(Clone, Debug)]
pub(super) struct GlobalPool {
    pub(super) input: Grid,
    pub(super) channels: usize,
    /// Means, then maxima.
    pub(super) output: Grid,
}

/// Adds a number per channel to all cells of a board, then applies ReLU.
#[derive(Clone, Debug)]
pub(super) struct ChannelBias {
    pub(super) input: Grid,
    pub(super) output: Grid,
}

/// An operation over the channels of boards, from slice to slice.
struct Pass<'a, O> {
    operation: &'a O,
    boards: usize,
    input: &'a [f32],
    output: &'a mut [f32],
}

/// Runs an operation if both slices hold all boards.
fn run<'a, O>(isa: Isa, [from, to]: [&Grid; 2], pass: Pass<'a, O>)
where
    Pass<'a, O>: Task,
{
    assert!(pass.boards * from.board <= pass.input.len(), "the input is shorter than its boards");
    assert!(pass.boards * to.board <= pass.output.len(), "the output is too short");
    isa.run(pass);
}

impl MaxPool {
    pub(super) fn run(&self, isa: Isa, boards: usize, input: &[f32], output: &mut [f32]) {
        let pass = Pass { operation: self, boards, input, output };
        run(isa, [&self.input, &self.output], pass);
    }
}

impl Task for Pass<'_, MaxPool> {
    #[inline(always)]
    unsafe fn run<V: Vector, const ROWS: usize>(self) {
        let MaxPool { input: from, output: to } = self.operation;
        for board in 0..self.boards {
            for (row, column) in cells(to) {
                let source = board * from.board + from.offset(2 * row, 2 * column);
                let target = board * to.board + to.offset(row, column);
                for channel in (0..to.cell).step_by(V::LANES) {
                    // SAFETY: the caller keeps the contract of `Vector`; the cells are on
                    // their boards, which `run` has checked.
                    unsafe {
                        let source = self.input.as_ptr().add(source + channel);
                        let at = |offset| V::load(source.add(offset));
                        let above = at(0).max(at(from.cell));
                        let below = at(from.row).max(at(from.row + from.cell));
                        above.max(below).store(self.output.as_mut_ptr().add(target + channel));
                    }
                }
            }
        }
    }
}

impl GlobalPool {
    pub(super) fn run(&self, isa: Isa, boards: usize, input: &[f32], output: &mut [f32]) {
        let pass = Pass { operation: self, boards, input, output };
        run(isa, [&self.input, &self.output], pass);
    }
}

impl Task for Pass<'_, GlobalPool> {
    #[inline(always)]
    unsafe fn run<V: Vector, const ROWS: usize>(self) {
        let GlobalPool { input: from, channels, output: to } = self.operation;
        let count = 1.0 / from.cells() as f32;
        let mut lanes = [0.0; LINE];
        for board in 0..self.boards {
            let target = &mut self.output[board * to.board..][..2 * channels];
            let (means, maxima) = target.split_at_mut(*channels);
            for first in (0..*channels).step_by(V::LANES) {
                // SAFETY: the caller keeps the contract of `Vector`; the cells are on their
                // boards, which `run` has checked, and `lanes` holds any vector.
                let mut spill = |vector: V, to: &mut [f32]| unsafe {
                    vector.store(lanes.as_mut_ptr());
                    let count = V::LANES.min(to.len() - first);
                    to[first..][..count].copy_from_slice(&lanes[..count]);
                };
                // SAFETY: as above.
                unsafe {
                    let zero = V::splat(0.0);
                    let (mut sum, mut max) = (zero, zero);
                    for (row, column) in cells(from) {
                        let at = board * from.board + from.offset(row, column) + first;
                        let value = V::load(self.input.as_ptr().add(at)).max(zero);
                        (sum, max) = (sum.add(value), max.max(value));
                    }
                    spill(zero.add_product(sum, V::splat(count)), means);
                    spill(max, maxima);
                }
            }
        }
    }
}

impl ChannelBias {
    pub(super) fn run(&self, isa: Isa, boards: usize, input: &[f32], output: &mut [f32]) {
        let pass = Pass { operation: self, boards, input, output };
        run(isa, [&self.input, &self.output], pass);
    }
}

impl Task for Pass<'_, ChannelBias> {
    #[inline(always)]
    unsafe fn run<V: Vector, const ROWS: usize>(self) {
        let ChannelBias { input: from, output: to } = self.operation;
        debug_assert_eq!(from.cell, to.cell);
        for board in 0..self.boards {
            for channel in (0..to.cell).step_by(V::LANES) {
                // SAFETY: the caller keeps the contract of `Vector`; the cells are on their
                // boards, which `run` has checked.
                unsafe {
                    let shift = V::load(self.input.as_ptr().add(board * from.board + channel));
                    for (row, column) in cells(to) {
                        let at = board * to.board + to.offset(row, column) + channel;
                        let to = self.output.as_mut_ptr().add(at);
                        V::load(to).add(shift).max(V::splat(0.0)).store(to);
                    }
                }
            }
        }
    }
}

fn cells(grid: &Grid) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (height, width) = (grid.height, grid.width);
    (0..height).flat_map(move |row| (0..width).map(move |column| (row, column)))
}
