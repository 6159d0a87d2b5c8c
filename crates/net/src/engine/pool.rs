//! What is not a product: pooling, and adding a number per channel.

use super::grid::Grid;

/// 2×2 maximum with stride 2; an odd last row or column is dropped.
#[derive(Clone, Debug)]
pub(super) struct MaxPool {
    pub(super) input: Grid,
    pub(super) output: Grid,
}

/// Mean and maximum of the first channels over a board, after a ReLU of their own.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    pub(super) input: Grid,
    pub(super) channels: usize,
    /// Means, then maxima.
    pub(super) output: Grid,
}

/// Adds a number per channel everywhere on a board, then ReLU.
#[derive(Clone, Debug)]
pub(super) struct Shift {
    pub(super) input: Grid,
    pub(super) output: Grid,
}

impl MaxPool {
    pub(super) fn run(&self, boards: usize, input: &[f32], output: &mut [f32]) {
        let (from, to) = (&self.input, &self.output);
        for board in 0..boards {
            for (row, column) in cells(to) {
                let target = &mut output[board * to.board + to.offset(row, column)..][..to.cell];
                let corner = board * from.board + from.offset(2 * row, 2 * column);
                let [a, b, c, d] = [0, from.cell, from.row, from.row + from.cell]
                    .map(|offset| &input[corner + offset..][..to.cell]);
                for (channel, target) in target.iter_mut().enumerate() {
                    *target = a[channel].max(b[channel]).max(c[channel].max(d[channel]));
                }
            }
        }
    }
}

impl Summary {
    pub(super) fn run(&self, boards: usize, input: &[f32], output: &mut [f32]) {
        let factor = 1.0 / self.input.cells() as f32;
        for board in 0..boards {
            let target = &mut output[board * self.output.board..][..2 * self.channels];
            target.fill(0.0);
            let (sums, maxima) = target.split_at_mut(self.channels);
            for (row, column) in cells(&self.input) {
                let at = board * self.input.board + self.input.offset(row, column);
                let values = &input[at..][..self.channels];
                for ((sum, max), &value) in sums.iter_mut().zip(&mut *maxima).zip(values) {
                    let value = value.max(0.0);
                    *sum += value;
                    *max = max.max(value);
                }
            }
            sums.iter_mut().for_each(|sum| *sum *= factor);
        }
    }
}

impl Shift {
    pub(super) fn run(&self, boards: usize, input: &[f32], output: &mut [f32]) {
        let grid = &self.output;
        for board in 0..boards {
            let shifts = &input[board * self.input.board..][..grid.cell];
            for (row, column) in cells(grid) {
                let at = board * grid.board + grid.offset(row, column);
                for (value, shift) in output[at..][..grid.cell].iter_mut().zip(shifts) {
                    *value = (*value + shift).max(0.0);
                }
            }
        }
    }
}

fn cells(grid: &Grid) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (height, width) = (grid.height, grid.width);
    (0..height).flat_map(move |row| (0..width).map(move |column| (row, column)))
}
