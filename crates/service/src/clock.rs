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
}

/// A clock that only [`advance`](Self::advance) moves.
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
}
