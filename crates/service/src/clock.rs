//! Clocks as parameters, so that tests can replace the system time.
//!
//! Core code takes a [`Clock`]; only binaries create a [`SystemClock`].

use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of time.
pub trait Clock: Debug + Send + Sync {
    /// Time since the Unix epoch; zero on a machine whose clock is set before it.
    fn unix(&self) -> Duration;

    /// Time since a fixed moment; never decreases.
    fn monotonic(&self) -> Duration;

    /// CPU time that the calling thread has used since a fixed moment; never decreases.
    ///
    /// Unlike [`monotonic`](Self::monotonic), it stands still while the thread waits, also for a
    /// processor. A clock that does not know it returns the monotonic time, so a thread then counts
    /// as computing all the time.
    fn thread_cpu(&self) -> Duration {
        self.monotonic()
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock whose monotonic time starts now.
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn unix(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    #[cfg(unix)]
    fn thread_cpu(&self) -> Duration {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(used).unwrap_or_default()
    }
}

/// A clock that only [`advance`](Self::advance) moves. All threads count as computing all the time.
#[derive(Debug)]
pub struct ManualClock {
    start: Duration,
    elapsed: Mutex<Duration>,
}

impl ManualClock {
    /// A clock at `start` since the Unix epoch.
    pub fn new(start: Duration) -> Self {
        Self { start, elapsed: Mutex::new(Duration::ZERO) }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        *self.elapsed.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for ManualClock {
    fn unix(&self) -> Duration {
        self.start + self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        *self.elapsed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_by_advance() {
        let clock = ManualClock::new(Duration::from_secs(100));
        assert_eq!((clock.unix(), clock.monotonic()), (Duration::from_secs(100), Duration::ZERO));
        clock.advance(Duration::from_secs(5));
        assert_eq!(clock.unix(), Duration::from_secs(105));
        assert_eq!(clock.monotonic(), Duration::from_secs(5));
    }

    #[test]
    fn the_system_clock_never_decreases() {
        let clock = SystemClock::new();
        let first = clock.monotonic();
        assert!(clock.monotonic() >= first);
        assert!(clock.unix() > Duration::from_secs(1_700_000_000));
    }

    #[test]
    #[cfg(unix)]
    fn cpu_time_counts_the_work_of_the_calling_thread_alone() {
        let clock = SystemClock::new();
        let spin = move || {
            let start = clock.thread_cpu();
            while clock.thread_cpu() < start + Duration::from_millis(20) {}
        };
        let before = clock.thread_cpu();
        spin();
        let after_own_work = clock.thread_cpu();
        assert!(after_own_work >= before + Duration::from_millis(20));
        std::thread::spawn(spin).join().unwrap();
        // Waiting for the other thread costs next to nothing.
        assert!(clock.thread_cpu() < after_own_work + Duration::from_millis(20));
    }
}
