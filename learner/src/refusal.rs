//! Why a game is not trained on.

use std::fmt::Display;

use ouro_game::record::ReplayError;
use ouro_net::Generation;
use ouro_proto::trajectory::MessageError;
use ouro_replay::{RefusalReason, TrajectoryError};

/// Why a game is not trained on. It must not be sent again.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The message does not fold into a game.
    #[error(transparent)]
    Malformed(#[from] MessageError),
    /// The game has no canonical form.
    #[error(transparent)]
    Form(#[from] TrajectoryError),
    /// Another game, or other rules.
    #[error("trajectory is for another game configuration than this run's")]
    Game,
    /// Longer than this learner accepts.
    #[error("game has {got} plies; this run accepts {max}")]
    Oversize {
        /// Plies in the game.
        got: usize,
        /// Most that are accepted.
        max: usize,
    },
    /// The game ended before anybody moved.
    #[error("game has no plies")]
    Empty,
    /// Not one seat or outcome per player.
    #[error("trajectory has {got} seats or outcomes; the game has {expected} players")]
    Seats {
        /// Entries in the message.
        got: usize,
        /// Players of the game.
        expected: usize,
    },
    /// The actor saw another result.
    #[error("seat {seat} claims outcome {got}; the rules say {expected}")]
    Outcome {
        /// The seat.
        seat: usize,
        /// What the message says.
        got: f32,
        /// What the rules say.
        expected: f32,
    },
    /// Nobody's moves may be trained on.
    #[error("no seat learns")]
    NobodyLearns,
    /// A seat learns but does not say which weights it played.
    #[error("seat {seat} learns but names no generation")]
    NoGeneration {
        /// The seat.
        seat: usize,
    },
    /// Weights that this learner has not published.
    #[error("seat {seat} played generation {}; the newest published is {}", .got.0, .newest.0)]
    Future {
        /// The seat.
        seat: usize,
        /// Generation in the message.
        got: Generation,
        /// Newest generation published.
        newest: Generation,
    },
    /// Weights that are too old to learn from.
    #[error("seat {seat} played generation {}; the oldest accepted is {}", .got.0, .oldest.0)]
    Stale {
        /// The seat.
        seat: usize,
        /// Generation in the message.
        got: Generation,
        /// Oldest generation accepted.
        oldest: Generation,
    },
    /// A probability that no choice can have had.
    #[error("ply {ply} has probability {got}; it must be above 0 and at most 1")]
    Probability {
        /// Ply, from 0.
        ply: usize,
        /// What the message says.
        got: f32,
    },
    /// A result that no search can have had.
    #[error("search at ply {ply} {what}")]
    Search {
        /// Ply, from 0.
        ply: usize,
        /// What is wrong with it.
        what: String,
    },
    /// The rules disagree with the record.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A real game, but no move in it is of use to this run's algorithm.
    #[error("no move of a learning seat can be trained on; AlphaZero needs policy targets")]
    NothingToLearn,
    /// The replay panicked: a fault of the rules, which this game would meet again.
    #[error("replaying the game failed; report its record as a bug")]
    Panicked,
}

impl Refusal {
    /// A result at `ply` that no search can have had.
    pub(crate) fn search(ply: usize, what: impl Display) -> Self {
        Self::Search { ply, what: what.to_string() }
    }

    /// The reason, for counting.
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
