//! Rates over runs of a fixed duration, with their median and range.

use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

/// Median, minimum and maximum of several measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    /// The spread of `values`; `None` if there are none.
    pub(super) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self { median: f64::midpoint(low, high), min, max })
    }
}

/// Repeatable work: takes a seed and returns the amount of work done.
pub(super) type Work = dyn Fn(u64) -> u64 + Sync;

/// Work per second of all `threads` threads together, measured for `time`.
#[expect(clippy::cast_precision_loss, reason = "counts of seconds of work stay below 2^53")]
pub(super) fn rate(work: &Work, threads: usize, time: Duration) -> f64 {
    let one = |thread: usize| {
        let started = Instant::now();
        let (mut done, mut round) = (0, 0);
        while started.elapsed() < time {
            // The thread is in the upper half, so that no two threads use the same seed.
            done += work((thread as u64) << 32 | round);
            round += 1;
        }
        done as f64 / started.elapsed().as_secs_f64()
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || one(thread))).collect();
        let own = one(0);
        own + others.into_iter().filter_map(|handle| handle.join().ok()).sum::<f64>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_gives_the_middle_and_the_ends() {
        let spread = |values: &[f64]| Spread::of(values.to_vec());
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(spread(&[4.0, 1.0]), Some(Spread { median: 2.5, min: 1.0, max: 4.0 }));
    }
}
