//! The reasons for which a learner refuses games, for counting.

use std::fmt;

/// Reason for the refusal of a game. The sender must not send the game again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalReason {
    /// Its fields do not form a game: lengths that disagree, too many plies.
    Malformed,
    /// It is longer than the run accepts.
    Oversize,
    /// The seats or outcomes do not match the players, or no seat learns.
    Seats,
    /// It names a generation that the learner has not published.
    UnknownGeneration,
    /// Its weights are too old to learn from.
    Stale,
    /// It states a probability that no choice can have had.
    Behaviour,
    /// It states a policy target, value or surprise that no search can have given.
    Search,
    /// The rules disagree with the moves or the digests.
    Replay,
    /// The rules disagree with the outcome.
    Outcome,
    /// It is a real game with nothing in it to train on.
    NothingToLearn,
    /// Replaying it failed because of a fault in the rules.
    Internal,
    /// A reason from a newer learner, unknown to this program.
    Unknown,
}

impl RefusalReason {
    /// Every reason that a learner of this version reports.
    pub const ALL: [Self; 11] = [
        Self::Malformed,
        Self::Oversize,
        Self::Seats,
        Self::UnknownGeneration,
        Self::Stale,
        Self::Behaviour,
        Self::Search,
        Self::Replay,
        Self::Outcome,
        Self::NothingToLearn,
        Self::Internal,
    ];

    /// The name in logs, metrics and dead letters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Oversize => "oversize",
            Self::Seats => "seats",
            Self::UnknownGeneration => "unknown_generation",
            Self::Stale => "stale",
            Self::Behaviour => "behaviour",
            Self::Search => "search",
            Self::Replay => "replay",
            Self::Outcome => "outcome",
            Self::NothingToLearn => "nothing_to_learn",
            Self::Internal => "internal",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
