//! Time as an argument: searches with a deadline read the time from a [`Clock`].

use std::fmt::Debug;
use std::time::Duration;

/// A clock that never goes back.
pub trait Clock: Debug + Send + Sync {
    /// Time since some fixed moment.
    fn monotonic(&self) -> Duration;
}

/// When a search must end.
#[derive(Clone, Copy, Debug)]
pub struct Deadline<'a> {
    /// The clock.
    pub clock: &'a dyn Clock,
    /// The deadline in the clock's monotonic time.
    ///
    /// A minimax search checks the clock every
    /// [`NODES_PER_CLOCK_CHECK`](crate::minimax::NODES_PER_CLOCK_CHECK) nodes, in which an evaluation
    /// counts as [`Heuristic::cost`](crate::Heuristic::cost) nodes. It can end that many nodes, or one
    /// evaluation, after the deadline, and eight evaluations later still if it has no result by then.
    /// Callers with a hard limit set an earlier deadline.
    pub at: Duration,
}

impl Deadline<'_> {
    /// Whether the deadline has passed.
    pub(crate) fn has_passed(&self) -> bool {
        self.clock.monotonic() >= self.at
    }
}
