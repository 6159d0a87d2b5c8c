//! A layer as one matrix product that reads its left rows in place.
//!
//! The three neighbours of a cell in one row are contiguous, so a 3×3 convolution is a product
//! whose rows are three runs of values: im2col (Chellapilla et al. 2006, "High performance
//! convolutional neural networks for document processing") without the copy. The epilogue (bias,
//! residual and activation) is applied while results are in registers.

use super::grid::{Grid, Rows};
use super::isa::{Isa, Task};
use super::panels::{LeftRows, Panels, Sink};
use super::vector::Vector;
use crate::spec::LEAKY_SLOPE;

/// The activation after a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    /// Nothing.
    Identity,
    /// Negative results become 0.
    Relu,
    /// Negative results are multiplied by [`LEAKY_SLOPE`].
    Leaky,
}

/// The operations on a layer's results before they are stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epilogue {
    pub(super) activation: Activation,
    /// Whether the previous contents of the output are added before the activation.
    pub(super) residual: bool,
}

impl Epilogue {
    /// An activation without a residual.
    pub(super) fn with(activation: Activation) -> Self {
        Self { activation, residual: false }
    }

    /// Adds the previous contents of the output, then applies ReLU.
    pub(super) const RESIDUAL: Self = Self { activation: Activation::Relu, residual: true };

    /// Writes one vector of results.
    ///
    /// # Safety
    ///
    /// As for [`Vector`]; `to` is valid for reads too.
    #[inline(always)]
    pub(super) unsafe fn store<V: Vector>(self, mut results: V, to: *mut f32) {
        // SAFETY: the caller keeps the contract.
        unsafe {
            if self.residual {
                results = results.add(V::load(to));
            }
            let results = match self.activation {
                Activation::Identity => results,
                Activation::Relu => results.max(V::splat(0.0)),
                Activation::Leaky => {
                    let zero = V::splat(0.0);
                    results.max(zero.add_product(results, V::splat(LEAKY_SLOPE)))
                }
            };
            results.store(to);
        }
    }
}

/// `output[r] = activation(bias + input[r] · weights + residual)` for rows `r`.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    panels: Panels,
    runs: Vec<usize>,
    length: usize,
    input: Rows,
    output: Rows,
    epilogue: Epilogue,
}

impl Layer {
    /// A 3×3 convolution over framed boards; `weight` is `[outputs, inputs, 3, 3]`.
    pub(super) fn convolution(
        isa: Isa,
        [weight, bias]: [&[f32]; 2],
        input: &Grid,
        output: &Grid,
        epilogue: Epilogue,
    ) -> Self {
        let inputs = weight.len() / bias.len() / 9;
        let panels = Panels::new(isa, 9 * inputs, bias, |column, depth| {
            weight[(column * inputs + depth % inputs) * 9 + depth / inputs]
        });
        // Without padding between cells, three neighbours are one contiguous run.
        let (columns, length) = if input.cell == inputs { (1, 3 * inputs) } else { (3, inputs) };
        let runs = (0..3)
            .flat_map(|row| (0..columns).map(move |column| row * input.row + column * input.cell));
        let (runs, input, output) = (runs.collect(), input.corners(), output.rows());
        Self { panels, runs, length, input, output, epilogue }
    }

    /// A 1×1 convolution; `weight` is `[outputs, inputs]`.
    pub(super) fn pointwise(
        isa: Isa,
        [weight, bias]: [&[f32]; 2],
        input: &Grid,
        output: &Grid,
        epilogue: Epilogue,
    ) -> Self {
        let inputs = weight.len() / bias.len();
        let panels =
            Panels::new(isa, inputs, bias, |column, depth| weight[column * inputs + depth]);
        let (input, output) = (input.rows(), output.rows());
        Self { panels, runs: vec![0], length: inputs, input, output, epilogue }
    }

    /// A fully connected layer; `weight` is `[outputs, channels · cells]`. The layer reads
    /// channels `first..` of every cell of `input`.
    pub(super) fn linear(
        isa: Isa,
        [weight, bias]: [&[f32]; 2],
        input: &Grid,
        first: usize,
        output: &Grid,
        epilogue: Epilogue,
    ) -> Self {
        let inputs = weight.len() / bias.len();
        let cells = input.cells();
        let channels = inputs / cells;
        let panels = Panels::new(isa, inputs, bias, |column, depth| {
            weight[column * inputs + depth % channels * cells + depth / channels]
        });
        let (runs, length) = if channels == input.cell && input.row == input.width * input.cell {
            (vec![input.origin + first], inputs)
        } else {
            (input.rows().offsets.iter().map(|offset| offset + first).collect(), channels)
        };
        let (input, output) = (input.boards(), output.boards());
        Self { panels, runs, length, input, output, epilogue }
    }

    /// Computes the rows of `boards` boards.
    ///
    /// # Panics
    ///
    /// If the layer was packed for vectors of another width than those of `isa`, or a slice is too
    /// short.
    pub(super) fn run(&self, isa: Isa, boards: usize, input: &[f32], output: &mut [f32]) {
        assert_eq!(self.panels.lanes(), isa.lanes(), "packed for another instruction set");
        let reach = self.runs.iter().max().copied().unwrap_or(0) + self.length;
        assert!(self.input.extent(boards, reach) <= input.len(), "the input is too short");
        let columns = self.panels.columns();
        assert!(self.output.extent(boards, columns) <= output.len(), "the output is too short");
        isa.run(Multiply { layer: self, boards, input, output });
    }
}

struct Multiply<'a> {
    layer: &'a Layer,
    boards: usize,
    input: &'a [f32],
    output: &'a mut [f32],
}

impl Task for Multiply<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector, const ROWS: usize>(self) {
        let Layer { panels, runs, length, input, output, epilogue } = self.layer;
        let left = LeftRows { values: self.input, runs, length: *length };
        let (boards, epilogue) = (self.boards, *epilogue);
        // SAFETY: the caller keeps the contract of `Vector`; `Layer::run` has checked that the
        // panels were packed for this width, and that all rows lie within their slices.
        unsafe {
            if let ([from], [to]) = (&input.offsets[..], &output.offsets[..]) {
                let start = |row| row * input.board + from;
                let place = |row| row * output.board + to;
                let mut sink = Store { place, output: self.output, epilogue };
                panels.multiply::<V, ROWS>(&left, boards, start, &mut sink);
                return;
            }
            for board in 0..boards {
                let start = |row: usize| board * input.board + input.offsets[row];
                let place = |row: usize| board * output.board + output.offsets[row];
                let mut sink = Store { place, output: &mut *self.output, epilogue };
                panels.multiply::<V, ROWS>(&left, input.offsets.len(), start, &mut sink);
            }
        }
    }
}

/// Applies the epilogue to sums and stores them at the offset that `place` returns for their row.
struct Store<'a, F> {
    place: F,
    output: &'a mut [f32],
    epilogue: Epilogue,
}

impl<F: Fn(usize) -> usize> Sink for Store<'_, F> {
    #[inline(always)]
    unsafe fn take<V: Vector>(&mut self, row: usize, column: usize, sums: V) {
        let at = (self.place)(row) + column;
        debug_assert!(at + V::LANES <= self.output.len());
        // SAFETY: the caller keeps the contract of `Vector`; `Layer::run` has checked the end
        // of the last row, padding included.
        unsafe { self.epilogue.store(sums, self.output.as_mut_ptr().add(at)) }
    }
}
