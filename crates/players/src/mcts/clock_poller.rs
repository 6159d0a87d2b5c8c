//! How often a search polls at the clock.
//!
//! A look costs about as much as a cheap simulation, a rollout can take a thousand times as
//! long. So the work between two polls follows the time that it took: it begins with the least
//! there is, doubles while polls come too soon and halves while they come too late.

use std::time::Duration;

/// Looks that come sooner after one another than this are too many.
const SOON: Duration = Duration::from_micros(50);

/// Looks that come later than this are too few.
const LATE: Duration = Duration::from_micros(200);

/// Work between two polls at most, for clocks that stand still.
const MOST: usize = 1 << 12;

/// The work between two polls at the clock. See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockPoller {
    polled: Duration,
    /// Work until the next look, at least 1.
    interval: usize,
    done: usize,
}

impl ClockPoller {
    /// A first look, at `now`.
    pub(super) fn new(now: Duration) -> Self {
        Self { polled: now, interval: 1, done: 0 }
    }

    /// Counts work; whether it is time for a look.
    pub(super) fn is_due(&mut self, work: usize) -> bool {
        self.done += work;
        self.done >= self.interval
    }

    /// Takes the look.
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

    /// The times of the first polls where a unit of work takes so many microseconds.
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
    fn work_that_takes_long_is_looked_after_each_time() {
        assert_eq!(polls(5_000, 4), [5_000, 10_000, 15_000, 20_000]);
    }

    #[test]
    fn short_work_is_bundled_up_to_the_time_between_looks() {
        let times = polls(1, 200);
        assert_eq!(times[..4], [1, 3, 7, 15]);
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps[10..].iter().all(|gap| (50..=200).contains(gap)), "{gaps:?}");
    }

    #[test]
    fn a_clock_that_stands_still_is_not_left_alone_for_good() {
        let mut poller = ClockPoller::new(Duration::ZERO);
        for _ in 0..100 {
            let interval = (1..).find(|_| poller.is_due(1)).expect("it is due at some time");
            assert!(interval <= MOST);
            poller.record_poll(Duration::ZERO);
        }
    }

    #[test]
    fn work_that_gets_longer_is_looked_after_more_often_again() {
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
