//! The gradient of a 3×3 convolution's filters: the product of its input's neighbourhoods,
//! transposed, with the gradient of its results.
//!
//! As in [`Layer`](crate::engine::layer::Layer), neighbourhoods are read in place. A tile of sums
//! stays in registers while it iterates over the cells of a few boards. The boards are few enough
//! for both factors to stay in cache while all tiles iterate over them.

use crate::engine::buffer::{Buffer, LINE};
use crate::engine::grid::Grid;
use crate::engine::isa::{HIGHEST, Isa, Task};
use crate::engine::vector::Vector;

/// Values of both factors per chunk of boards: 384 KiB.
const CHUNK_VALUES: usize = 96 << 10;

/// The gradient of one convolution's filters.
#[derive(Debug)]
pub(super) struct FilterGradient {
    input: Grid,
    output: Grid,
    /// Channels in and out.
    channels: [usize; 2],
    /// Offsets of a neighbourhood's runs from its corner.
    runs: Vec<usize>,
    length: usize,
    /// Output channels, padded to whole lines.
    columns: usize,
}

impl FilterGradient {
    /// For a convolution from `input` to `output` boards; output cells are whole lines.
    pub(super) fn new(input: &Grid, output: &Grid, channels: [usize; 2]) -> Self {
        let [inputs, outputs] = channels;
        // Without padding between cells, three neighbours are one contiguous run.
        let (steps, length) = if input.cell == inputs { (1, 3 * inputs) } else { (3, inputs) };
        let runs = (0..3)
            .flat_map(|row| (0..steps).map(move |column| row * input.row + column * input.cell))
            .collect();
        let columns = outputs.next_multiple_of(LINE);
        Self { input: *input, output: *output, channels, runs, length, columns }
    }

    /// Writes the gradient, `[outputs, inputs, 3, 3]`, over `boards` boards.
    pub(super) fn run(
        &self,
        isa: Isa,
        boards: usize,
        input: &[f32],
        gradient: &[f32],
        filters: &mut [f32],
    ) {
        let [inputs, outputs] = self.channels;
        assert!(boards * self.input.board <= input.len(), "the input is shorter than its boards");
        assert!(boards * self.output.board <= gradient.len(), "the gradient is too short");
        assert_eq!(filters.len(), 9 * inputs * outputs, "there is one filter per pair of channels");
        let mut sums = Buffer::zeros(9 * inputs * self.columns);
        let chunk = (CHUNK_VALUES / (self.input.board + self.output.board)).max(1);
        for first in (0..boards).step_by(chunk) {
            let boards = first..boards.min(first + chunk);
            isa.run(TileSums { layer: self, boards, input, gradient, sums: &mut sums });
        }
        for (output, filters) in filters.chunks_exact_mut(9 * inputs).enumerate() {
            for (index, value) in filters.iter_mut().enumerate() {
                let (channel, tap) = (index / 9, index % 9);
                *value = sums[(tap * inputs + channel) * self.columns + output];
            }
        }
    }
}

/// The sums of all tiles over some boards.
struct TileSums<'a> {
    layer: &'a FilterGradient,
    boards: std::ops::Range<usize>,
    input: &'a [f32],
    gradient: &'a [f32],
    /// `[9 · inputs, columns]`.
    sums: &'a mut [f32],
}

impl Task for TileSums<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector, const ROWS: usize>(mut self) {
        let FilterGradient { runs, length, columns, .. } = self.layer;
        let tiles = length.div_ceil(ROWS);
        let mut column = 0;
        while column < *columns {
            let is_pair = columns - column >= 2 * V::LANES;
            for (index, run) in runs.iter().enumerate() {
                for tile in 0..tiles {
                    let [first, end] = [tile, tile + 1].map(|tile| tile * length / tiles);
                    let place =
                        TilePosition { offset: run + first, depth: index * length + first, column };
                    // SAFETY: the caller keeps the contract of `Vector`; `FilterGradient::run`
                    // has checked that all boards lie in their slices.
                    unsafe {
                        if is_pair {
                            self.tile_of::<V, ROWS, 2>(end - first, place);
                        } else {
                            self.tile_of::<V, ROWS, 1>(end - first, place);
                        }
                    }
                }
            }
            column += if is_pair { 2 } else { 1 } * V::LANES;
        }
    }
}

/// The position of a tile in the gradient.
#[derive(Clone, Copy)]
struct TilePosition {
    /// Offset of its first value from the corner of a neighbourhood.
    offset: usize,
    /// Index of that value in the neighbourhood.
    depth: usize,
    /// First output channel.
    column: usize,
}

impl TileSums<'_> {
    /// A tile of `count` values of the neighbourhood, at most `ROWS`.
    ///
    /// # Safety
    ///
    /// As for [`Vector`]; the boards lie in their slices.
    #[inline(always)]
    unsafe fn tile_of<V: Vector, const ROWS: usize, const VECTORS: usize>(
        &mut self,
        count: usize,
        place: TilePosition,
    ) {
        debug_assert!(count <= ROWS && ROWS <= HIGHEST);
        macro_rules! tile {
            ($($rows:literal)*) => {
                // SAFETY: the caller keeps the contract. A tile is not higher than `ROWS`.
                match count {
                    $($rows if $rows <= ROWS => unsafe {
                        self.tile::<V, $rows, VECTORS>(place);
                    })*
                    _ => {}
                }
            };
        }
        tile!(1 2 3 4 5 6 7 8 9 10 11 12);
    }

    /// Adds to `ROWS` × `VECTORS` vectors of sums.
    ///
    /// # Safety
    ///
    /// As for [`TileSums::tile_of`].
    #[inline(always)]
    unsafe fn tile<V: Vector, const ROWS: usize, const VECTORS: usize>(
        &mut self,
        place: TilePosition,
    ) {
        let FilterGradient { input, output, columns, .. } = self.layer;
        let TilePosition { offset, depth, column } = place;
        // SAFETY: neighbourhoods lie within their framed boards, whose ends were checked; sums
        // hold a row of columns for every value of a neighbourhood.
        unsafe {
            let to = self.sums.as_mut_ptr().add(depth * columns + column);
            let mut sums = [[V::splat(0.0); VECTORS]; ROWS];
            for (row, sums) in sums.iter_mut().enumerate() {
                for (vector, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(to.add(row * columns + vector * V::LANES));
                }
            }
            // The corner of a neighbourhood is one row and one cell before its centre.
            let corner = input.origin - input.row - input.cell + offset;
            for board in self.boards.clone() {
                let from = self.input.as_ptr().add(board * input.board + corner);
                let gradient = self.gradient.as_ptr().add(board * output.board + column);
                for row in 0..output.height {
                    let mut values = from.add(row * input.row);
                    let mut line = gradient.add(output.offset(row, 0));
                    for _ in 0..output.width {
                        let mut right = [V::splat(0.0); VECTORS];
                        for (vector, right) in right.iter_mut().enumerate() {
                            *right = V::load(line.add(vector * V::LANES));
                        }
                        for (row, sums) in sums.iter_mut().enumerate() {
                            let left = V::splat(*values.add(row));
                            for (sum, right) in sums.iter_mut().zip(right) {
                                *sum = sum.add_product(left, right);
                            }
                        }
                        values = values.add(input.cell);
                        line = line.add(output.cell);
                    }
                }
            }
            for (row, sums) in sums.into_iter().enumerate() {
                for (vector, sum) in sums.into_iter().enumerate() {
                    sum.store(to.add(row * columns + vector * V::LANES));
                }
            }
        }
    }
}
