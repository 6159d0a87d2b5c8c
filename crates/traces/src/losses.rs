//! Counts spans that do not reach the collector, and decides when the log says so.
//!
//! A collector that is away is reported once, and once more with the number of lost spans when it
//! takes spans again. Spans that found a full queue are reported at most once per interval.

use std::time::Duration;

use ouro_service::Throttle;

/// The lost spans of a process.
#[derive(Debug)]
pub(crate) struct Losses {
    is_away: bool,
    /// Lost spans that no line of the log has counted yet.
    uncounted: u64,
    log: Throttle,
}

/// A line of the log that is due after a request. Each has the number of spans lost since the last
/// line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The collector was away and takes spans again.
    Back(u64),
    /// The collector takes spans, but more arrive than it takes.
    Full(u64),
}

impl Losses {
    /// No losses. A full queue is reported once per `interval`.
    pub(crate) fn new(interval: Duration) -> Self {
        Self { is_away: false, uncounted: 0, log: Throttle::new(interval) }
    }

    /// The collector took a batch. `dropped` spans found a full queue since the last request.
    pub(crate) fn sent(&mut self, dropped: u64) -> Option<Notice> {
        self.uncounted += dropped;
        if std::mem::take(&mut self.is_away) {
            return Some(Notice::Back(self.take()));
        }
        let is_due = self.uncounted > 0 && self.log.admit().is_some();
        is_due.then(|| Notice::Full(self.take()))
    }

    /// A request failed, and `lost` spans are gone. Returns whether it is the first in a row.
    pub(crate) fn failed(&mut self, lost: u64) -> bool {
        self.uncounted += lost;
        !std::mem::replace(&mut self.is_away, true)
    }

    /// The lost spans that no line of the log has counted yet. Counts from zero again.
    pub(crate) fn take(&mut self) -> u64 {
        std::mem::take(&mut self.uncounted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3_600);

    #[test]
    fn spans_that_found_a_full_queue_are_reported_while_the_collector_takes_others() {
        let mut losses = Losses::new(Duration::ZERO);
        assert_eq!(losses.sent(0), None);
        assert_eq!(losses.sent(7), Some(Notice::Full(7)));
        assert_eq!(losses.sent(0), None);
        assert_eq!(losses.sent(2), Some(Notice::Full(2)));
    }

    #[test]
    fn spans_lost_between_two_lines_are_counted_in_the_second() {
        let mut losses = Losses::new(LONG);
        assert_eq!(losses.sent(7), Some(Notice::Full(7)));
        assert_eq!([losses.sent(2), losses.sent(3)], [None, None]);
        assert_eq!((losses.take(), losses.take()), (5, 0));
    }

    #[test]
    fn a_collector_that_is_away_is_reported_once_and_once_it_is_back() {
        let mut losses = Losses::new(LONG);
        assert_eq!([losses.failed(5), losses.failed(4)], [true, false]);
        assert_eq!(losses.sent(1), Some(Notice::Back(10)));
        assert_eq!(losses.sent(0), None);
        assert!(losses.failed(1));
    }
}
