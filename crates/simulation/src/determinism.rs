//! The C functions through which a process learns of time, chance and its own number.
//!
//! The standard library, tokio and hyper call them. Here they depend on the simulation alone, so a
//! seed always gives the same events: the order in which `select!` polls, the keys of hash maps, and
//! all moments. They replace those of the C library in this program, in which nothing else runs.

#![expect(unsafe_code, reason = "functions of the C library are replaced by their names")]

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ouro_service::{Clock, SystemClock};

/// Nanoseconds since the start of the simulation.
static NOW: AtomicU64 = AtomicU64::new(0);
/// Random bytes that were given out, by eights.
static DRAWN: AtomicU64 = AtomicU64::new(0);
/// Seconds from the Unix epoch to the start of every simulation.
const START: i64 = 1_700_000_000;

/// Sets the time since the start of the simulation.
pub(crate) fn set_now(now: Duration) {
    NOW.store(now.as_nanos() as u64, Ordering::Relaxed);
}

/// The time since the start of the simulation.
pub(crate) fn now() -> Duration {
    Duration::from_nanos(NOW.load(Ordering::Relaxed))
}

/// The clock of the simulated hosts: the system's clock, which shows the time of the simulation. It
/// does not know the CPU time of threads, which would differ between two runs.
#[derive(Debug, Default)]
pub(crate) struct SimulatedClock(SystemClock);

impl Clock for SimulatedClock {
    fn unix(&self) -> Duration {
        self.0.unix()
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }
}

/// `struct timespec` of 64-bit Linux.
#[repr(C)]
pub(crate) struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

/// Replaces clock_gettime(2): every clock shows the time of the simulation.
#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn clock_gettime(_clock: c_int, time: *mut Timespec) -> c_int {
    let now = now();
    // SAFETY: callers of clock_gettime pass a pointer to a timespec that may be written.
    unsafe {
        (*time).seconds = START + now.as_secs() as i64;
        (*time).nanoseconds = now.subsec_nanos().into();
    }
    0
}

/// Replaces getrandom(2): the same bytes in every process.
#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn getrandom(buffer: *mut c_void, length: usize, _flags: c_uint) -> isize {
    // SAFETY: callers of getrandom pass a buffer of this length that may be written.
    let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length) };
    for chunk in bytes.chunks_mut(8) {
        let drawn = DRAWN.fetch_add(1, Ordering::Relaxed);
        // The finaliser of splitmix64.
        let mut word = drawn.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
    }
    length as isize
}

/// Replaces getpid(2), on which the identifier of a run depends.
#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn getpid() -> c_int {
    4_242
}
