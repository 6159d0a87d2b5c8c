//! One matrix product of the network, with the addresses of its rows.

use super::kernel::{self, Isa};

/// Where row `r` of a matrix lies: rows count the cells of consecutive boards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    height: usize,
    width: usize,
    /// Distance between boards, board rows and cells, in values.
    board: usize,
    row: usize,
    cell: usize,
    /// Offset of the first cell.
    origin: usize,
}

impl Grid {
    /// Boards without a frame, cells of `channels` values.
    pub(super) fn plain(height: usize, width: usize, channels: usize) -> Self {
        let row = width * channels;
        Self { height, width, board: height * row, row, cell: channels, origin: 0 }
    }

    /// Boards with a frame one cell wide.
    pub(super) fn framed(height: usize, width: usize, channels: usize) -> Self {
        let row = (width + 2) * channels;
        let origin = row + channels;
        Self { height, width, board: (height + 2) * row, row, cell: channels, origin }
    }

    /// Offset of the first value of matrix row `index`.
    #[inline(always)]
    pub(super) fn offset(&self, index: usize) -> usize {
        let (line, column) = (index / self.width, index % self.width);
        let (board, line) = (line / self.height, line % self.height);
        self.origin + board * self.board + line * self.row + column * self.cell
    }

    /// The same cells, addressed by the upper left corner of their 3×3 neighbourhood.
    fn corners(self) -> Self {
        Self { origin: self.origin - self.row - self.cell, ..self }
    }
}

/// `output[r] = act(bias + input[r] · weights)` for rows `r`.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// Packed weights: panels of `Isa::columns` outputs, each `[depth, columns]`.
    pub(super) panels: Vec<f32>,
    /// Biases, filled up with zeros to whole panels.
    pub(super) bias: Vec<f32>,
    /// Outputs.
    pub(super) outputs: usize,
    /// Whether negative results become 0.
    pub(super) relu: bool,
    /// Runs of values that make up one row of the left matrix.
    pub(super) runs: usize,
    /// Length of a run.
    pub(super) length: usize,
    /// Distance between the starts of two runs.
    pub(super) stride: usize,
    /// Rows of the left matrix.
    pub(super) input: Grid,
    /// Rows of the result.
    pub(super) output: Grid,
}

impl Layer {
    /// A 3×3 convolution over framed boards; `weight` is `[outputs, inputs, 3, 3]`.
    pub(super) fn convolution(
        isa: Isa,
        weight: &[f32],
        bias: &[f32],
        [height, width]: [usize; 2],
        inputs: usize,
        output: Grid,
    ) -> Self {
        let input = Grid::framed(height, width, inputs);
        // Depth runs over row and column of the neighbourhood, then over channels.
        let value = |column: usize, depth: usize| {
            let (tap, channel) = (depth / inputs, depth % inputs);
            weight[(column * inputs + channel) * 9 + tap]
        };
        Self {
            panels: pack(isa.columns(), 9 * inputs, bias.len(), value),
            bias: padded(bias, isa.columns()),
            outputs: bias.len(),
            relu: true,
            runs: 3,
            length: 3 * inputs,
            stride: input.row,
            input: input.corners(),
            output,
        }
    }

    /// A fully connected layer; `weight` is `[outputs, inputs]`.
    pub(super) fn linear(isa: Isa, weight: &[f32], bias: &[f32], relu: bool) -> Self {
        let inputs = weight.len() / bias.len();
        Self {
            panels: pack(isa.columns(), inputs, bias.len(), |column, depth| {
                weight[column * inputs + depth]
            }),
            bias: padded(bias, isa.columns()),
            outputs: bias.len(),
            relu,
            runs: 1,
            length: inputs,
            stride: 0,
            input: Grid::plain(1, 1, inputs),
            output: Grid::plain(1, 1, bias.len()),
        }
    }

    /// Inner dimension of the product.
    pub(super) fn inputs(&self) -> usize {
        self.runs * self.length
    }

    /// Computes `rows` rows.
    pub(super) fn run(&self, isa: Isa, input: &[f32], rows: usize, output: &mut [f32]) {
        kernel::multiply(isa, self, input, rows, output);
    }
}

fn pack(
    columns: usize,
    depth: usize,
    outputs: usize,
    value: impl Fn(usize, usize) -> f32,
) -> Vec<f32> {
    let mut panels = Vec::with_capacity(outputs.next_multiple_of(columns) * depth);
    for first in (0..outputs).step_by(columns) {
        for k in 0..depth {
            panels.extend(
                (first..first + columns).map(
                    |column| {
                        if column < outputs { value(column, k) } else { 0.0 }
                    },
                ),
            );
        }
    }
    panels
}

fn padded(bias: &[f32], columns: usize) -> Vec<f32> {
    let mut out = bias.to_vec();
    out.resize(bias.len().next_multiple_of(columns), 0.0);
    out
}
