//! Counts nodes and evaluations, and checks the deadline at intervals.

use crate::clock::Deadline;

/// Nodes between two checks of the clock. An evaluation counts as [`Heuristic::cost`] nodes.
///
/// [`Heuristic::cost`]: crate::Heuristic::cost
pub const NODES_PER_CLOCK_CHECK: u32 = 64;

/// The deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutOfTime;

/// Counters of one search.
#[derive(Debug)]
pub(super) struct NodeCounter<'a> {
    deadline: Option<Deadline<'a>>,
    nodes_until_check: u32,
    pub(super) nodes: u64,
    pub(super) evaluated: u64,
    /// Whether a position was cut off at the horizon since this was last cleared.
    pub(super) horizon: bool,
    /// Whether the value of a chance node was averaged.
    pub(super) averaged: bool,
}

impl<'a> NodeCounter<'a> {
    pub(super) fn new(deadline: Option<Deadline<'a>>) -> Self {
        Self {
            deadline,
            nodes_until_check: NODES_PER_CLOCK_CHECK,
            nodes: 0,
            evaluated: 0,
            horizon: false,
            averaged: false,
        }
    }

    /// Counts a node; an error if the deadline has passed.
    #[inline]
    pub(super) fn node(&mut self) -> Result<(), OutOfTime> {
        self.nodes += 1;
        self.nodes_until_check -= 1;
        if self.nodes_until_check == 0 {
            self.nodes_until_check = NODES_PER_CLOCK_CHECK;
            return self.check_deadline();
        }
        Ok(())
    }

    /// Counts the evaluation of a node that took as long as `cost` nodes.
    #[inline]
    pub(super) fn evaluation(&mut self, cost: u32) {
        self.evaluated += 1;
        // The node itself is counted already. Most heuristics have a constant cost of 1, for which the
        // compiler leaves out the rest.
        if cost > 1 {
            // The next node checks the clock if no node is left, so one always is.
            self.nodes_until_check = self.nodes_until_check.saturating_sub(cost - 1).max(1);
        }
    }

    /// An error if the deadline has passed.
    pub(super) fn check_deadline(&self) -> Result<(), OutOfTime> {
        match self.deadline {
            Some(deadline) if deadline.has_passed() => Err(OutOfTime),
            _ => Ok(()),
        }
    }
}
