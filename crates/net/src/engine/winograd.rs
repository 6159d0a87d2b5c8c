//! 3×3 convolutions with a quarter of the multiplications, by Winograd's minimal filtering
//! F(4×4, 3×3).
//!
//! Lavin and Gray 2016, "Fast algorithms for convolutional neural networks", section 4.1, with the
//! interpolation points 0, ±1, ±2, ∞. Each 6×6 neighbourhood is transformed to 36 frequencies. In
//! these the convolution is 36 independent matrix products over channels. The products are
//! transformed back to 4×4 results. The filters are transformed once, in f64.
//!
//! Tiles go through the three phases in blocks. A block is small enough for the intermediate
//! values to stay in cache, and large enough for each frequency's filter to be reused many times.

use super::buffer::{Buffer, LINE};
use super::grid::{Grid, TILE};
use super::isa::{HIGHEST, Isa, Task};
use super::layer::Epilogue;
use super::panels::{LeftRows, Panels, Sink};
use super::vector::Vector;

/// Side of a neighbourhood.
const SIDE: usize = TILE + 2;

/// Frequencies of a tile.
const FREQUENCIES: usize = SIDE * SIDE;

/// Intermediate values of a block: 336 KiB, a third of a second-level cache.
const BLOCK_VALUES: usize = 84 << 10;

/// The filter transform, Lavin and Gray's G.
const FILTER: [[f64; 3]; SIDE] = [
    [1.0 / 4.0, 0.0, 0.0],
    [-1.0 / 6.0, -1.0 / 6.0, -1.0 / 6.0],
    [-1.0 / 6.0, 1.0 / 6.0, -1.0 / 6.0],
    [1.0 / 24.0, 1.0 / 12.0, 1.0 / 6.0],
    [1.0 / 24.0, -1.0 / 12.0, 1.0 / 6.0],
    [0.0, 0.0, 1.0],
];

/// A convolution in frequencies.
#[derive(Clone, Debug)]
pub(super) struct Winograd {
    /// One product per frequency; without biases.
    panels: Vec<Panels>,
    bias: Buffer,
    inputs: usize,
    input: Grid,
    output: Grid,
    /// The tiles of a board.
    tiles: Vec<Tile>,
    /// Most tiles in a block.
    block: usize,
    epilogue: Epilogue,
}

/// The position of a tile on its board.
#[derive(Clone, Copy, Debug)]
struct Tile {
    /// Offset of its neighbourhood.
    input: usize,
    /// Offset of its first result.
    output: usize,
    /// Rows and columns of results that are on the board, at most [`TILE`].
    rows: usize,
    columns: usize,
}

/// Buffers for the intermediate values between the phases.
#[derive(Clone, Debug, Default)]
pub(super) struct Frequencies {
    inputs: Buffer,
    outputs: Buffer,
}

impl Winograd {
    /// `weight` is `[outputs, inputs, 3, 3]`; both grids are framed, cells of whole lines.
    pub(super) fn new(
        isa: Isa,
        [weight, bias]: [&[f32]; 2],
        input: &Grid,
        output: &Grid,
        epilogue: Epilogue,
    ) -> Self {
        let inputs = weight.len() / bias.len() / 9;
        let zeros = vec![0.0; bias.len()];
        let panels = (0..FREQUENCIES)
            .map(|frequency| {
                Panels::new(isa, inputs, &zeros, |column, depth| {
                    let filter = &weight[(column * inputs + depth) * 9..][..9];
                    transformed(filter, frequency / SIDE, frequency % SIDE) as f32
                })
            })
            .collect();
        let mut padded = Buffer::zeros(bias.len());
        padded[..bias.len()].copy_from_slice(bias);
        let mut tiles = Vec::new();
        for row in (0..output.height).step_by(TILE) {
            for column in (0..output.width).step_by(TILE) {
                tiles.push(Tile {
                    input: row * input.row + column * input.cell,
                    output: output.offset(row, column),
                    rows: TILE.min(output.height - row),
                    columns: TILE.min(output.width - column),
                });
            }
        }
        let values = FREQUENCIES * (input.cell + output.cell);
        let block = (BLOCK_VALUES / (values * HIGHEST)).max(1) * HIGHEST;
        let (bias, input, output) = (padded, *input, *output);
        Self { panels, bias, inputs, input, output, tiles, block, epilogue }
    }

