//! Batch norm, residual and ReLU on framed boards, forward and backward. Only cells on the board
//! are written, so frames stay zero.
//!
//! Sums per board are in f32 and their total is in f64, so that a large batch is as exact as a
//! small one.

use crate::engine::buffer::Buffer;
use crate::engine::grid::Grid;
use crate::engine::isa::{Isa, Task};
use crate::engine::vector::Vector;

/// A batch of boards with one grid, whose cells are whole lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoardBatch {
    pub(super) isa: Isa,
    pub(super) grid: Grid,
    pub(super) boards: usize,
}

impl BoardBatch {
    fn check(&self, slices: &[&[f32]]) {
        let length = self.boards * self.grid.board;
        assert!(slices.iter().all(|slice| slice.len() >= length), "a slice lacks boards");
    }

    /// Mean and variance of every channel over all cells, padding included.
    pub(super) fn moments(&self, values: &[f32]) -> (Vec<f64>, Vec<f64>) {
        self.check(&[values]);
        let count = (self.boards * self.grid.cells()) as f64;
        let moment = |means: &Buffer, squares: bool| -> Vec<f64> {
            let mut sums = vec![0.0; self.grid.cell];
            self.isa.run(Sum { field: self, values, means, squares, sums: &mut sums });
            sums.iter().map(|sum| sum / count).collect()
        };
        let mut centre = Buffer::zeros(self.grid.cell);
        let mean = moment(&centre, false);
        centre.iter_mut().zip(&mean).for_each(|(to, &mean)| *to = mean as f32);
        (mean, moment(&centre, true))
    }

    /// `results = max(0, values · factor + addend + residual)`.
    pub(super) fn normalise(
        &self,
        values: &[f32],
        residual: Option<&[f32]>,
        [factors, addends]: [&Buffer; 2],
        results: &mut [f32],
    ) {
        self.check(&[values, residual.unwrap_or(values), results]);
        self.isa.run(Normalise { field: self, values, residual, factors, addends, results });
    }

    /// Sets `gradient` to 0 where `results` are 0. Returns the sums per channel of the remaining
    /// gradient, and of the remaining gradient times `values − means`.
    pub(super) fn gate(
        &self,
        [results, values]: [&[f32]; 2],
        means: &Buffer,
        gradient: &mut [f32],
    ) -> [Vec<f64>; 2] {
        self.check(&[results, values, gradient]);
        let mut sums = [vec![0.0; self.grid.cell], vec![0.0; self.grid.cell]];
        self.isa.run(Gate { field: self, results, values, means, gradient, sums: &mut sums });
        sums
    }

    /// `output = gradient · factor + values · slope + addend`, in place if there is no `output`.
    pub(super) fn propagate(
        &self,
        values: &[f32],
        gradient: &mut Buffer,
        [factors, slopes, addends]: [&Buffer; 3],
        output: Option<&mut Buffer>,
    ) {
        self.check(&[values, gradient, output.as_ref().map_or(values, |output| output)]);
        let (from, to) = match output {
            Some(output) => (gradient.as_ptr(), output.as_mut_ptr()),
            // One borrow for both: a second one would invalidate the pointer of the first.
            None => {
                let to = gradient.as_mut_ptr();
                (to.cast_const(), to)
            }
        };
        self.isa.run(Propagate { field: self, values, from, to, factors, slopes, addends });
    }

    /// Offsets of the cells of a board.
    #[inline(always)]
    fn cells(&self, board: usize) -> impl Iterator<Item = usize> + use<> {
        let Self { grid, .. } = *self;
        let rows = (0..grid.height).map(move |row| board * grid.board + grid.offset(row, 0));
        rows.flat_map(move |from| (0..grid.width).map(move |column| from + column * grid.cell))
    }
}

/// Sums of values, or of their squared deviations from the means.
struct Sum<'a> {
    field: &'a BoardBatch,
    values: &'a [f32],
    means: &'a [f32],
    squares: bool,
    sums: &'a mut [f64],
}

