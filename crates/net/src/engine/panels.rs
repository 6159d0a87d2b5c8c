//! Matrix products by register tiles, with the right side packed in panels.
//!
//! A tile holds up to `ROWS` × 2 vectors of sums in registers and iterates over the inner
//! dimension once (Goto and van de Geijn 2008, "Anatomy of high-performance matrix
//! multiplication"). Weights are packed so that each step reads one line of them.
//!
//! Contract: each sum starts at the bias and adds its products by fused multiply-add in ascending
//! order of the inner dimension, in every instruction set and tile size.

use super::buffer::{Buffer, LINE};
use super::isa::{HIGHEST, Isa};
use super::vector::Vector;

/// Panels per step of a single row: enough independent sums to hide the latency of a multiply-add.
const WIDE: usize = 4;

/// Weights and biases in panels of two vectors; the last panel may have one vector.
#[derive(Clone, Debug)]
pub(super) struct Panels {
    /// Consecutive panels, each `[depth, columns of the panel]`.
    weights: Buffer,
    bias: Buffer,
    /// Inner dimension.
    depth: usize,
    /// Outputs, padded to a multiple of [`LINE`].
    columns: usize,
    /// Columns of a whole panel.
    width: usize,
}

/// The left rows of a product. Row `r` consists of `runs.len()` runs of `length` values.
pub(super) struct LeftRows<'a> {
    /// Values that contain the rows.
    pub(super) values: &'a [f32],
    /// Offsets of the runs from the start of a row.
    pub(super) runs: &'a [usize],
    /// Values per run.
    pub(super) length: usize,
}

/// Receives the sums of a tile.
pub(super) trait Sink {
    /// Takes the sums of one vector of columns of one row.
    ///
    /// # Safety
    ///
    /// As for [`Vector`].
    unsafe fn take<V: Vector>(&mut self, row: usize, column: usize, sums: V);
}

impl Panels {
    /// Packs `value(column, depth)`.
    pub(super) fn new(
        isa: Isa,
        depth: usize,
        bias: &[f32],
        value: impl Fn(usize, usize) -> f32,
    ) -> Self {
        let columns = bias.len().next_multiple_of(LINE);
        let width = 2 * isa.lanes();
        let mut weights = Buffer::zeros(columns * depth);
        let mut slots = weights.iter_mut();
        for first in (0..columns).step_by(width) {
            let panel = first..columns.min(first + width);
            for (k, column) in (0..depth).flat_map(|k| panel.clone().map(move |c| (k, c))) {
                let slot = slots.next().expect("there are columns · depth slots");
                if column < bias.len() {
                    *slot = value(column, k);
                }
            }
        }
        let mut padded = Buffer::zeros(columns);
        padded[..bias.len()].copy_from_slice(bias);
        Self { weights, bias: padded, depth, columns, width }
    }

    /// Replaces the weights of a line of columns, the first a multiple of [`LINE`], at one depth.
    pub(super) fn set_line(&mut self, first: usize, depth: usize, values: &[f32; LINE]) {
        // Stepwise, since a panel may be narrower than a line.
        let step = self.width.min(LINE);
        for (index, values) in values.chunks_exact(step).enumerate() {
            let column = first + index * step;
            let panel = column - column % self.width;
            let width = self.width.min(self.columns - panel);
            let at = panel * self.depth + depth * width + column % self.width;
            self.weights[at..at + step].copy_from_slice(values);
        }
    }

    /// Inner dimension.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Outputs, padding included.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Lanes of the vectors that the panels were packed for.
    pub(super) fn lanes(&self) -> usize {
        self.width / 2
    }

    /// Multiplies `rows` rows and passes all sums to `sink`. `start` returns the offset of a row.
    ///
    /// # Safety
    ///
    /// As for [`Vector`]. The panels were packed for `V`; every row lies within `left`.
    #[inline(always)]
    pub(super) unsafe fn multiply<V: Vector, const ROWS: usize>(
        &self,
        left: &LeftRows<'_>,
        rows: usize,
        start: impl Fn(usize) -> usize,
        sink: &mut impl Sink,
    ) {
        debug_assert_eq!(self.width, 2 * V::LANES);
        debug_assert_eq!(self.depth, left.runs.len() * left.length);
        // Tiles of nearly equal height: a last tile of one row would cost as much as four.
        let tiles = rows.div_ceil(ROWS);
        let mut first = 0;
        while first < self.columns {
            // SAFETY: the caller keeps the contract of `Vector` and of `left`. Each tile is
            // given a panel that begins inside `columns`, with as many vectors as it holds.
            unsafe {
                if rows == 1 && self.columns - first >= WIDE * self.width {
                    self.row::<V>(left, start(0), first, sink);
                    first += WIDE * self.width;
                    continue;
                }
                let is_whole = self.columns - first >= self.width;
                let panel = Panel {
                    weights: self.weights.as_ptr().add(first * self.depth),
                    bias: self.bias.as_ptr().add(first),
                    first,
                };
                let mut row = 0;
                for tile in 0..tiles {
                    let end = (tile + 1) * rows / tiles;
                    if is_whole {
                        panel.rows::<V, ROWS, 2>(left, row, end - row, &start, sink);
                    } else {
                        panel.rows::<V, ROWS, 1>(left, row, end - row, &start, sink);
                    }
                    row = end;
                }
            }
            first += self.width;
        }
    }