    /// Replaces the filters by others of the same shape.
    ///
    /// The transform is in f32, which is faster than [`Winograd::new`] and exact enough for
    /// filters of a single optimiser step.
    pub(super) fn set(&mut self, weight: &[f32]) {
        let inputs = self.inputs;
        let outputs = weight.len() / inputs / 9;
        for first in (0..outputs).step_by(LINE) {
            let count = LINE.min(outputs - first);
            for input in 0..inputs {
                let mut taps = [[0.0; LINE]; 9];
                for lane in 0..count {
                    let filter = &weight[((first + lane) * inputs + input) * 9..][..9];
                    for (tap, &value) in taps.iter_mut().zip(filter) {
                        tap[lane] = value;
                    }
                }
                let mut columns = [[[0.0; LINE]; 3]; SIDE];
                for (x, y) in (0..3).flat_map(|x| (0..SIDE).map(move |y| (x, y))) {
                    columns[y][x] = combined([taps[x], taps[3 + x], taps[6 + x]], y);
                }
                for (frequency, panels) in self.panels.iter_mut().enumerate() {
                    let line = combined(columns[frequency / SIDE], frequency % SIDE);
                    panels.set_line(first, input, &line);
                }
            }
        }
    }

    /// Whether Winograd takes less work than a direct product. The decision depends on the shape
    /// alone, so that every processor adds in the same order.
    pub(super) fn is_faster(height: usize, width: usize, inputs: usize, outputs: usize) -> bool {
        // Costs in vector instructions of 16 lanes. The costs of the transforms, memory included,
        // were fitted to measurements.
        let tiles = height.div_ceil(TILE) * width.div_ceil(TILE);
        let (lines_in, lines_out) = (inputs.div_ceil(LINE), outputs.div_ceil(LINE));
        let direct = height * width * 9 * inputs * lines_out;
        let product = FREQUENCIES * inputs * lines_out;
        tiles * (product + 220 * lines_in + 200 * lines_out) < direct
    }

    /// Convolves `boards` boards.
    ///
    /// # Panics
    ///
    /// If the filters were packed for vectors of another width than those of `isa`, or a slice is
    /// too short.
    pub(super) fn run(
        &self,
        isa: Isa,
        boards: usize,
        input: &[f32],
        output: &mut [f32],
        between: &mut Frequencies,
    ) {
        // `new` packs the panels of all frequencies for one instruction set.
        assert_eq!(self.panels[0].lanes(), isa.lanes(), "packed for another instruction set");
        // One line more than the rows need: power-of-two distances would map to few cache sets.
        let steps = [self.input.cell, self.output.cell].map(|cell| self.block * cell + LINE);
        between.inputs.grow(FREQUENCIES * steps[0]);
        between.outputs.grow(FREQUENCIES * steps[1]);
        assert!(boards * self.input.board <= input.len(), "the input is shorter than its boards");
        assert!(boards * self.output.board <= output.len(), "the output is too short");
        isa.run(Pass { layer: self, boards, input, output, between, steps });
    }
}

/// One frequency of G · filter · Gᵀ.
fn transformed(filter: &[f32], row: usize, column: usize) -> f64 {
    let taps = (0..3).flat_map(|y| (0..3).map(move |x| (y, x)));
    taps.map(|(y, x)| FILTER[row][y] * f64::from(filter[3 * y + x]) * FILTER[column][x]).sum()
}

/// One row of G times three lines.
fn combined(lines: [[f32; LINE]; 3], row: usize) -> [f32; LINE] {
    let factors = FILTER[row].map(|factor| factor as f32);
    std::array::from_fn(|lane| {
        factors[0] * lines[0][lane] + factors[1] * lines[1][lane] + factors[2] * lines[2][lane]
    })
}

/// All blocks of some boards.
struct Pass<'a> {
    layer: &'a Winograd,
    boards: usize,
    input: &'a [f32],
    output: &'a mut [f32],
    between: &'a mut Frequencies,
    /// Distances between frequencies, before and after the product.
    steps: [usize; 2],
}

impl Task for Pass<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector, const ROWS: usize>(mut self) {
        let tiles = self.boards * self.layer.tiles.len();
        let blocks = tiles.div_ceil(self.layer.block);
        for block in 0..blocks {
            let [first, end] = [block, block + 1].map(|block| block * tiles / blocks);
            let count = end - first;
            // SAFETY: the caller keeps the contract of `Vector`. `Winograd::run` has checked that
            // the panels were packed for this width and that all boards lie in their slices, and
            // has made room for a block.
            unsafe {
                self.forward::<V>(first, count);
                self.multiply::<V, ROWS>(count);
                self.backward::<V>(first, count);
            }
        }
    }
}

