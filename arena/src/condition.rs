//! Conditions that an operator must resolve before the arena can continue.

/// Work that is blocked until an operator acts, for example by freeing space on a full disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// Matches and decisions cannot be stored.
    Matches,
    /// Candidates cannot be stored.
    Candidates,
}

impl Condition {
    /// Every condition, with its name in metrics.
    pub(crate) const ALL: [(Self, &'static str); 2] =
        [(Self::Matches, "matches"), (Self::Candidates, "candidates")];
}
