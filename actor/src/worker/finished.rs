//! Results of a worker: finished games and statistics.

use ouro_replay::Trajectory;
use ouro_traces::Time;

/// One finished game.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedGame {
    /// Number of the game among its worker's.
    pub number: u64,
    /// The game. If its last state is not final, the limit of plies truncated it. Either every move
    /// has a search target or no move has one. A random move of the opening has the value of the
    /// first search after it.
    pub trajectory: Trajectory,
    /// When the game was played, for its trace.
    pub(crate) time: PlayTime,
}

/// When a game was played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlayTime {
    pub(crate) start: Time,
    pub(crate) end: Time,
}

/// Counts since a worker started; see [`Worker::stats`](super::Worker::stats).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerStats {
    /// Games finished.
    pub games: u64,
    /// Finished games that were dropped because nothing can be learned from them.
    pub dropped: u64,
    /// Moves decided, one for each mover of a ply.
    pub moves: u64,
    /// Simulations of all searches.
    pub simulations: u64,
    /// Positions evaluated by networks: leaves of searches, or states of moves without a search.
    pub evaluations: u64,
    /// Batches of evaluations.
    pub batches: u64,
    /// Capacity of those batches, in positions.
    pub room: u64,
}

impl WorkerStats {
    /// Mean share of a batch that was filled, 0 to 1.
    pub fn fill(&self) -> f64 {
        self.evaluations as f64 / self.room.max(1) as f64
    }
}
