//! Adapts how often a search polls the clock.
//!
//! A poll costs about as much as a cheap simulation, while a rollout can take a thousand times as
//! long. The work between two polls therefore adapts to its duration. It starts at one unit,
//! doubles while polls are too frequent and halves while they are too rare.

use std::time::Duration;

/// A shorter time between two polls is too frequent.
const SOON: Duration = Duration::from_micros(50);

/// A longer time between two polls is too rare.
const LATE: Duration = Duration::from_micros(200);

/// Most work between two polls. It bounds the growth if a clock stands still.
const MOST: usize = 1 << 12;

/// Decides when to poll the clock. See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockPoller {
    polled: Duration,
    /// Work between two polls, at least 1.
    interval: usize,
    done: usize,
}

impl ClockPoller {
    /// A poller whose first poll is at `now`.
    pub(super) fn new(now: Duration) -> Self {
        Self { polled: now, interval: 1, done: 0 }
    }

    /// Counts work; returns whether a poll is due.
    pub(super) fn is_due(&mut self, work: usize) -> bool {
        self.done += work;
        self.done >= self.interval
    }

    /// Records a poll at `now` and adapts the interval.
    pub(super) fn record_poll(&mut self, now: Duration) {
        let took = now.saturating_sub(self.polled);
        if took < SOON {
            self.interval = (self.interval * 2).min(MOST);
        } else if took > LATE {
            self.interval = (self.interval / 2).max(1);
        }
        (self.polled, self.done) = (now, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of the first polls if a unit of work takes `unit` microseconds.
    fn polls(unit: u64, count: usize) -> Vec<u64> {
        let mut poller = ClockPoller::new(Duration::ZERO);
        let (mut now, mut polls) = (0, Vec::new());
        while polls.len() < count {
            now += unit;
            if poller.is_due(1) {
                poller.record_poll(Duration::from_micros(now));
                polls.push(now);
            }
        }
        polls
    }

    #[test]
    fn slow_work_is_polled_after_every_unit() {
        assert_eq!(polls(5_000, 4), [5_000, 10_000, 15_000, 20_000]);
    }

    #[test]
    fn fast_work_is_polled_every_50_to_200_microseconds() {
        let times = polls(1, 200);
        assert_eq!(times[..4], [1, 3, 7, 15]);
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps[10..].iter().all(|gap| (50..=200).contains(gap)), "{gaps:?}");
    }

    #[test]
    fn a_clock_that_stands_still_is_still_polled() {
        let mut poller = ClockPoller::new(Duration::ZERO);
        for _ in 0..100 {
            let interval = (1..).find(|_| poller.is_due(1)).expect("it is due at some time");
            assert!(interval <= MOST);
            poller.record_poll(Duration::ZERO);
        }
    }

    #[test]
    fn polls_become_more_frequent_again_when_work_slows_down() {
        let mut poller = ClockPoller::new(Duration::ZERO);
        let mut now = Duration::ZERO;
        for _ in 0..20 {
            while !poller.is_due(1) {}
            poller.record_poll(now);
        }
        for _ in 0..20 {
            while !poller.is_due(1) {}
            now += Duration::from_millis(1);
            poller.record_poll(now);
        }
        assert!(poller.is_due(1));
    }
}