impl Pass<'_> {
    /// Transforms the neighbourhoods of `count` tiles, from tile `first` on, to frequencies.
    ///
    /// # Safety
    ///
    /// As for [`Vector`]; the tiles are those of the boards, at most a block.
    #[inline(always)]
    unsafe fn forward<V: Vector>(&mut self, first: usize, count: usize) {
        let Winograd { input: grid, inputs, tiles, .. } = self.layer;
        let (mut board, mut tile) = (first / tiles.len(), first % tiles.len());
        for index in 0..count {
            let from = board * grid.board + tiles[tile].input;
            for channel in (0..*inputs).step_by(V::LANES) {
                // SAFETY: the frame makes every neighbourhood whole and channels are padded to
                // lines; a block has room for this tile.
                unsafe {
                    let from = self.input.as_ptr().add(from + channel);
                    let to = self.between.inputs.as_mut_ptr().add(index * grid.cell + channel);
                    forward::<V>(from, grid.row, grid.cell, to, self.steps[0]);
                }
            }
            tile += 1;
            if tile == tiles.len() {
                (board, tile) = (board + 1, 0);
            }
        }
    }

    /// The matrix product of every frequency over `count` tiles.
    ///
    /// # Safety
    ///
    /// As for [`Vector`]; the panels were packed for `V`, and a block holds `count` tiles.
    #[inline(always)]
    unsafe fn multiply<V: Vector, const ROWS: usize>(&mut self, count: usize) {
        let (cell_in, cell_out) = (self.layer.input.cell, self.layer.output.cell);
        let inputs = self.between.inputs.chunks_exact(self.steps[0]);
        let outputs = self.between.outputs.chunks_exact_mut(self.steps[1]);
        for ((panels, values), output) in self.layer.panels.iter().zip(inputs).zip(outputs) {
            debug_assert!(panels.columns() <= cell_out);
            let left = LeftRows { values, runs: &[0], length: panels.depth() };
            let mut sink = Plain { output, cell: cell_out };
            // SAFETY: the caller keeps the contract of `Vector` and of the panels. A step holds a
            // cell for every tile, and a cell all channels.
            unsafe {
                panels.multiply::<V, ROWS>(&left, count, |tile| tile * cell_in, &mut sink);
            }
        }
    }

    /// Transforms frequencies back to results.
    ///
    /// # Safety
    ///
    /// As for [`Pass::forward`].
    #[inline(always)]
    unsafe fn backward<V: Vector>(&mut self, first: usize, count: usize) {
        let Winograd { output: grid, bias, tiles, epilogue, .. } = self.layer;
        let (mut board, mut tile) = (first / tiles.len(), first % tiles.len());
        for index in 0..count {
            let Tile { output, rows, columns, .. } = tiles[tile];
            for channel in (0..bias.len()).step_by(V::LANES) {
                let at = board * grid.board + output + channel;
                // SAFETY: the tile's cells that are on the board lie in the slice; a block has
                // all its frequencies.
                unsafe {
                    let to = self.output.as_mut_ptr().add(at);
                    let place = TileTarget { to, row: grid.row, cell: grid.cell, rows, columns };
                    let bias = V::load(bias.as_ptr().add(channel));
                    let from = self.between.outputs.as_ptr().add(index * grid.cell + channel);
                    backward::<V>(from, self.steps[1], bias, *epilogue, &place);
                }
            }
            tile += 1;
            if tile == tiles.len() {
                (board, tile) = (board + 1, 0);
            }
        }
    }
}

/// Bᵀ · d · B of one vector of channels.
///
/// Rows of the first product are computed in pairs that share terms, so that at most two are in
/// registers at once.
///
/// # Safety
///
/// As for [`Vector`]; the neighbourhood and the frequencies lie in allocated memory.
#[inline(always)]
unsafe fn forward<V: Vector>(from: *const f32, row: usize, cell: usize, to: *mut f32, step: usize) {
    // SAFETY: the caller keeps the contract.
    unsafe {
        let d = |y: usize, x: usize| V::load(from.add(y * row + x * cell));
        let four = V::splat(4.0);
        let minus_five = V::splat(-5.0);
        let mut line = [V::splat(0.0); SIDE];
        let mut other = line;
        for (x, line) in line.iter_mut().enumerate() {
            *line = d(4, x).add_product(minus_five, d(2, x)).add_product(four, d(0, x));
        }
        forward_line(line, to, step);
        for x in 0..SIDE {
            let even = d(4, x).add_product(V::splat(-4.0), d(2, x));
            let odd = d(3, x).add_product(V::splat(-4.0), d(1, x));
            (line[x], other[x]) = (even.add(odd), even.sub(odd));
        }
        forward_line(line, to.add(SIDE * step), step);
        forward_line(other, to.add(2 * SIDE * step), step);
        for x in 0..SIDE {
            let even = d(4, x).sub(d(2, x));
            let odd = d(3, x).sub(d(1, x));
            line[x] = even.add_product(V::splat(2.0), odd);
            other[x] = even.add_product(V::splat(-2.0), odd);
        }
        forward_line(line, to.add(3 * SIDE * step), step);
        forward_line(other, to.add(4 * SIDE * step), step);
        for (x, line) in line.iter_mut().enumerate() {
            *line = d(5, x).add_product(minus_five, d(3, x)).add_product(four, d(1, x));
        }
        forward_line(line, to.add(5 * SIDE * step), step);
    }
}

