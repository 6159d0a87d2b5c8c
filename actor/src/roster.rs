//! The weights that can play: the newest and the pool.
//!
//! A [`Roster`] is a snapshot of the arena's pool with all networks loaded. The choice of opponents
//! is a pure function of the roster and the generators.

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
    /// Estimated share of points of the newest weights against this member, 0 to 1, in games that
    /// rank the two; `None` while unknown.
    pub newest_wins: Option<f64>,
}

/// The newest weights and the pool, at one moment.
#[derive(Clone, Debug)]
pub struct Roster {
    /// Revision of the arena's pool; `None` if the weights of members could not be loaded. Of a pool with
    /// more members than are held in memory, the newest ones are here, and the revision is known.
    pub revision: Option<u32>,
    /// The newest weights, whose seats learn.
    pub newest: Entry,
    /// Promoted checkpoints, oldest first.
    pub pool: Vec<Member>,
}

impl Roster {
    /// Draws the weights of each of `seats` seats; see [`draw_seats`].
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
