//! The inner loops: register tiles of a matrix product, compiled once per instruction set.
//!
//! A tile holds `ROWS × COLUMNS` sums in registers and walks the inner dimension once
//! (Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication"); weights
//! are packed so that each step reads one line of them. The code is plain Rust that the
//! compiler vectorises under the features of the caller; only the calls into functions with
//! more features than the crate's baseline are `unsafe`.
//!
//! Contract: each sum starts at the bias and takes its products by fused multiply-add in
//! ascending order of the inner dimension, in every instruction set and tile size.

use super::layer::Layer;

/// An instruction set that the inner loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Isa {
    /// 512-bit vectors, 32 registers.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 256-bit vectors with fused multiply-add, 16 registers.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// What the crate is compiled for.
    Portable,
}

impl Isa {
    /// The best that this processor has.
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Portable
    }

    /// All that this processor has.
    #[cfg(test)]
    pub(super) fn available() -> Vec<Self> {
        let mut sets = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                sets.push(Self::Avx2);
            }
            if is_x86_feature_detected!("avx512f") {
                sets.push(Self::Avx512);
            }
        }
        sets
    }

    /// Outputs per panel of packed weights.
    pub(super) fn columns(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 32,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 16,
            Self::Portable => 8,
        }
    }
}

/// Computes `rows` rows of a layer that was packed for `isa`.
#[expect(
    unsafe_code,
    reason = "calling a function with target features; Isa::detect has checked for them"
)]
pub(super) fn multiply(isa: Isa, layer: &Layer, input: &[f32], rows: usize, output: &mut [f32]) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => {
            debug_assert!(is_x86_feature_detected!("avx512f"));
            // SAFETY: this value is made by `Isa::detect` and `Isa::available` alone, on
            // processors with avx512f.
            unsafe { multiply_avx512(layer, input, rows, output) }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => {
            debug_assert!(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"));
            // SAFETY: this value is made by `Isa::detect` and `Isa::available` alone, on
            // processors with avx2 and fma.
            unsafe { multiply_avx2(layer, input, rows, output) }
        }
        Isa::Portable => panels::<8, 4>(layer, input, rows, output),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn multiply_avx512(layer: &Layer, input: &[f32], rows: usize, output: &mut [f32]) {
    panels::<32, 12>(layer, input, rows, output);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn multiply_avx2(layer: &Layer, input: &[f32], rows: usize, output: &mut [f32]) {
    panels::<16, 6>(layer, input, rows, output);
}

/// All panels of a layer, each over all rows: a panel stays in the nearest cache meanwhile.
#[inline(always)]
fn panels<const COLUMNS: usize, const ROWS: usize>(
    layer: &Layer,
    input: &[f32],
    rows: usize,
    output: &mut [f32],
) {
    let depth = layer.inputs();
    let (bias, _) = layer.bias.as_chunks::<COLUMNS>();
    let (lines, _) = layer.panels.as_chunks::<COLUMNS>();
    for (index, (panel, bias)) in lines.chunks_exact(depth).zip(bias).enumerate() {
        let first = index * COLUMNS;
        let mut row = 0;
        while rows - row >= ROWS {
            tile::<COLUMNS, ROWS>(layer, panel, bias, input, row, first, output);
            row += ROWS;
        }
        while rows - row >= 4 {
            tile::<COLUMNS, 4>(layer, panel, bias, input, row, first, output);
            row += 4;
        }
        while row < rows {
            tile::<COLUMNS, 1>(layer, panel, bias, input, row, first, output);
            row += 1;
        }
    }
}

/// `ROWS` rows from `row` on, `COLUMNS` outputs from `first` on.
#[inline(always)]
fn tile<const COLUMNS: usize, const ROWS: usize>(
    layer: &Layer,
    panel: &[[f32; COLUMNS]],
    bias: &[f32; COLUMNS],
    input: &[f32],
    row: usize,
    first: usize,
    output: &mut [f32],
) {
    let mut sums = [*bias; ROWS];
    let starts: [usize; ROWS] = std::array::from_fn(|i| layer.input.offset(row + i));
    for (run, panel) in panel.chunks_exact(layer.length).enumerate() {
        let left: [&[f32]; ROWS] = std::array::from_fn(|i| {
            let start = starts[i] + run * layer.stride;
            &input[start..start + panel.len()]
        });
        for (k, line) in panel.iter().enumerate() {
            for (sums, left) in sums.iter_mut().zip(&left) {
                let factor = left[k];
                for (sum, &weight) in sums.iter_mut().zip(line) {
                    *sum = factor.mul_add(weight, *sum);
                }
            }
        }
    }
    let width = COLUMNS.min(layer.outputs - first);
    for (i, sums) in sums.iter_mut().enumerate() {
        if layer.relu {
            for sum in sums.iter_mut() {
                *sum = sum.max(0.0);
            }
        }
        let start = layer.output.offset(row + i) + first;
        output[start..start + width].copy_from_slice(&sums[..width]);
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::Stream;

    use super::super::layer::{Grid, Layer};
    use super::*;

    fn random(stream: &mut Stream, len: usize) -> Vec<f32> {
        (0..len).map(|_| (2.0 * stream.unit() - 1.0) as f32).collect()
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let mut stream = Stream::new(1, "test");
        for (inputs, outputs, boards) in [(1, 1, 1), (3, 33, 2), (14, 32, 5), (16, 70, 3)] {
            let weight = random(&mut stream, outputs * inputs * 9);
            let bias = random(&mut stream, outputs);
            let (height, width) = (5, 4);
            let input = random(&mut stream, boards * (height + 2) * (width + 2) * inputs);
            let results = Isa::available().into_iter().map(|isa| {
                let output = Grid::plain(height, width, outputs);
                let layer =
                    Layer::convolution(isa, &weight, &bias, [height, width], inputs, output);
                let mut result = vec![f32::NAN; boards * height * width * outputs];
                layer.run(isa, &input, boards * height * width, &mut result);
                result
            });
            let results: Vec<Vec<f32>> = results.collect();
            assert!(results[0].iter().all(|value| value.is_finite() && *value >= 0.0));
            assert!(results.iter().all(|result| *result == results[0]), "{inputs} {outputs}");
        }
    }
}
