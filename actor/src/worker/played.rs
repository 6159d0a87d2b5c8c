//! What a worker hands out: finished games, and counts of what they took.

use ouro_game::{GameConfig, GameRecord};
use ouro_net::Generation;
use ouro_proto::Searched;

/// One finished game, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Which of its worker's games it is.
    pub number: u64,
    /// Configuration, seed, joint actions, fingerprints. A game that is not over at its last
    /// state was cut at the limit of plies.
    pub record: GameRecord<GameConfig>,
    /// Per ply, the probability with which each recorded action was chosen.
    pub behaviour: Vec<Vec<f32>>,
    /// In the same places as `behaviour`, what a search said; empty when none ran. A policy
    /// target holds shares above 0, ascending by action; there is none after a fast search, for
    /// a random move of the opening, and for a seat that does not learn. A random move has the
    /// value of the first search after it.
    pub searched: Vec<Vec<Searched>>,
    /// Result of each seat in the last state, 1 win to −1 loss.
    pub outcomes: Vec<f32>,
    /// Who sat where.
    pub seats: Vec<PlayedSeat>,
}

/// Who held a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlayedSeat {
    /// Generation of the weights; of the oldest, if they were swapped between moves.
    pub generation: Generation,
    /// Whether these were the newest weights when the game began.
    pub learns: bool,
}

/// Counts since a worker began; see [`Worker::stats`](super::Worker::stats).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerStats {
    /// Games finished.
    pub games: u64,
    /// Moves decided, one for each player of a ply.
    pub moves: u64,
    /// Descents of trees.
    pub simulations: u64,
    /// Positions that networks were asked about: leaves, or moves without a search.
    pub evaluations: u64,
    /// Batches they came in.
    pub batches: u64,
    /// Positions that those batches had room for.
    pub room: u64,
}

impl WorkerStats {
    /// Mean share of a batch that was filled, 0 to 1.
    pub fn fill(&self) -> f64 {
        self.evaluations as f64 / self.room.max(1) as f64
    }
}
