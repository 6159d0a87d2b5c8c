//! Counts nodes and looks at the clock now and then.

use std::time::Duration;

use crate::Clock;

/// Nodes between two looks at the clock.
pub const LOOK_EVERY: u32 = 64;

/// When a search must end.
#[derive(Clone, Copy, Debug)]
pub struct Deadline<'a> {
    /// Tells the time.
    pub clock: &'a dyn Clock,
    /// When time is up, on the clock's monotonic time. The search looks at the clock every
    /// [`LOOK_EVERY`] nodes and ends at the first look at this moment or after it, so its answer
    /// comes up to that many nodes later: who must answer by a moment sets this one earlier.
    pub at: Duration,
}

/// The deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutOfTime;

/// Counters of one search.
#[derive(Debug)]
pub(super) struct Meter<'a> {
    deadline: Option<Deadline<'a>>,
    until_look: u32,
    pub(super) nodes: u64,
    pub(super) evaluated: u64,
    /// Whether a position was cut off at the horizon since this was last cleared.
    pub(super) horizon: bool,
    /// Whether the value of a chance node was averaged.
    pub(super) averaged: bool,
}

impl<'a> Meter<'a> {
    pub(super) fn new(deadline: Option<Deadline<'a>>) -> Self {
        Self {
            deadline,
            until_look: LOOK_EVERY,
            nodes: 0,
            evaluated: 0,
            horizon: false,
            averaged: false,
        }
    }

    /// Counts a node; an error if there is no time for it.
    #[inline]
    pub(super) fn node(&mut self) -> Result<(), OutOfTime> {
        self.nodes += 1;
        self.until_look -= 1;
        if self.until_look == 0 {
            self.until_look = LOOK_EVERY;
            return self.look();
        }
        Ok(())
    }

    /// An error if the deadline has passed.
    pub(super) fn look(&self) -> Result<(), OutOfTime> {
        match self.deadline {
            Some(Deadline { clock, at }) if clock.monotonic() >= at => Err(OutOfTime),
            _ => Ok(()),
        }
    }
}
