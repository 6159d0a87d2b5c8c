//! Delays between attempts to reach another process.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

/// The delay after the first failure, before jitter.
const FIRST_DELAY: Duration = Duration::from_millis(200);

/// The longest delay, before jitter. Actors then reconnect within seconds of a learner's restart
/// and lose almost no playing time. An attempt every few seconds costs the learner nothing.
const LONGEST_DELAY: Duration = Duration::from_secs(2);

/// Exponential backoff with jitter, for every reconnect.
///
/// Each delay is the base delay plus a random share of it, so every delay is below twice `longest`.
/// Without jitter, all actors would reconnect to a restarted learner at the same instants. The
/// jitter is seeded by the operating system and does not affect games.
#[derive(Debug)]
pub struct Backoff {
    builder: ExponentialBuilder,
    delays: <ExponentialBuilder as BackoffBuilder>::Backoff,
}

impl Backoff {
    /// Delays that double from `first` to `longest`, jitter not counted.
    pub fn new(first: Duration, longest: Duration) -> Self {
        let builder = ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(first)
            .with_max_delay(longest)
            .without_max_times();
        Self { builder, delays: builder.build() }
    }

    /// No delay at all, for tests with a server that fails on purpose.
    pub fn none() -> Self {
        Self::new(Duration::ZERO, Duration::ZERO)
    }

    /// The delay before the next attempt. Its base doubles at each call, up to the longest delay.
    pub fn next_delay(&mut self) -> Duration {
        // The iterator never ends, because the builder sets no limit of attempts.
        self.delays.next().unwrap_or(LONGEST_DELAY)
    }

    /// Sleeps for [`next_delay`](Self::next_delay).
    pub async fn sleep(&mut self) {
        tokio::time::sleep(self.next_delay()).await;
    }

    /// Returns to the first delay, after an attempt that succeeded.
    pub fn reset(&mut self) {
        self.delays = self.builder.build();
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new(FIRST_DELAY, LONGEST_DELAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_with_jitter_below_twice_the_base() {
        let mut backoff = Backoff::default();
        let mut base = FIRST_DELAY;
        for _ in 0..100 {
            let delay = backoff.next_delay();
            assert!(delay >= base && delay < base * 2, "{delay:?} for {base:?}");
            base = (base * 2).min(LONGEST_DELAY);
        }
        backoff.reset();
        assert!(backoff.next_delay() < FIRST_DELAY * 2);
    }

    #[test]
    fn two_processes_do_not_retry_in_step() {
        let delays = || (0..8).scan(Backoff::default(), |b, _| Some(b.next_delay()));
        assert_ne!(delays().collect::<Vec<_>>(), delays().collect::<Vec<_>>());
    }

    #[test]
    fn no_delay_stays_none() {
        let mut backoff = Backoff::none();
        assert!((0..5).all(|_| backoff.next_delay().is_zero()));
    }
}
