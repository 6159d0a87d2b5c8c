//! Adapts how often a search polls the clock.
//!
//! A poll costs about as much as a cheap simulation, while a rollout can take a thousand times as
//! long. The work between two polls therefore adapts to its duration. It starts at one unit,
//! doubles while polls are too frequent and halves while they are too rare.
//!
//! Simulations of known value cost about a tenth of a microsecond, whatever evaluates the leaves. The
//! two kinds of work therefore have intervals of their own, and each counts as a part of its interval.
//! Known simulations thus never delay the poll after a slow leaf.

use std::time::Duration;

use ouro_search::mcts::StepReport;

/// A shorter time between two polls is too frequent.
const SOON: Duration = Duration::from_micros(50);

/// A longer time between two polls is too rare.
const LATE: Duration = Duration::from_micros(200);

/// Most work between two polls. It bounds the growth if a clock stands still.
pub(super) const MOST: usize = 1 << 12;

/// The work of one kind between two polls.
#[derive(Clone, Copy, Debug)]
struct Interval {
    /// Units of work after which a poll is due, 1 to `most`.
    units: usize,
    most: usize,
    /// Units since the last poll.
    done: usize,
}

impl Interval {
    fn new(most: usize) -> Self {
        Self { units: 1, most, done: 0 }
    }

    /// Adapts to the time since the last poll, and starts anew.
    fn adapt(&mut self, took: Duration) {
        // Less than half of an interval says little about a whole one: the time may be that of the
        // other kind of work. When a poll is due, at least one kind has done half of its interval.
        if 2 * self.done >= self.units {
            if took < SOON {
                self.units = (self.units * 2).min(self.most);
            } else if took > LATE {
                self.units = (self.units / 2).max(1);
            }
        }
        self.done = 0;
    }
}

/// Decides when to poll the clock. See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockPoller {
    polled: Duration,
    leaves: Interval,
    known: Interval,
}

impl ClockPoller {
    /// A poller whose first poll is at `now`, with at most `most_leaves` leaves between two polls.
    pub(super) fn new(now: Duration, most_leaves: usize) -> Self {
        Self { polled: now, leaves: Interval::new(most_leaves), known: Interval::new(MOST) }
    }

    /// Counts the work of a step; returns whether a poll is due.
    pub(super) fn is_due(&mut self, step: StepReport) -> bool {
        let Self { leaves, known, .. } = self;
        leaves.done += step.leaves;
        known.done += step.known;
        // The parts of both intervals add up to a whole one.
        leaves.done * known.units + known.done * leaves.units >= leaves.units * known.units
    }

    /// Records a poll at `now` and adapts the intervals.
    pub(super) fn record_poll(&mut self, now: Duration) {
        let took = now.saturating_sub(self.polled);
        self.leaves.adapt(took);
        self.known.adapt(took);
        self.polled = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step of one leaf.
    const LEAF: StepReport = StepReport { leaves: 1, known: 0 };
    /// A step of one known simulation.
    const KNOWN: StepReport = StepReport { leaves: 0, known: 1 };

    /// The times of the first polls if a step takes `micros` microseconds.
    fn polls(step: StepReport, micros: u64, count: usize) -> Vec<u64> {
        let mut poller = ClockPoller::new(Duration::ZERO, MOST);
        let (mut now, mut polls) = (0, Vec::new());
        while polls.len() < count {
            now += micros;
            if poller.is_due(step) {
                poller.record_poll(Duration::from_micros(now));
                polls.push(now);
            }
        }
        polls
    }

    #[test]
    fn slow_work_is_polled_after_every_unit() {
        assert_eq!(polls(LEAF, 5_000, 4), [5_000, 10_000, 15_000, 20_000]);
    }

    #[test]
    fn fast_work_is_polled_every_50_to_200_microseconds() {
        for step in [LEAF, KNOWN] {
            assert_eq!(polls(step, 1, 4), [1, 3, 7, 15]);
        }
        for (step, micros) in [(LEAF, 1), (KNOWN, 1), (StepReport { leaves: 1, known: 3 }, 4)] {
            let times = polls(step, micros, 200);
            let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(gaps[10..].iter().all(|gap| (50..=200).contains(gap)), "{step:?} {gaps:?}");
        }
    }

    #[test]
    fn a_clock_that_stands_still_is_still_polled() {
        let mut poller = ClockPoller::new(Duration::ZERO, MOST);
        for _ in 0..100 {
            let interval = (1..).find(|_| poller.is_due(LEAF)).expect("it is due at some time");
            assert!(interval <= MOST);
            poller.record_poll(Duration::ZERO);
        }
    }

    #[test]
    fn polls_become_more_frequent_again_when_work_slows_down() {
        let mut poller = ClockPoller::new(Duration::ZERO, MOST);
        let mut now = Duration::ZERO;
        for _ in 0..20 {
            while !poller.is_due(LEAF) {}
            poller.record_poll(now);
        }
        for _ in 0..20 {
            while !poller.is_due(LEAF) {}
            now += Duration::from_millis(1);
            poller.record_poll(now);
        }
        assert!(poller.is_due(LEAF));
    }

    #[test]
    fn known_simulations_do_not_delay_the_poll_after_a_slow_leaf() {
        let mut poller = ClockPoller::new(Duration::ZERO, MOST);
        let mut now = Duration::ZERO;
        for _ in 0..10_000 {
            now += Duration::from_nanos(100);
            if poller.is_due(KNOWN) {
                poller.record_poll(now);
            }
        }
        assert!(poller.known.units >= 512, "{poller:?}");
        poller.record_poll(now);
        // With and without known simulations in the same step.
        for known in [0, 100] {
            for _ in 0..20 {
                now += Duration::from_millis(5);
                assert!(poller.is_due(StepReport { leaves: 1, known }), "{poller:?}");
                poller.record_poll(now);
            }
        }
    }

    #[test]
    fn fast_leaves_do_not_delay_the_poll_after_a_slow_one_beyond_the_given_number() {
        // A network whose positions were all in its cache for a while.
        let mut poller = ClockPoller::new(Duration::ZERO, 1);
        for _ in 0..100 {
            assert!(poller.is_due(LEAF), "{poller:?}");
            poller.record_poll(Duration::ZERO);
        }
    }
}