/// One row of the second product, d · B.
///
/// # Safety
///
/// As for [`forward`].
#[inline(always)]
unsafe fn forward_line<V: Vector>(d: [V; SIDE], to: *mut f32, step: usize) {
    // SAFETY: the caller keeps the contract.
    unsafe {
        let (four, minus_five) = (V::splat(4.0), V::splat(-5.0));
        let minus_four = V::splat(-4.0);
        d[4].add_product(minus_five, d[2]).add_product(four, d[0]).store(to);
        let even = d[4].add_product(minus_four, d[2]);
        let odd = d[3].add_product(minus_four, d[1]);
        even.add(odd).store(to.add(step));
        even.sub(odd).store(to.add(2 * step));
        let even = d[4].sub(d[2]);
        let odd = d[3].sub(d[1]);
        even.add_product(V::splat(2.0), odd).store(to.add(3 * step));
        even.add_product(V::splat(-2.0), odd).store(to.add(4 * step));
        d[5].add_product(minus_five, d[3]).add_product(four, d[1]).store(to.add(5 * step));
    }
}

/// Stores sums without an epilogue.
struct Plain<'a> {
    output: &'a mut [f32],
    cell: usize,
}

impl Sink for Plain<'_> {
    #[inline(always)]
    unsafe fn take<V: Vector>(&mut self, row: usize, column: usize, sums: V) {
        let at = row * self.cell + column;
        debug_assert!(at + V::LANES <= self.output.len());
        // SAFETY: the caller keeps the contract of `Vector`; a step holds all rows.
        unsafe { sums.store(self.output.as_mut_ptr().add(at)) }
    }
}

/// The destination of a tile's results.
struct TileTarget {
    to: *mut f32,
    row: usize,
    cell: usize,
    /// Rows and columns that are on the board.
    rows: usize,
    columns: usize,
}

/// Aᵀ · m · A of one vector of channels, with the epilogue.
///
/// # Safety
///
/// As for [`Vector`]; frequencies and results lie in allocated memory.
#[inline(always)]
unsafe fn backward<V: Vector>(
    from: *const f32,
    step: usize,
    bias: V,
    epilogue: Epilogue,
    place: &TileTarget,
) {
    // SAFETY: the caller keeps the contract.
    unsafe {
        let mut lines = [[bias; SIDE]; TILE];
        for x in 0..SIDE {
            let mut m = [bias; SIDE];
            for (y, m) in m.iter_mut().enumerate() {
                *m = V::load(from.add((y * SIDE + x) * step));
            }
            let sums = backward_line(m);
            for (line, sum) in lines.iter_mut().zip(sums) {
                line[x] = sum;
            }
        }
        for (y, line) in lines.into_iter().enumerate() {
            if y < place.rows {
                for (x, sum) in backward_line(line).into_iter().enumerate() {
                    if x < place.columns {
                        let to = place.to.add(y * place.row + x * place.cell);
                        epilogue.store(sum.add(bias), to);
                    }
                }
            }
        }
    }
}

/// Aᵀ · m.
///
/// # Safety
///
/// As for [`Vector`].
#[inline(always)]
unsafe fn backward_line<V: Vector>(m: [V; SIDE]) -> [V; TILE] {
    // SAFETY: the caller keeps the contract.
    unsafe {
        let (near, near_odd) = (m[1].add(m[2]), m[1].sub(m[2]));
        let (far, far_odd) = (m[3].add(m[4]), m[3].sub(m[4]));
        [
            m[0].add(near).add(far),
            near_odd.add_product(V::splat(2.0), far_odd),
            near.add_product(V::splat(4.0), far),
            near_odd.add_product(V::splat(8.0), far_odd).add(m[5]),
        ]
    }
}
