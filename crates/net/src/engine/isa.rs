//! Instruction sets of the inner loops, and their detection.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::float32x4_t;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m512};

use super::vector::Vector;

/// An instruction set of this processor. Only [`Isa::detect`] and [`Isa::available`] construct
/// values, which makes [`Isa::run`] sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Isa(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// 512-bit vectors, 32 registers.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 256-bit vectors with fused multiply-add, 16 registers.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 128-bit vectors with fused multiply-add, 32 registers.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// The target features of the build.
    Portable,
}

/// Rows of the highest register tile of any instruction set.
pub(super) const HIGHEST: usize = 12;

/// A computation that is compiled once per instruction set.
pub(super) trait Task {
    /// Runs the task with vectors `V` and register tiles of at most `ROWS` × 2 vectors.
    ///
    /// # Safety
    ///
    /// As for [`Vector`]; implementations and all their callees are inlined.
    unsafe fn run<V: Vector, const ROWS: usize>(self);
}

impl Isa {
    /// The best instruction set of this processor.
    pub(super) fn detect() -> Self {
        *Self::available().last().expect("any processor has the portable set")
    }

    /// All instruction sets of this processor, the best last.
    pub(super) fn available() -> Vec<Self> {
        let mut sets = vec![Self(Kind::Portable)];
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            sets.push(Self(Kind::Neon));
        }
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                sets.push(Self(Kind::Avx2));
            }
            if is_x86_feature_detected!("avx512f") {
                sets.push(Self(Kind::Avx512));
            }
        }
        sets
    }

    /// Display name.
    pub(super) fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => "neon",
            Kind::Portable => "portable",
        }
    }

    /// f32 values in a register.
    pub(super) fn lanes(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => <__m512 as Vector>::LANES,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => <__m256 as Vector>::LANES,
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => <float32x4_t as Vector>::LANES,
            Kind::Portable => <[f32; 4] as Vector>::LANES,
        }
    }

    /// Runs a task with this instruction set.
    pub(super) fn run(self, task: impl Task) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => {
                debug_assert!(is_x86_feature_detected!("avx512f"));
                // SAFETY: this value exists only on processors with avx512f.
                unsafe { avx512(task) }
            }
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => {
                debug_assert!(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"));
                // SAFETY: this value exists only on processors with avx2 and fma.
                unsafe { avx2(task) }
            }
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => {
                // SAFETY: this value exists only on processors with neon.
                unsafe { neon(task) }
            }
            // SAFETY: plain arrays need no feature.
            Kind::Portable => unsafe { task.run::<[f32; 4], 4>() },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(task: impl Task) {
    // SAFETY: this function enables the features of its vectors.
    unsafe { task.run::<__m512, 12>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(task: impl Task) {
    // SAFETY: this function enables the features of its vectors.
    unsafe { task.run::<__m256, 6>() }
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
fn neon(task: impl Task) {
    // SAFETY: this function enables the features of its vectors.
    unsafe { task.run::<float32x4_t, 12>() }
}
