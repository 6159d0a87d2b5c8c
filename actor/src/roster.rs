//! Who may sit at a table: the newest weights and the pool.
//!
//! A [`Roster`] is a snapshot of what the arena offers, with the networks loaded. Choosing
//! opponents is pure, given a stream.

use std::sync::Arc;

use ouro_game::Stream;
use ouro_net::Engine;
use ouro_proto::ContentHash;

/// Weights that are ready to play.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Content hash of the weights.
    pub hash: ContentHash,
    /// Their generation.
    pub generation: u32,
    /// The network.
    pub engine: Arc<Engine>,
}

/// The newest weights and the pool, at one moment.
#[derive(Clone, Debug)]
pub struct Roster {
    /// The weights that learn.
    pub newest: Entry,
    /// Promoted checkpoints, oldest first.
    pub pool: Vec<Entry>,
}

impl Roster {
    /// Draws who holds each of `seats` seats. In a share of games it is the newest everywhere;
    /// in the others the newest holds one seat, any with equal chance, and each other seat is
    /// drawn uniformly from the pool. While the pool is empty all games are self-play.
    pub fn draw(&self, seats: usize, self_play_share: f64, rng: &mut Stream) -> Vec<&Entry> {
        let mut drawn = vec![&self.newest; seats];
        if self.pool.is_empty() || rng.unit() < self_play_share {
            return drawn;
        }
        let learner = rng.below(seats as u32) as usize;
        for (seat, entry) in drawn.iter_mut().enumerate() {
            if seat != learner {
                *entry = &self.pool[rng.below(self.pool.len() as u32) as usize];
            }
        }
        drawn
    }
}

#[cfg(test)]
mod tests;
