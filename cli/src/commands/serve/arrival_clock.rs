//! A clock by which a search starts when its request arrived.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ouro_players::Clock;

/// Reading at the origin, above 0 because a request may arrive before the clock of its player is made.
const AT_ORIGIN: Duration = Duration::from_secs(86_400);

/// The clock of one player.
///
/// A player with a time limit reads its clock once before it searches, and adds the limit. The first
/// reading after [`start_at`](Self::start_at) is the given time, so the time that the request waited is
/// part of the limit. That reading may be earlier than those of the previous search.
#[derive(Debug)]
pub(super) struct ArrivalClock {
    origin: Instant,
    arrival: Mutex<Option<Instant>>,
}

impl ArrivalClock {
    /// Sets the time of the next reading.
    pub(super) fn start_at(&self, arrival: Instant) {
        *self.arrival.lock().unwrap_or_else(PoisonError::into_inner) = Some(arrival);
    }
}

impl Default for ArrivalClock {
    fn default() -> Self {
        Self { origin: Instant::now(), arrival: Mutex::default() }
    }
}

impl Clock for ArrivalClock {
    fn monotonic(&self) -> Duration {
        let arrival = self.arrival.lock().unwrap_or_else(PoisonError::into_inner).take();
        let time = arrival.unwrap_or_else(Instant::now);
        (time + AT_ORIGIN).saturating_duration_since(self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reading_is_the_arrival_and_the_others_are_the_time() {
        let arrival = Instant::now();
        let clock = ArrivalClock::default();
        let before = clock.monotonic();
        clock.start_at(arrival);
        assert!(clock.monotonic() <= AT_ORIGIN, "it arrived before the clock was made");
        assert!(clock.monotonic() >= before && before >= AT_ORIGIN);
    }
}
