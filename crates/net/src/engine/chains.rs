//! A small fully connected layer, one row at a time, with each sum in four chains.
//!
//! A sum of `depth` products in one chain takes `depth` times the latency of a multiply-add. Four
//! chains overlap, which matters where a network is evaluated for one position at a time.
//!
//! Contract: chain `j` adds the products of the depths `k ≡ j (mod 4)` by fused multiply-add in
//! ascending order; chain 0 starts at the bias, the others at 0. The sum is (0 + 1) + (2 + 3), in
//! every instruction set and batch.

use super::buffer::{Buffer, LINE};
use super::grid::Grid;
use super::isa::{Isa, Task};
use super::layer::Epilogue;
use super::vector::Vector;

/// Chains of a sum.
const CHAINS: usize = 4;

/// `output[r] = activation(bias + input[r] · weights)` for rows `r`.
#[derive(Clone, Debug)]
pub(super) struct ChainedLayer {
    /// `[depth, columns]`.
    weights: Buffer,
    bias: Buffer,
    /// Inner dimension.
    depth: usize,
    /// Outputs, padded to a multiple of [`LINE`].
    columns: usize,
    /// Distances between rows.
    input: usize,
    output: usize,
    epilogue: Epilogue,
}

impl ChainedLayer {
    /// A layer that reads `input` from its first value on; `weight` is `[outputs, inputs]`.
    pub(super) fn new(
        [weight, bias]: [&[f32]; 2],
        input: &Grid,
        output: &Grid,
        epilogue: Epilogue,
    ) -> Self {
        let depth = weight.len() / bias.len();
        let columns = bias.len().next_multiple_of(LINE);
        let mut weights = Buffer::zeros(depth * columns);
        for (column, row) in weight.chunks_exact(depth).enumerate() {
            for (k, &value) in row.iter().enumerate() {
                weights[k * columns + column] = value;
            }
        }
        let mut padded = Buffer::zeros(columns);
        padded[..bias.len()].copy_from_slice(bias);
        let (input, output) = (input.board, output.board);
        Self { weights, bias: padded, depth, columns, input, output, epilogue }
    }

    /// Computes the rows of `boards` boards.
    pub(super) fn run(&self, isa: Isa, boards: usize, input: &[f32], output: &mut [f32]) {
        let Some(last) = boards.checked_sub(1) else { return };
        assert!(last * self.input + self.depth <= input.len(), "the input is too short");
        assert!(last * self.output + self.columns <= output.len(), "the output is too short");
        isa.run(Rows { layer: self, boards, input, output });
    }
}

struct Rows<'a> {
    layer: &'a ChainedLayer,
    boards: usize,
    input: &'a [f32],
    output: &'a mut [f32],
}

impl Task for Rows<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector, const ROWS: usize>(self) {
        let Self { layer, boards, input, output } = self;
        for board in 0..boards {
            let mut column = 0;
            // SAFETY: the caller keeps the contract of `Vector`. `ChainedLayer::run` has checked that
            // all rows lie within their slices; columns are a multiple of the lanes.
            unsafe {
                let from = input.as_ptr().add(board * layer.input);
                let to = output.as_mut_ptr().add(board * layer.output);
                while column + 2 * V::LANES <= layer.columns {
                    layer.block::<V, 2>(column, from, to);
                    column += 2 * V::LANES;
                }
                if column < layer.columns {
                    layer.block::<V, 1>(column, from, to);
                }
            }
        }
    }
}

impl ChainedLayer {
    /// `VECTORS` vectors of columns of one row.
    ///
    /// # Safety
    ///
    /// As for [`Vector`]. `from` is valid for `depth` values, `to` for `columns`; that many vectors begin
    /// at `column`.
    #[inline(always)]
    unsafe fn block<V: Vector, const VECTORS: usize>(
        &self,
        column: usize,
        from: *const f32,
        to: *mut f32,
    ) {
        // SAFETY: the caller keeps the contract; weights have `depth` rows of `columns` values.
        unsafe {
            let mut sums = [[V::splat(0.0); VECTORS]; CHAINS];
            for (vector, sum) in sums[0].iter_mut().enumerate() {
                *sum = V::load(self.bias.as_ptr().add(column + vector * V::LANES));
            }
            let weights = self.weights.as_ptr().add(column);
            let add = |sums: &mut [V; VECTORS], k: usize| {
                let factor = V::splat(*from.add(k));
                let line = weights.add(k * self.columns);
                for (vector, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.add_product(factor, V::load(line.add(vector * V::LANES)));
                }
            };
            let whole = self.depth - self.depth % CHAINS;
            for k in (0..whole).step_by(CHAINS) {
                for (chain, sums) in sums.iter_mut().enumerate() {
                    add(sums, k + chain);
                }
            }
            for (sums, k) in sums.iter_mut().zip(whole..self.depth) {
                add(sums, k);
            }
            for vector in 0..VECTORS {
                let [one, two, three, four] = sums.map(|sums| sums[vector]);
                let sum = one.add(two).add(three.add(four));
                self.epilogue.store(sum, to.add(column + vector * V::LANES));
            }
        }
    }
}
