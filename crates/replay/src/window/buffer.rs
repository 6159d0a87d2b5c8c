//! A window or a queue, as the algorithm wants it.

use super::{Batch, Cursor, Fifo, Item, Staleness, Window, WindowError};

/// Where accepted games go and batches come from.
#[derive(Debug)]
pub enum Buffer<T> {
    /// Sampled again and again: `AlphaZero`.
    Window(Window<T>),
    /// Used once, in order: REINFORCE.
    Fifo(Fifo<T>),
}

impl<T: Item> Buffer<T> {
    /// Number of the game that must be inserted next.
    pub fn next(&self) -> u64 {
        match self {
            Self::Window(window) => window.next(),
            Self::Fifo(fifo) => fifo.next(),
        }
    }

    /// Inserts game `number`, which must be the [next](Self::next).
    pub fn insert(&mut self, number: u64, item: T) -> Result<(), WindowError> {
        match self {
            Self::Window(window) => window.insert(number, item),
            Self::Fifo(fifo) => fifo.insert(number, item),
        }
    }

    /// Whether another game is welcome. A window always makes room.
    pub fn has_room(&self) -> bool {
        match self {
            Self::Window(_) => true,
            Self::Fifo(fifo) => fifo.has_room(),
        }
    }

    /// A batch of `count` positions. `newest` is the newest generation.
    pub fn batch(&mut self, count: usize, newest: u32) -> Result<Batch<T>, WindowError> {
        match self {
            Self::Window(window) => window.sample(count, newest),
            Self::Fifo(fifo) => fifo.take(count, newest),
        }
    }

    /// What a checkpoint must keep.
    pub fn cursor(&self) -> Cursor {
        match self {
            Self::Window(window) => window.cursor(),
            Self::Fifo(fifo) => fifo.cursor(),
        }
    }

    /// Positions held and not used up.
    pub fn positions(&self) -> u64 {
        match self {
            Self::Window(window) => window.positions(),
            Self::Fifo(fifo) => fifo.waiting(),
        }
    }

    /// Games held.
    pub fn games(&self) -> usize {
        match self {
            Self::Window(window) => window.games(),
            Self::Fifo(fifo) => fifo.games(),
        }
    }

    /// Memory of the games held, bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Window(window) => window.bytes(),
            Self::Fifo(fifo) => fifo.bytes(),
        }
    }

    /// How old the last batch was.
    pub fn staleness(&self) -> Staleness {
        match self {
            Self::Window(window) => window.staleness(),
            Self::Fifo(fifo) => fifo.staleness(),
        }
    }
}
