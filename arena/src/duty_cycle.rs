//! Limits matches to their share of a processor.
//!
//! [`DutyCycle`] inserts pauses after pieces of work. [`share`] decides how much a match at the gate
//! may take: more, within a bound, while candidates wait.

use std::time::Duration;

/// Candidates that wait for the gate at which the share of a match starts to grow. One candidate
/// waits in every run whose matches take longer than a generation.
const FEW: usize = 1;

/// Waiting candidates with which a match may take the whole of its largest share.
const MANY: usize = 4;

/// The share of one processor that a match at the gate may take while `waiting` candidates are newer
/// than the one that plays.
///
/// It is `usual` up to [`FEW`] waiting candidates, `most` from [`MANY`] on, and linear in between. A
/// `most` below `usual` changes nothing.
pub(crate) fn share(usual: f64, most: f64, waiting: usize) -> f64 {
    let lag = waiting.clamp(FEW, MANY) - FEW;
    usual + (most - usual).max(0.0) * lag as f64 / (MANY - FEW) as f64
}

/// Limits work to a share of the time by a pause after each piece of work.
///
/// The generic cell rate algorithm (ITU-T I.371): each piece of work moves the earliest start of the
/// next one by its length divided by the share. A start that is late, because the machine is busy,
/// is made up for up to a credit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DutyCycle {
    share: f64,
    credit: Duration,
    next: Option<Duration>,
}

impl DutyCycle {
    /// Longest pause after a piece of work. Without a limit, one slow match would stop all spare
    /// games.
    const LONGEST: Duration = Duration::from_secs(60);

    /// A cycle in which work takes `share` of the time, 0 to 1. The first piece starts at once.
    /// Delays are not made up for.
    pub(crate) fn new(share: f64) -> Self {
        Self { share, credit: Duration::ZERO, next: None }
    }

    /// The cycle with delays made up for, up to this time.
    pub(crate) fn with_credit(self, credit: Duration) -> Self {
        Self { credit, ..self }
    }

    /// Changes the share. What was recorded so far counts with the earlier share.
    pub(crate) fn set_share(&mut self, share: f64) {
        self.share = share;
    }

    /// Time until the next piece of work may start; `None` if the share is 0.
    pub(crate) fn wait(&self, now: Duration) -> Option<Duration> {
        let next = self.next.unwrap_or_default();
        (self.share > 0.0).then(|| next.saturating_sub(now))
    }

    /// Records a piece of work that started at `start` and took `work` of a processor.
    pub(crate) fn spent(&mut self, start: Duration, work: Duration) {
        // The lower bound avoids a division by zero.
        let period = work.as_secs_f64() / self.share.max(1e-9);
        let longest = work.saturating_add(Self::LONGEST);
        let period = Duration::try_from_secs_f64(period).unwrap_or(longest).min(longest);
        let due = self.next.map_or(start, |next| next.max(start.saturating_sub(self.credit)));
        self.next = Some(due.saturating_add(period));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn work_takes_its_share_of_the_time() {
        let mut duty_cycle = DutyCycle::new(0.25);
        assert_eq!(duty_cycle.wait(seconds(5)), Some(Duration::ZERO));
        duty_cycle.spent(seconds(5), seconds(2));
        assert_eq!(duty_cycle.wait(seconds(7)), Some(seconds(6)));
        assert_eq!(duty_cycle.wait(seconds(20)), Some(Duration::ZERO));
        assert_eq!(DutyCycle::new(0.0).wait(seconds(0)), None);
        let mut always = DutyCycle::new(1.0);
        always.spent(seconds(0), seconds(9));
        assert_eq!(always.wait(seconds(9)), Some(Duration::ZERO));
    }

    #[test]
    fn no_pause_is_longer_than_a_minute() {
        let mut rare = DutyCycle::new(1e-6);
        rare.spent(seconds(0), seconds(9));
        assert_eq!(rare.wait(seconds(9)), Some(seconds(60)));
    }

    /// The share of a processor that work gets. Each piece computes for 10 ms, waits for a core so
    /// that it takes `stretch` times as long, and starts `late` after its time.
    fn share_of_a_busy_machine(mut duty_cycle: DutyCycle, stretch: u32, late: Duration) -> f64 {
        let (piece, mut now, mut worked) = (Duration::from_millis(10), seconds(100), seconds(0));
        for _ in 0..10_000 {
            let start = now;
            now += piece * stretch;
            worked += piece;
            duty_cycle.spent(start, piece);
            let wait = duty_cycle.wait(now).expect("the share is not 0");
            now += if wait.is_zero() { wait } else { wait + late };
        }
        worked.as_secs_f64() / (now - seconds(100)).as_secs_f64()
    }

    #[test]
    fn work_that_waits_for_a_core_keeps_its_share() {
        let late = Duration::from_millis(20);
        for stretch in 1..=5 {
            let duty_cycle = DutyCycle::new(0.2).with_credit(seconds(1));
            let share = share_of_a_busy_machine(duty_cycle, stretch, late);
            assert!((share - 0.2).abs() < 0.002, "{share} with stretch {stretch}");
        }
        // Beyond that, it takes what it can get.
        let greedy = DutyCycle::new(0.5).with_credit(seconds(1));
        let share = share_of_a_busy_machine(greedy, 4, late);
        assert!((share - 0.25).abs() < 0.002, "{share}");
    }

    #[test]
    fn work_makes_up_for_delays_up_to_its_credit() {
        let mut duty_cycle = DutyCycle::new(0.5).with_credit(seconds(3));
        duty_cycle.spent(seconds(0), seconds(1));
        // After a long delay, pieces follow without a pause until the credit is used up.
        for (start, wait) in [(100, 0), (101, 0), (102, 0), (103, 1)] {
            duty_cycle.spent(seconds(start), seconds(1));
            assert_eq!(duty_cycle.wait(seconds(start + 1)), Some(seconds(wait)), "{start}");
        }
    }

    #[test]
    fn the_share_grows_with_the_waiting_candidates_within_its_bounds() {
        let shares: Vec<f64> = (0..7).map(|waiting| share(0.2, 0.5, waiting)).collect();
        let expected = [0.2, 0.2, 0.3, 0.4, 0.5, 0.5, 0.5];
        assert!(shares.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{shares:?}");
        assert_eq!(share(1.0, 0.5, 9), 1.0);
    }
}
