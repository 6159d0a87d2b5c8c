//! How often a search looks at the clock.
//!
//! A look costs about as much as a cheap simulation, a rollout can take a thousand times as
//! long. So the work between two looks follows the time that it took: it begins with the least
//! there is, doubles while looks come too soon and halves while they come too late.

use std::time::Duration;

/// Looks that come sooner after one another than this are too many.
const SOON: Duration = Duration::from_micros(50);

/// Looks that come later than this are too few.
const LATE: Duration = Duration::from_micros(200);

/// Work between two looks at most, for clocks that stand still.
const MOST: usize = 1 << 12;

/// The work between two looks at the clock. See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    looked: Duration,
    /// Work until the next look, at least 1.
    stretch: usize,
    done: usize,
}

impl Pace {
    /// A first look, at `now`.
    pub(super) fn new(now: Duration) -> Self {
        Self { looked: now, stretch: 1, done: 0 }
    }

    /// Counts work; whether it is time for a look.
    pub(super) fn is_due(&mut self, work: usize) -> bool {
        self.done += work;
        self.done >= self.stretch
    }

    /// Takes the look.
    pub(super) fn look(&mut self, now: Duration) {
        let took = now.saturating_sub(self.looked);
        if took < SOON {
            self.stretch = (self.stretch * 2).min(MOST);
        } else if took > LATE {
            self.stretch = (self.stretch / 2).max(1);
        }
        (self.looked, self.done) = (now, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of the first looks where a unit of work takes so many microseconds.
    fn looks(unit: u64, count: usize) -> Vec<u64> {
        let mut pace = Pace::new(Duration::ZERO);
        let (mut now, mut looks) = (0, Vec::new());
        while looks.len() < count {
            now += unit;
            if pace.is_due(1) {
                pace.look(Duration::from_micros(now));
                looks.push(now);
            }
        }
        looks
    }

    #[test]
    fn work_that_takes_long_is_looked_after_each_time() {
        assert_eq!(looks(5_000, 4), [5_000, 10_000, 15_000, 20_000]);
    }

    #[test]
    fn short_work_is_bundled_up_to_the_time_between_looks() {
        let times = looks(1, 200);
        assert_eq!(times[..4], [1, 3, 7, 15]);
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps[10..].iter().all(|gap| (50..=200).contains(gap)), "{gaps:?}");
    }

    #[test]
    fn a_clock_that_stands_still_is_not_left_alone_for_good() {
        let mut pace = Pace::new(Duration::ZERO);
        for _ in 0..100 {
            let stretch = (1..).find(|_| pace.is_due(1)).expect("it is due at some time");
            assert!(stretch <= MOST);
            pace.look(Duration::ZERO);
        }
    }

    #[test]
    fn work_that_gets_longer_is_looked_after_more_often_again() {
        let mut pace = Pace::new(Duration::ZERO);
        let mut now = Duration::ZERO;
        for _ in 0..20 {
            while !pace.is_due(1) {}
            pace.look(now);
        }
        for _ in 0..20 {
            while !pace.is_due(1) {}
            now += Duration::from_millis(1);
            pace.look(now);
        }
        assert!(pace.is_due(1));
    }
}
