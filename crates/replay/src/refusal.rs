//! Why a game is not trained on: [`Refusal`] in full, and [`RefusalReason`] for counting.

use std::fmt::{self, Display};

use ouro_game::record::ReplayError;
use ouro_net::Generation;

use crate::intake::LEAST_PROBABILITY;
use crate::trajectory::TrajectoryError;

/// Why a game is not trained on. The actor must not send the game again.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The message cannot be decoded into a trajectory, with the reason as a sentence.
    #[error("{0}")]
    Malformed(String),
    /// The game has no canonical form.
    #[error(transparent)]
    Form(#[from] TrajectoryError),
    /// The trajectory is of another game, or of other rules.
    #[error("trajectory is for another game configuration than this run's")]
    Game,
    /// The game has more plies than this learner accepts.
    #[error("game has {got} plies; this run accepts {max}")]
    Oversize {
        /// Plies in the game.
        got: usize,
        /// Maximum number of plies.
        max: usize,
    },
    /// The game has no plies.
    #[error("game has no plies")]
    Empty,
    /// The number of seats or outcomes differs from the number of players.
    #[error("trajectory has {got} seats or outcomes; the game has {expected} players")]
    Seats {
        /// Entries in the message.
        got: usize,
        /// Players of the game.
        expected: usize,
    },
    /// The stated outcome differs from the replayed outcome.
    #[error("seat {seat} claims outcome {got}; the rules say {expected}")]
    Outcome {
        /// The seat.
        seat: usize,
        /// Outcome in the message.
        got: f32,
        /// Outcome by the rules.
        expected: f32,
    },
    /// No seat learns, so no move may be trained on.
    #[error("no seat learns")]
    NobodyLearns,
    /// A seat learns but names no generation.
    #[error("seat {seat} learns but names no generation")]
    NoGeneration {
        /// The seat.
        seat: usize,
    },
    /// A seat played weights that this learner has not published.
    #[error("seat {seat} played generation {}; the newest published is {}", .got.0, .newest.0)]
    Future {
        /// The seat.
        seat: usize,
        /// Generation in the message.
        got: Generation,
        /// Newest generation published.
        newest: Generation,
    },
    /// A learning seat played weights that are too old.
    #[error("seat {seat} played generation {}; the oldest accepted is {}", .got.0, .oldest.0)]
    Stale {
        /// The seat.
        seat: usize,
        /// Generation in the message.
        got: Generation,
        /// Oldest generation accepted.
        oldest: Generation,
    },
    /// The behaviour probability of a move is out of range.
    #[error("ply {ply} has probability {got:?}; it must be {LEAST_PROBABILITY:e} to 1")]
    Probability {
        /// Ply, from 0.
        ply: usize,
        /// Probability in the message.
        got: f32,
    },
    /// The search target of a move is invalid.
    #[error("search at ply {ply} {what}")]
    Search {
        /// Ply, from 0.
        ply: usize,
        /// The defect, as a phrase.
        what: String,
    },
    /// The rules disagree with the record.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The game is valid, but this run's algorithm cannot use any of its moves.
    #[error("no move of a learning seat can be trained on; AlphaZero needs policy targets")]
    NothingToLearn,
    /// Replaying the game panicked. This is a bug in the rules, and the game would panic again.
    #[error("replaying the game failed; report its record as a bug")]
    Panicked,
}

impl Refusal {
    /// The refusal of a search target at `ply`.
    pub(crate) fn search(ply: usize, what: impl Display) -> Self {
        Self::Search { ply, what: what.to_string() }
    }

    /// The reason as a code, for counters.
    pub fn reason(&self) -> RefusalReason {
        match self {
            Self::Malformed(_) | Self::Form(_) | Self::Game | Self::Empty => {
                RefusalReason::Malformed
            }
            Self::Oversize { .. } => RefusalReason::Oversize,
            Self::Seats { .. } | Self::NobodyLearns | Self::NoGeneration { .. } => {
                RefusalReason::Seats
            }
            Self::Outcome { .. } => RefusalReason::Outcome,
            Self::Future { .. } => RefusalReason::UnknownGeneration,
            Self::Stale { .. } => RefusalReason::Stale,
            Self::Probability { .. } => RefusalReason::Behaviour,
            Self::Search { .. } => RefusalReason::Search,
            Self::Replay(_) => RefusalReason::Replay,
            Self::NothingToLearn => RefusalReason::NothingToLearn,
            Self::Panicked => RefusalReason::Internal,
        }
    }
}

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

    /// Whether no working actor of the run sends such a game. The others may be sent by an honest actor:
    /// after a restart of the learner, behind a slow network, or by a fault of the learner.
    pub fn is_senders_fault(self) -> bool {
        match self {
            Self::Malformed
            | Self::Seats
            | Self::Behaviour
            | Self::Search
            | Self::Replay
            | Self::Outcome => true,
            Self::Oversize
            | Self::UnknownGeneration
            | Self::Stale
            | Self::NothingToLearn
            | Self::Internal
            | Self::Unknown => false,
        }
    }

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

impl Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
