//! The index spaces of a worker, one type each.
//!
//! Players of a game are plain numbers, as in the rules: a player's number is its seat.

/// Index of a running game. A game keeps its slot from start to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GameSlot(pub(super) usize);

/// Index of a seat policy of the worker. Valid while a seat of a running game holds the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeatPolicyId(pub(super) usize);

/// Index of a tree of a seat policy. It can change when another tree of the policy is detached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeSlot(pub(super) usize);

/// Index of a scripted player of the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScriptedId {
    /// Index of the players with the same weights.
    pub(super) cast: usize,
    /// Index among them.
    pub(super) player: usize,
}

/// What chooses the moves of a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chooser {
    /// Weights.
    Policy(SeatPolicyId),
    /// A player without weights.
    Scripted(ScriptedId),
}
