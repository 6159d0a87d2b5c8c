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

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct HostDelay {
    /// Turn of the last reply and the time of its search, until its latency is reported.
    reply: Option<(i64, Duration)>,
    /// The newest delays, the last one at the end.
    delays: VecDeque<Duration>,
    longest: Option<Duration>,
}

impl HostDelay {
    /// Adds the reply to the request of `turn`, whose search took `searched`.
    pub(super) fn add_reply(&mut self, turn: i64, searched: Duration) {
        self.reply = Some((turn, searched));
    }

    /// Adds the latency of the previous reply, from the request of `turn`. A host that allows the time
    /// `allowed` reports no more than that. The delay of a late reply is therefore not known, and counts
    /// twice.
    pub(super) fn add_latency(&mut self, turn: i64, latency: Duration, allowed: Duration) {
        let Some((replied, searched)) = self.reply.take() else { return };
        if latency.is_zero() || turn.checked_sub(1) != Some(replied) {
            return;
        }
        let known = latency.saturating_sub(searched);
        let delay = if latency < allowed { known } else { 2 * known };
        self.longest = self.longest.max(Some(delay));
        self.delays.push_back(delay);
        if self.delays.len() > KEPT {
            self.delays.pop_front();
        }
    }

    /// The delay to expect: the second longest of the last 16, and 20 ms in reserve. A single long one has
    /// no effect. 0 before two are known.
    pub(super) fn expected(&self) -> Duration {
        let mut delays = Vec::from_iter(self.delays.iter().copied());
        delays.sort_unstable();
        delays.iter().rev().nth(1).map_or(Duration::ZERO, |&delay| delay + RESERVE)
    }

    /// The longest delay; `None` if the host has reported no latency.
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

    /// The expected delay after replies with a search of 300 ms and these latencies.
    fn expected(latencies: impl IntoIterator<Item = u64>) -> Duration {
        let mut delay = HostDelay::default();
        for (turn, latency) in (0..).zip(latencies) {
            delay.add_reply(turn, ms(300));
            delay.add_latency(turn + 1, ms(latency), ALLOWED);
        }
        delay.expected()
    }

    #[test]
    fn the_second_longest_of_the_last_delays_is_expected() {
        assert_eq!(expected([]), ms(0));
        assert_eq!(expected([490]), ms(0), "a single one has no effect");
        assert_eq!(expected([340, 490, 360]), ms(60 + 20));
        assert_eq!(expected([340, 0, 0]), ms(0), "the host measures nothing");
        assert_eq!(expected([100, 200]), ms(20), "a latency below the search is no delay");
        assert_eq!(expected([500, 500]), ms(2 * 200 + 20), "late replies");
        let long_ago = [490, 490].into_iter().chain([310; KEPT]);
        assert_eq!(expected(long_ago), ms(10 + 20));
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
