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

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m512};

use super::layer::Layer;
use super::vector::Vector;

/// The widest panel of any instruction set.
const MAX_COLUMNS: usize = 32;

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
        // SAFETY: plain arrays need no feature.
        Isa::Portable => unsafe { panels::<[f32; 4], 4>(layer, input, rows, output) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn multiply_avx512(layer: &Layer, input: &[f32], rows: usize, output: &mut [f32]) {
    // SAFETY: this function enables the features of its vectors.
    unsafe { panels::<__m512, 12>(layer, input, rows, output) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn multiply_avx2(layer: &Layer, input: &[f32], rows: usize, output: &mut [f32]) {
    // SAFETY: this function enables the features of its vectors.
    unsafe { panels::<__m256, 6>(layer, input, rows, output) }
}

/// All panels of a layer, each over all rows: a panel stays in the nearest cache meanwhile.
///
/// # Safety
///
/// As for [`Vector`].
#[inline(always)]
unsafe fn panels<V: Vector, const ROWS: usize>(
    layer: &Layer,
    input: &[f32],
    rows: usize,
    output: &mut [f32],
) {
    let columns = 2 * V::LANES;
    let panels = layer.panels.chunks_exact(layer.inputs() * columns);
    for (index, (weights, bias)) in panels.zip(layer.bias.chunks_exact(columns)).enumerate() {
        let panel = Panel { layer, weights, bias, first: index * columns };
        let mut row = 0;
        // SAFETY: the caller keeps the contract of `Vector`.
        unsafe {
            while rows - row >= ROWS {
                panel.tile::<V, ROWS>(input, row, output);
                row += ROWS;
            }
            while rows - row >= 4 {
                panel.tile::<V, 4>(input, row, output);
                row += 4;
            }
            while row < rows {
                panel.tile::<V, 1>(input, row, output);
                row += 1;
            }
        }
    }
}

/// The weights of as many outputs as a tile is wide.
struct Panel<'a> {
    layer: &'a Layer,
    weights: &'a [f32],
    bias: &'a [f32],
    /// First of the outputs.
    first: usize,
}

impl Panel<'_> {
    /// Results of `ROWS` rows from `row` on.
    ///
    /// # Safety
    ///
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn tile<V: Vector, const ROWS: usize>(
        &self,
        input: &[f32],
        row: usize,
        output: &mut [f32],
    ) {
        let layer = self.layer;
        let columns = 2 * V::LANES;
        let starts: [usize; ROWS] = std::array::from_fn(|i| layer.input.offset(row + i));
        // SAFETY: the caller keeps the contract of `Vector`.
        let mut sums = [unsafe { [V::load(self.bias), V::load(&self.bias[V::LANES..])] }; ROWS];
        for (run, weights) in self.weights.chunks_exact(layer.length * columns).enumerate() {
            let left: [&[f32]; ROWS] = std::array::from_fn(|i| {
                let start = starts[i] + run * layer.stride;
                &input[start..start + layer.length]
            });
            for (k, line) in weights.chunks_exact(columns).enumerate() {
                // SAFETY: the caller keeps the contract of `Vector`. There are as many lines
                // of weights in a run as values in each of the left slices, `layer.length`.
                unsafe {
                    let line = [V::load(line), V::load(&line[V::LANES..])];
                    for (sums, left) in sums.iter_mut().zip(&left) {
                        let factor = *left.get_unchecked(k);
                        sums[0] = sums[0].add_product(factor, line[0]);
                        sums[1] = sums[1].add_product(factor, line[1]);
                    }
                }
            }
        }
        for (i, sums) in sums.into_iter().enumerate() {
            let start = layer.output.offset(row + i) + self.first;
            // SAFETY: the caller keeps the contract of `Vector`.
            unsafe { store(sums, layer.relu, &mut output[start..], layer.outputs - self.first) }
        }
    }
}

/// Writes at most `width` values of a row of sums.
///
/// # Safety
///
/// As for [`Vector`].
#[inline(always)]
unsafe fn store<V: Vector>(mut sums: [V; 2], relu: bool, output: &mut [f32], width: usize) {
    // SAFETY: the caller keeps the contract of `Vector`.
    unsafe {
        if relu {
            sums = [sums[0].relu(), sums[1].relu()];
        }
        if width >= 2 * V::LANES {
            let (low, high) = output[..2 * V::LANES].split_at_mut(V::LANES);
            sums[0].store(low);
            sums[1].store(high);
        } else {
            let mut whole = [0.0; MAX_COLUMNS];
            let (low, high) = whole.split_at_mut(V::LANES);
            sums[0].store(low);
            sums[1].store(high);
            output[..width].copy_from_slice(&whole[..width]);
        }
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
