//! The vector operations of the inner loops, per instruction set.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::{
    float32x4_t, vaddq_f32, vbslq_f32, vcgtq_f32, vdupq_n_f32, vfmaq_f32, vld1q_f32, vst1q_f32,
    vsubq_f32,
};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, __m512, _CMP_GT_OQ, _mm256_add_ps, _mm256_and_ps, _mm256_cmp_ps, _mm256_fmadd_ps,
    _mm256_loadu_ps, _mm256_max_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps,
    _mm256_sub_ps, _mm512_add_ps, _mm512_cmp_ps_mask, _mm512_fmadd_ps, _mm512_loadu_ps,
    _mm512_maskz_mov_ps, _mm512_max_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps,
    _mm512_sub_ps,
};

/// A register of f32 lanes. Every operation rounds each lane once, so the same operations give
/// the same bits in every implementation.
///
/// # Safety
///
/// Every function must run on a processor with the instruction set of the implementation, inlined
/// into a function that enables it. Pointers must be valid for [`Vector::LANES`] values.
pub(super) trait Vector: Copy {
    /// f32 values in a register.
    const LANES: usize;

    /// One value in every lane.
    unsafe fn splat(value: f32) -> Self;

    /// Reads the lanes from memory.
    unsafe fn load(from: *const f32) -> Self;

    /// Writes the lanes to memory.
    unsafe fn store(self, to: *mut f32);

    /// `self + other`.
    unsafe fn add(self, other: Self) -> Self;

    /// `self - other`.
    unsafe fn sub(self, other: Self) -> Self;

    /// `self + left · right`, rounded once.
    unsafe fn add_product(self, left: Self, right: Self) -> Self;

    /// `self` in the lanes where it is larger, else `other`. The result is `other` if either is
    /// NaN, or if both are zeros of any sign.
    unsafe fn max(self, other: Self) -> Self;

    /// `self` in the lanes where `gate` is above 0, else 0.
    unsafe fn where_positive(self, gate: Self) -> Self;
}

/// Four lanes for any processor; compilers keep them in a register where there is one.
impl Vector for [f32; 4] {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        [value; 4]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller's pointer is good for four values, aligned as f32 are.
        unsafe { from.cast::<Self>().read() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as in `load`.
        unsafe { to.cast::<Self>().write(self) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] - other[lane])
    }

    #[inline(always)]
    unsafe fn add_product(self, left: Self, right: Self) -> Self {
        std::array::from_fn(|lane| left[lane].mul_add(right[lane], self[lane]))
    }

    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        std::array::from_fn(|lane| if self[lane] > other[lane] { self[lane] } else { other[lane] })
    }

    #[inline(always)]
    unsafe fn where_positive(self, gate: Self) -> Self {
        std::array::from_fn(|lane| if gate[lane] > 0.0 { self[lane] } else { 0.0 })
    }
}

