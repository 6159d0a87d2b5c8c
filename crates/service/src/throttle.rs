//! Log lines at a bounded rate.

use std::time::Duration;

use tokio::time::Instant;

/// Admits one event per interval and counts the events in between.
#[derive(Debug)]
pub struct Throttle {
    interval: Duration,
    last: Option<Instant>,
    held: u64,
}

impl Throttle {
    /// A throttle that admits the first event, then one per `interval`.
    pub fn new(interval: Duration) -> Self {
        Self { interval, last: None, held: 0 }
    }

    /// Counts an event. Returns `Some` if a log line is due, with the number of events since the
    /// last line, including this event.
    pub fn admit(&mut self) -> Option<u64> {
        self.held += 1;
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) < self.interval) {
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn events_between_two_lines_are_counted_in_the_second() {
        let mut throttle = Throttle::new(Duration::from_secs(10));
        let admitted: Vec<_> = (0..3).map(|_| throttle.admit()).collect();
        assert_eq!(admitted, [Some(1), None, None]);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(throttle.admit(), Some(3));
        assert_eq!(throttle.admit(), None);
    }
}
