//! When to commit: soon enough that nobody waits, late enough that many share one sync.
//!
//! A [`GroupCommit`] is pure. It is told of entries and of commits with the time at which they
//! happened, and says when the next commit is due: [`delay`](Policy::delay) after the first
//! entry that waits, or at once when [`entries`](Policy::entries) wait. A failed commit (no
//! space) is tried again after [`pause`](Policy::pause).

use std::time::Duration;

/// How long entries may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Longest wait of an entry before its commit begins.
    pub delay: Duration,
    /// Entries that are committed without waiting longer.
    pub entries: u32,
    /// Pause before a failed commit is tried again.
    pub pause: Duration,
}

impl Default for Policy {
    /// 5 ms, 64 entries, 1 s.
    fn default() -> Self {
        let [delay, pause] = [5, 1_000].map(Duration::from_millis);
        Self { delay, entries: 64, pause }
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing waits.
    Never,
    /// Commit at this time, unless more comes before.
    At(Duration),
    /// Commit.
    Now,
}

/// Entries that wait. Times are durations since any fixed moment and never go back.
#[derive(Clone, Debug)]
pub struct GroupCommit {
    policy: Policy,
    waiting: u32,
    /// When the first of those that wait came.
    since: Duration,
    /// No commit before this, after one that failed.
    paused_until: Option<Duration>,
}

impl GroupCommit {
    /// Nothing waits.
    pub fn new(policy: Policy) -> Self {
        Self { policy, waiting: 0, since: Duration::ZERO, paused_until: None }
    }

    /// An entry was appended.
    pub fn appended(&mut self, now: Duration) {
        if self.waiting == 0 {
            self.since = now;
        }
        self.waiting = self.waiting.saturating_add(1);
    }

    /// Everything that waited is on disk.
    pub fn committed(&mut self) {
        self.waiting = 0;
        self.paused_until = None;
    }

    /// A commit failed and may be tried again.
    pub fn failed(&mut self, now: Duration) {
        self.paused_until = Some(now + self.policy.pause);
    }

    /// Whether a commit failed and none has succeeded since.
    pub fn is_paused(&self) -> bool {
        self.paused_until.is_some()
    }

    /// When to commit.
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
