//! A histogram of durations that any thread adds to without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets, in seconds: about three per factor of ten, from a sync to a fast
/// disk up to a peer that is nearly given up.
const BOUNDS: [f64; 15] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
    10.0,
];

/// Durations by size.
#[derive(Debug, Default)]
pub struct Histogram {
    /// Counts of the buckets; the last is for durations above all bounds.
    counts: [AtomicU64; BOUNDS.len() + 1],
    sum_ns: AtomicU64,
}

impl Histogram {
    /// Adds a duration.
    pub fn observe(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BOUNDS.partition_point(|bound| *bound < seconds);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.sum_ns.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// The sum in seconds, and each bucket's upper bound and count. A duration that is added
    /// meanwhile may be in one of the two only.
    pub(super) fn read(&self) -> (f64, Vec<(f64, u64)>) {
        let sum = Duration::from_nanos(self.sum_ns.load(Ordering::Relaxed)).as_secs_f64();
        let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        (sum, bounds.zip(counts).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_in_the_first_bucket_that_holds_it() {
        let histogram = Histogram::default();
        for ms in [0, 1, 2, 30_000] {
            histogram.observe(Duration::from_millis(ms));
        }
        let (sum, buckets) = histogram.read();
        assert!((sum - 30.003).abs() < 1e-9, "{sum}");
        let filled: Vec<_> = buckets.into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0.000_1, 1), (0.001, 1), (0.002_5, 1), (f64::INFINITY, 1)]);
    }
}