/// Implements [`Vector`] by intrinsics of one instruction set.
macro_rules! intrinsics {
    ($vector:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident, $add:ident, $sub:ident,
     $max:ident, |$sum:ident, $left:ident, $right:ident| $fma:expr,
     |$value:ident, $gate:ident| $gated:expr) => {
        impl Vector for $vector {
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(value: f32) -> Self {
                // SAFETY: the caller has the instruction set, here and below.
                unsafe { $splat(value) }
            }

            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                // SAFETY: the caller's pointer is good for all lanes.
                unsafe { $load(from) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut f32) {
                // SAFETY: the caller's pointer is good for all lanes.
                unsafe { $store(to, self) }
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                unsafe { $add(self, other) }
            }

            #[inline(always)]
            unsafe fn sub(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                unsafe { $sub(self, other) }
            }

            #[inline(always)]
            unsafe fn add_product(self, $left: Self, $right: Self) -> Self {
                let $sum = self;
                // SAFETY: as in `splat`.
                unsafe { $fma }
            }

            #[inline(always)]
            unsafe fn max(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                unsafe { $max(self, other) }
            }

            #[inline(always)]
            unsafe fn where_positive(self, $gate: Self) -> Self {
                let $value = self;
                // SAFETY: as in `splat`.
                unsafe { $gated }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
intrinsics!(
    __m256,
    8,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_max_ps,
    |sum, left, right| _mm256_fmadd_ps(left, right, sum),
    |x, gate| _mm256_and_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(gate, _mm256_setzero_ps()), x)
);

#[cfg(target_arch = "x86_64")]
intrinsics!(
    __m512,
    16,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_max_ps,
    |sum, left, right| _mm512_fmadd_ps(left, right, sum),
    |x, gate| _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(gate, _mm512_setzero_ps()), x)
);

#[cfg(target_arch = "aarch64")]
intrinsics!(
    float32x4_t,
    4,
    vdupq_n_f32,
    vld1q_f32,
    vst1q_f32,
    vaddq_f32,
    vsubq_f32,
    select_larger,
    |sum, left, right| vfmaq_f32(sum, left, right),
    |value, gate| vbslq_f32(vcgtq_f32(gate, vdupq_n_f32(0.0)), value, vdupq_n_f32(0.0))
);

/// The maximum by selection, since NEON's own maximum differs on zeros and NaN.
///
/// # Safety
///
/// As for [`Vector`].
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn select_larger(left: float32x4_t, right: float32x4_t) -> float32x4_t {
    // SAFETY: the caller has the instruction set.
    unsafe { vbslq_f32(vcgtq_f32(left, right), left, right) }
}

#[cfg(test)]
mod tests {
    use super::Vector;
    use crate::engine::isa::{Isa, Task};

    /// Maxima of pairs, one vector of equal lanes after the other.
    struct Maxima<'a>(&'a [(f32, f32)], &'a mut Vec<u32>);

    impl Task for Maxima<'_> {
        #[inline(always)]
        unsafe fn run<V: Vector, const ROWS: usize>(self) {
            for &(left, right) in self.0 {
                let mut lanes = [7.0; 16];
                // SAFETY: the caller keeps the contract; no vector has more than 16 lanes.
                unsafe { V::splat(left).max(V::splat(right)).store(lanes.as_mut_ptr()) };
                assert!(lanes[..V::LANES].iter().all(|x| x.to_bits() == lanes[0].to_bits()));
                self.1.push(lanes[0].to_bits());
            }
        }
    }

    /// A value gated by others, one vector of equal lanes after the other.
    struct Gated<'a>(&'a [f32], &'a mut Vec<f32>);

    impl Task for Gated<'_> {
        #[inline(always)]
        unsafe fn run<V: Vector, const ROWS: usize>(self) {
            for &gate in self.0 {
                let mut lanes = [7.0; 16];
                // SAFETY: as in `Maxima`.
                unsafe { V::splat(3.0).where_positive(V::splat(gate)).store(lanes.as_mut_ptr()) };
                assert!(lanes[..V::LANES].iter().all(|&x| x == lanes[0]));
                self.1.push(lanes[0]);
            }
        }
    }

    #[test]
    fn only_positive_values_open_a_gate() {
        for isa in Isa::available() {
            let mut got = Vec::new();
            isa.run(Gated(&[1.0, f32::MIN_POSITIVE, 0.0, -0.0, -1.0, f32::NAN], &mut got));
            assert_eq!(got, [3.0, 3.0, 0.0, 0.0, 0.0, 0.0], "{}", isa.name());
        }
    }

    #[test]
    fn every_instruction_set_takes_the_second_operand_for_zeros_and_nan() {
        let nan = f32::NAN;
        let cases = [
            ((1.0, 2.0), 2.0),
            ((2.0, 1.0), 2.0),
            ((-1.0, 0.0), 0.0),
            ((nan, 0.0), 0.0),
            ((0.0, nan), nan),
            ((-0.0, 0.0), 0.0),
            ((0.0, -0.0), -0.0),
            ((f32::NEG_INFINITY, f32::INFINITY), f32::INFINITY),
        ];
        let (pairs, expected): (Vec<_>, Vec<f32>) = cases.into_iter().unzip();
        let expected: Vec<u32> = expected.into_iter().map(f32::to_bits).collect();
        for isa in Isa::available() {
            let mut got = Vec::new();
            isa.run(Maxima(&pairs, &mut got));
            assert_eq!(got, expected, "{}", isa.name());
        }
    }
}
