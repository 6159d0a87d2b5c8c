//! The games that a window or a queue holds, and the batches that are drawn from it.

use std::sync::Arc;

use ouro_net::Generation;

/// A game that a window can hold.
pub trait Item {
    /// Positions that may be drawn.
    fn positions(&self) -> u32;

    /// Memory of the game, in bytes.
    fn bytes(&self) -> usize;

    /// Generation of the weights that played the game.
    fn generation(&self) -> Generation;

    /// Whether the game was purged: it keeps its number and its positions, and none of them is drawn.
    fn is_void(&self) -> bool {
        false
    }

    /// Mean number of copies of a position in the window; finite and not negative.
    fn weight(&self, _position: u32) -> f32 {
        1.0
    }
}

/// One sampled position.
#[derive(Clone, Debug)]
pub struct Draw<T> {
    /// The game.
    pub item: Arc<T>,
    /// The game's number in the journal.
    pub number: u64,
    /// Index of the position in the game.
    pub position: u32,
}

/// Positions that were sampled together.
#[derive(Debug)]
pub struct Batch<T> {
    /// The positions.
    pub draws: Vec<Draw<T>>,
    /// Mean age of the positions.
    pub staleness: Staleness,
}

/// Mean age of the positions of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Staleness {
    /// Generations between the weights that played and the newest weights.
    pub lag: f64,
    /// Positions inserted between the game and the draw of the batch.
    pub age: f64,
}

/// Reason why sampling or inserting is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// There are too few positions to sample from.
    #[error("{held} positions are in, {needed} are needed before sampling")]
    TooFew {
        /// Positions held.
        held: u64,
        /// Positions needed.
        needed: u64,
    },
    /// The samples would exceed the allowed number for the positions inserted so far.
    #[error("{count} more samples would be too many for what was inserted")]
    Ahead {
        /// Samples requested.
        count: usize,
    },
    /// The window must first be refilled from the journal.
    #[error("the window is being filled again: game {next} of those before {until} is due")]
    Refilling {
        /// The next game to insert.
        next: u64,
        /// One past the last game of the training state.
        until: u64,
    },
    /// A game was inserted out of order.
    #[error("game {got} was inserted where game {expected} was due")]
    Order {
        /// The next game to insert.
        expected: u64,
        /// The inserted game.
        got: u64,
    },
}