    /// One row times [`WIDE`] panels.
    ///
    /// # Safety
    ///
    /// As for [`Panels::multiply`]; that many whole panels begin at column `first`.
    #[inline(always)]
    unsafe fn row<V: Vector>(
        &self,
        left: &LeftRows<'_>,
        start: usize,
        first: usize,
        sink: &mut impl Sink,
    ) {
        // SAFETY: the caller's panels and row are whole; indices stay within them.
        unsafe {
            let mut sums = [[V::splat(0.0); 2]; WIDE];
            let mut weights = [self.weights.as_ptr(); WIDE];
            for (panel, sums) in sums.iter_mut().enumerate() {
                let column = first + panel * self.width;
                weights[panel] = self.weights.as_ptr().add(column * self.depth);
                let bias = self.bias.as_ptr().add(column);
                *sums = [V::load(bias), V::load(bias.add(V::LANES))];
            }
            let values = left.values.as_ptr().add(start);
            let mut line = 0;
            for &run in left.runs {
                for k in 0..left.length {
                    let factor = V::splat(*values.add(run + k));
                    for (sums, weights) in sums.iter_mut().zip(&weights) {
                        let at = weights.add(line);
                        sums[0] = sums[0].add_product(factor, V::load(at));
                        sums[1] = sums[1].add_product(factor, V::load(at.add(V::LANES)));
                    }
                    line += 2 * V::LANES;
                }
            }
            for (panel, sums) in sums.into_iter().enumerate() {
                let column = first + panel * self.width;
                sink.take(0, column, sums[0]);
                sink.take(0, column + V::LANES, sums[1]);
            }
        }
    }
}

/// One panel, as pointers.
struct Panel {
    weights: *const f32,
    bias: *const f32,
    /// Its first column.
    first: usize,
}

impl Panel {
    /// A tile of `count` rows, at most `ROWS`, from row `row` on.
    ///
    /// # Safety
    ///
    /// As for [`Panels::multiply`]; the panel has `VECTORS` vectors.
    #[inline(always)]
    unsafe fn rows<V: Vector, const ROWS: usize, const VECTORS: usize>(
        &self,
        left: &LeftRows<'_>,
        row: usize,
        count: usize,
        start: &impl Fn(usize) -> usize,
        sink: &mut impl Sink,
    ) {
        debug_assert!(count <= ROWS && ROWS <= HIGHEST);
        macro_rules! tile {
            ($($rows:literal)*) => {
                // SAFETY: the caller keeps the contract. A tile is not higher than `ROWS`.
                match count {
                    $($rows if $rows <= ROWS => unsafe {
                        self.tile::<V, $rows, VECTORS>(left, row, start, sink);
                    })*
                    _ => {}
                }
            };
        }
        tile!(1 2 3 4 5 6 7 8 9 10 11 12);
    }

    /// Sums of `ROWS` rows.
    ///
    /// # Safety
    ///
    /// As for [`Panels::multiply`]; the panel has `VECTORS` vectors.
    #[inline(always)]
    unsafe fn tile<V: Vector, const ROWS: usize, const VECTORS: usize>(
        &self,
        left: &LeftRows<'_>,
        row: usize,
        start: &impl Fn(usize) -> usize,
        sink: &mut impl Sink,
    ) {
        // SAFETY: the caller's rows and panel are whole; indices stay within them.
        unsafe {
            let mut rows = [left.values.as_ptr(); ROWS];
            for (i, pointer) in rows.iter_mut().enumerate() {
                *pointer = pointer.add(start(row + i));
            }
            let mut sums = [[V::splat(0.0); VECTORS]; ROWS];
            for sums in &mut sums {
                for (vector, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(self.bias.add(vector * V::LANES));
                }
            }
            let mut weights = self.weights;
            for &run in left.runs {
                for k in run..run + left.length {
                    let mut line = [V::splat(0.0); VECTORS];
                    for (vector, line) in line.iter_mut().enumerate() {
                        *line = V::load(weights.add(vector * V::LANES));
                    }
                    weights = weights.add(VECTORS * V::LANES);
                    for i in 0..ROWS {
                        let factor = V::splat(*rows[i].add(k));
                        for vector in 0..VECTORS {
                            sums[i][vector] = sums[i][vector].add_product(factor, line[vector]);
                        }
                    }
                }
            }
            for (i, sums) in sums.into_iter().enumerate() {
                for (vector, sum) in sums.into_iter().enumerate() {
                    sink.take(row + i, self.first + vector * V::LANES, sum);
                }
            }
        }
    }
}
