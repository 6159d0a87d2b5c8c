//! The index spaces of a worker, one type each.
//!
//! Players of a game are plain numbers, as in the rules: a player's number is its seat.

/// A place for a game in play. A game keeps its slot from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GameSlot(pub(super) usize);

/// A seat policy of the worker. Valid as long as a seat of a running game holds the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeatPolicyId(pub(super) usize);

/// A tree of a seat policy. Changes when another tree of the policy is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeSlot(pub(super) usize);