impl Task for Sum<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector, const ROWS: usize>(self) {
        let Self { field, values, means, squares, sums } = self;
        let mut board_sums = Buffer::zeros(sums.len());
        for board in 0..field.boards {
            board_sums.fill(0.0);
            let to = board_sums.as_mut_ptr();
            for cell in field.cells(board) {
                for channel in (0..sums.len()).step_by(V::LANES) {
                    // SAFETY: the caller keeps the contract of `Vector`; cells lie in the slice,
                    // whose length was checked, and channels are whole lines.
                    unsafe {
                        let value = V::load(values.as_ptr().add(cell + channel));
                        let sum = V::load(to.add(channel));
                        let off = value.sub(V::load(means.as_ptr().add(channel)));
                        let sum = if squares { sum.add_product(off, off) } else { sum.add(value) };
                        sum.store(to.add(channel));
                    }
                }
            }
            add(sums, &board_sums);
        }
    }
}

/// See [`BoardBatch::normalise`].
struct Normalise<'a> {
    field: &'a BoardBatch,
    values: &'a [f32],
    residual: Option<&'a [f32]>,
    factors: &'a [f32],
    addends: &'a [f32],
    results: &'a mut [f32],
}

impl Task for Normalise<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector, const ROWS: usize>(self) {
        let Self { field, values, residual, factors, addends, results } = self;
        for cell in (0..field.boards).flat_map(|board| field.cells(board)) {
            for channel in (0..field.grid.cell).step_by(V::LANES) {
                let at = cell + channel;
                // SAFETY: as in `Sum`.
                unsafe {
                    let mut sum = V::load(addends.as_ptr().add(channel));
                    if let Some(residual) = residual {
                        sum = sum.add(V::load(residual.as_ptr().add(at)));
                    }
                    let factor = V::load(factors.as_ptr().add(channel));
                    let sum = sum.add_product(V::load(values.as_ptr().add(at)), factor);
                    sum.max(V::splat(0.0)).store(results.as_mut_ptr().add(at));
                }
            }
        }
    }
}

/// See [`BoardBatch::gate`].
struct Gate<'a> {
    field: &'a BoardBatch,
    results: &'a [f32],
    values: &'a [f32],
    means: &'a [f32],
    gradient: &'a mut [f32],
    sums: &'a mut [Vec<f64>; 2],
}

impl Task for Gate<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector, const ROWS: usize>(self) {
        let Self { field, results, values, means, gradient, sums } = self;
        let width = field.grid.cell;
        let [mut plain, mut products] = [width; 2].map(Buffer::zeros);
        for board in 0..field.boards {
            plain.fill(0.0);
            products.fill(0.0);
            for cell in field.cells(board) {
                for channel in (0..width).step_by(V::LANES) {
                    let at = cell + channel;
                    // SAFETY: as in `Sum`.
                    unsafe {
                        let to = gradient.as_mut_ptr().add(at);
                        let passed = V::load(to).where_positive(V::load(results.as_ptr().add(at)));
                        passed.store(to);
                        let sum = plain.as_mut_ptr().add(channel);
                        V::load(sum).add(passed).store(sum);
                        let value = V::load(values.as_ptr().add(at));
                        let off = value.sub(V::load(means.as_ptr().add(channel)));
                        let sum = products.as_mut_ptr().add(channel);
                        V::load(sum).add_product(passed, off).store(sum);
                    }
                }
            }
            add(&mut sums[0], &plain);
            add(&mut sums[1], &products);
        }
    }
}

/// See [`BoardBatch::propagate`].
struct Propagate<'a> {
    field: &'a BoardBatch,
    values: &'a [f32],
    /// The gradient and the output, which may be the same.
    from: *const f32,
    to: *mut f32,
    factors: &'a [f32],
    slopes: &'a [f32],
    addends: &'a [f32],
}

impl Task for Propagate<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector, const ROWS: usize>(self) {
        let Self { field, values, from, to, factors, slopes, addends } = self;
        for cell in (0..field.boards).flat_map(|board| field.cells(board)) {
            for channel in (0..field.grid.cell).step_by(V::LANES) {
                let at = cell + channel;
                // SAFETY: as in `Sum`; every vector is read before it is written.
                unsafe {
                    let sum = V::load(addends.as_ptr().add(channel));
                    let value = V::load(values.as_ptr().add(at));
                    let sum = sum.add_product(value, V::load(slopes.as_ptr().add(channel)));
                    let gradient = V::load(from.add(at));
                    let sum = sum.add_product(gradient, V::load(factors.as_ptr().add(channel)));
                    sum.store(to.add(at));
                }
            }
        }
    }
}

fn add(sums: &mut [f64], more: &[f32]) {
    sums.iter_mut().zip(more).for_each(|(sum, &value)| *sum += f64::from(value));
}
