//! The few vector operations that the inner loops need, per instruction set.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, __m512, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_max_ps, _mm256_set1_ps,
    _mm256_setzero_ps, _mm256_storeu_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_max_ps,
    _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps,
};

/// A register of f32 lanes.
///
/// # Safety
///
/// Every function must run on a processor with the instruction set of the implementation,
/// inlined into a function that enables it.
pub(super) trait Vector: Copy {
    /// f32 values in a register.
    const LANES: usize;

    /// The first lanes of a slice. Panics if it is shorter.
    unsafe fn load(from: &[f32]) -> Self;

    /// `self + factor · weight` in every lane, rounded once.
    unsafe fn add_product(self, factor: f32, weight: Self) -> Self;

    /// Negative lanes become 0.
    unsafe fn relu(self) -> Self;

    /// Overwrites the first lanes of a slice. Panics if it is shorter.
    unsafe fn store(self, to: &mut [f32]);
}

/// Four lanes for any processor; compilers know how to put them in a register.
impl Vector for [f32; 4] {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn load(from: &[f32]) -> Self {
        std::array::from_fn(|lane| from[lane])
    }

    #[inline(always)]
    unsafe fn add_product(self, factor: f32, weight: Self) -> Self {
        std::array::from_fn(|lane| factor.mul_add(weight[lane], self[lane]))
    }

    #[inline(always)]
    unsafe fn relu(self) -> Self {
        self.map(|value| value.max(0.0))
    }

    #[inline(always)]
    unsafe fn store(self, to: &mut [f32]) {
        to[..4].copy_from_slice(&self);
    }
}

#[cfg(target_arch = "x86_64")]
impl Vector for __m256 {
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn load(from: &[f32]) -> Self {
        let from = &from[..8];
        // SAFETY: eight values lie behind the pointer; the caller has AVX.
        unsafe { _mm256_loadu_ps(from.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn add_product(self, factor: f32, weight: Self) -> Self {
        // SAFETY: the caller has AVX and FMA.
        unsafe { _mm256_fmadd_ps(_mm256_set1_ps(factor), weight, self) }
    }

    #[inline(always)]
    unsafe fn relu(self) -> Self {
        // SAFETY: the caller has AVX.
        unsafe { _mm256_max_ps(self, _mm256_setzero_ps()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: &mut [f32]) {
        let to = &mut to[..8];
        // SAFETY: eight values lie behind the pointer; the caller has AVX.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Vector for __m512 {
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn load(from: &[f32]) -> Self {
        let from = &from[..16];
        // SAFETY: sixteen values lie behind the pointer; the caller has AVX-512F.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn add_product(self, factor: f32, weight: Self) -> Self {
        // SAFETY: the caller has AVX-512F.
        unsafe { _mm512_fmadd_ps(_mm512_set1_ps(factor), weight, self) }
    }

    #[inline(always)]
    unsafe fn relu(self) -> Self {
        // SAFETY: the caller has AVX-512F.
        unsafe { _mm512_max_ps(self, _mm512_setzero_ps()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: &mut [f32]) {
        let to = &mut to[..16];
        // SAFETY: sixteen values lie behind the pointer; the caller has AVX-512F.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self) }
    }
}
