//! Who may sit at a table: the newest weights and the pool.
//!
//! A [`Roster`] is a snapshot of what the arena offers, with the networks loaded. Choosing
//! opponents is pure, given a generator.

use std::sync::Arc;

use ouro_game::Rng;
use ouro_net::{ContentHash, Engine, Generation};
use ouro_players::opponents::{Opponent, OpponentShares, draw_seats};

/// Weights that are ready to play.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Content hash of the weights.
    pub hash: ContentHash,
    /// Their generation.
    pub generation: Generation,
    /// The network.
    pub engine: Arc<Engine>,
}

/// A promoted checkpoint that is ready to play.
#[derive(Clone, Debug)]
pub struct Member {
    /// The weights.
    pub entry: Entry,
    /// Estimated share of points that the newest weights take against it, 0 to 1; `None` while
    /// it is unknown.
    pub newest_wins: Option<f64>,
}

/// The newest weights and the pool, at one moment.
#[derive(Clone, Debug)]
pub struct Roster {
    /// The arena's revision of the pool that this is, if all of it is here.
    pub revision: Option<u32>,
    /// The weights that learn.
    pub newest: Entry,
    /// Promoted checkpoints, oldest first.
    pub pool: Vec<Member>,
}

impl Roster {
    /// Draws who holds each of `seats` seats, as [`draw_seats`] does.
    pub fn draw(
        &self,
        seats: usize,
        shares: &OpponentShares,
        own: &mut Rng,
        shared: &mut Rng,
    ) -> Vec<&Entry> {
        let chances: Vec<_> = self.pool.iter().map(|member| member.newest_wins).collect();
        draw_seats(seats, &chances, shares, own, shared)
            .into_iter()
            .map(|opponent| match opponent {
                Opponent::Newest => &self.newest,
                Opponent::Member(member) => &self.pool[member].entry,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
