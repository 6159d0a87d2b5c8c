//! The timing of commits: a short delay lets many entries share one sync.
//!
//! A [`GroupCommit`] has no clock and no disk. The caller reports entries and commits with their
//! times. The next commit is due [`delay`](Policy::delay) after the first uncommitted entry, or
//! at once with [`entries`](Policy::entries) of them. A commit that failed (disk full) is
//! repeated after [`pause`](Policy::pause).

use std::time::Duration;

/// Limits on the delay of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Longest time from an entry to the start of its commit.
    pub delay: Duration,
    /// Number of entries that is committed at once.
    pub entries: u32,
    /// Pause before a failed commit is repeated.
    pub pause: Duration,
}

impl Default for Policy {
    /// A delay of 5 ms, 64 entries and a pause of 1 s.
    fn default() -> Self {
        let [delay, pause] = [5, 1_000].map(Duration::from_millis);
        Self { delay, entries: 64, pause }
    }
}

/// Time of the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// There are no uncommitted entries.
    Never,
    /// Commit at this time, or earlier if more entries arrive.
    At(Duration),
    /// Commit at once.
    Now,
}

/// The count and age of uncommitted entries. Times are durations since any fixed moment and never
/// decrease.
#[derive(Clone, Debug)]
pub struct GroupCommit {
    policy: Policy,
    waiting: u32,
    /// Time of the first uncommitted entry.
    since: Duration,
    /// Earliest time of the next commit, after a failed one.
    paused_until: Option<Duration>,
}

impl GroupCommit {
    /// A state without uncommitted entries.
    pub fn new(policy: Policy) -> Self {
        Self { policy, waiting: 0, since: Duration::ZERO, paused_until: None }
    }

    /// Reports an appended entry.
    pub fn appended(&mut self, now: Duration) {
        if self.waiting == 0 {
            self.since = now;
        }
        self.waiting = self.waiting.saturating_add(1);
    }

    /// Reports a successful commit of all entries.
    pub fn committed(&mut self) {
        self.waiting = 0;
        self.paused_until = None;
    }

    /// Reports a failed commit that may be repeated.
    pub fn failed(&mut self, now: Duration) {
        self.paused_until = Some(now + self.policy.pause);
    }

    /// Whether a commit has failed and none has succeeded since.
    pub fn is_paused(&self) -> bool {
        self.paused_until.is_some()
    }

    /// Returns the time of the next commit.
    pub fn due(&self, now: Duration) -> Due {
        if self.waiting == 0 {
            return Due::Never;
        }
        let at = match self.paused_until {
            Some(until) => until,
            None if self.waiting >= self.policy.entries => return Due::Now,
            None => self.since + self.policy.delay,
        };
        if at <= now { Due::Now } else { Due::At(at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn the_first_entry_sets_the_time_and_the_sixty_fourth_ends_it() {
        let mut group = GroupCommit::new(Policy::default());
        assert_eq!(group.due(ms(100)), Due::Never);
        group.appended(ms(100));
        group.appended(ms(103));
        assert_eq!(group.due(ms(104)), Due::At(ms(105)));
        assert_eq!(group.due(ms(105)), Due::Now);
        group.committed();
        assert_eq!(group.due(ms(105)), Due::Never);
        (0..63).for_each(|_| group.appended(ms(106)));
        assert_eq!(group.due(ms(106)), Due::At(ms(111)));
        group.appended(ms(106));
        assert_eq!(group.due(ms(106)), Due::Now);
    }

    #[test]
    fn a_failed_commit_waits_for_its_pause_however_much_comes() {
        let mut group = GroupCommit::new(Policy::default());
        (0..64).for_each(|_| group.appended(ms(0)));
        group.failed(ms(1));
        group.appended(ms(2));
        assert_eq!(group.due(ms(500)), Due::At(ms(1_001)));
        assert_eq!(group.due(ms(1_001)), Due::Now);
        assert!(group.is_paused());
        group.committed();
        assert!(!group.is_paused());
    }
}
