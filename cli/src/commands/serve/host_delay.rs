//! The part of a reply's time that passes outside the search, from the latencies that a host reports.
//!
//! A request of the API contains the latency of the previous reply as the host measured it. The latency
//! less the time of the search is the delay: that of the network, of the host, and of a server whose cores
//! are busy. Hosts that measure no latency report 0.

use std::collections::VecDeque;
use std::time::Duration;

/// Number of delays that are kept.
const KEPT: usize = 16;
/// Time added to a delay, because the next one can be longer.
const RESERVE: Duration = Duration::from_millis(20);

/// The delays of one game.
#[derive(Debug, Default)]
pub(super) struct HostDelay {
    /// Turn of the last reply and the time of its search, until its latency is reported.
    reply: Option<(i64, Duration)>,
    /// The newest delays, the last one at the end. Those of late replies have a reserve.
    delays: VecDeque<Duration>,
    /// Whether the last reply with a latency was late. Hosts report the time that they allow then, which is
    /// only a lower bound.
    is_late: bool,
    longest: Option<Duration>,
}

impl HostDelay {
    /// Adds the reply to the request of `turn`, whose search took `searched`.
    pub(super) fn add_reply(&mut self, turn: i64, searched: Duration) {
        self.reply = Some((turn, searched));
    }

    /// Adds the latency of the previous reply, from the request of `turn`. `allowed` is the time after which
    /// a reply is late.
    pub(super) fn add_latency(&mut self, turn: i64, latency: Duration, allowed: Duration) {
        let Some((replied, searched)) = self.reply.take() else { return };
        if latency.is_zero() || turn.checked_sub(1) != Some(replied) {
            return;
        }
        let delay = latency.saturating_sub(searched);
        self.longest = self.longest.max(Some(delay));
        self.is_late = latency >= allowed;
        self.delays.push_back(if self.is_late { delay + RESERVE } else { delay });
        if self.delays.len() > KEPT {
            self.delays.pop_front();
        }
    }

    /// The longest of the last 16 delays, and 20 ms in reserve; `None` before one is known.
    pub(super) fn known(&self) -> Option<Duration> {
        self.delays.iter().max().map(|&longest| longest + RESERVE)
    }

    /// The delay to expect if it was `before` in the game before. After a late reply it has no bound: the
    /// shortest search follows, which is the surest to be in time and shows how long the delay is.
    pub(super) fn expected(&self, before: Duration) -> Duration {
        if self.is_late { Duration::MAX } else { self.known().unwrap_or(before) }
    }

    /// The longest delay, at least as far as it is known; `None` if the host has reported no latency.
    pub(super) fn longest(&self) -> Option<Duration> {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    const ALLOWED: Duration = ms(500);

    /// The delay after replies with a search of 300 ms and these latencies. It was 70 ms before.
    fn expected(latencies: impl IntoIterator<Item = u64>) -> Duration {
        let mut delay = HostDelay::default();
        for (turn, latency) in (0..).zip(latencies) {
            delay.add_reply(turn, ms(300));
            delay.add_latency(turn + 1, ms(latency), ALLOWED);
        }
        delay.expected(ms(70))
    }

    #[test]
    fn the_longest_of_the_last_delays_is_expected() {
        assert_eq!(expected([]), ms(70), "as in the game before");
        assert_eq!(expected([0, 0]), ms(70), "the host measures nothing");
        assert_eq!(expected([340, 360, 320]), ms(60 + 20));
        assert_eq!(expected([100, 200]), ms(20), "a latency below the search is no delay");
        let long_ago = [490].into_iter().chain([310; KEPT]);
        assert_eq!(expected(long_ago), ms(10 + 20));
    }

    #[test]
    fn after_a_late_reply_no_delay_is_too_long_until_a_reply_is_in_time() {
        assert_eq!(expected([340, 500]), Duration::MAX);
        assert_eq!(expected([340, 500, 0]), Duration::MAX);
        // It was at least 200 ms.
        assert_eq!(expected([340, 500, 360]), ms(200 + 20 + 20));
    }

    #[test]
    fn a_latency_belongs_to_the_reply_of_the_turn_before() {
        let mut delay = HostDelay::default();
        delay.add_latency(1, ms(400), ALLOWED);
        for (reply, request) in [(3, 5), (5, 5), (i64::MIN, i64::MIN), (i64::MAX, i64::MIN)] {
            delay.add_reply(reply, ms(0));
            delay.add_latency(request, ms(400), ALLOWED);
            assert_eq!(delay.longest(), None, "reply {reply}, request {request}");
        }
        delay.add_reply(6, ms(100));
        delay.add_latency(7, ms(400), ALLOWED);
        delay.add_latency(7, ms(450), ALLOWED);
        assert_eq!(delay.longest(), Some(ms(300)), "a repeated request counts once");
    }
}
