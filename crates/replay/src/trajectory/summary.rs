//! What a game shows without its moves.

use ouro_net::Generation;

use super::{Seat, Trajectory};

/// The players, the results and the length of a game.
#[derive(Clone, Debug, PartialEq)]
pub struct GameSummary {
    /// The players with their results, in seat order.
    pub seats: Box<[Seat]>,
    /// Plies.
    pub plies: u32,
}

impl GameSummary {
    /// Generation of the oldest weights that played a learning seat; the first if none did.
    pub fn generation(&self) -> Generation {
        generation(&self.seats)
    }
}

impl Trajectory {
    /// The game without its moves.
    pub fn summary(&self) -> GameSummary {
        // No cast truncates, because the limit of plies is lower.
        GameSummary { seats: self.seats.as_slice().into(), plies: self.plies.len() as u32 }
    }

    /// Generation of the oldest weights that played a learning seat; the first if none did.
    pub fn generation(&self) -> Generation {
        generation(&self.seats)
    }
}

fn generation(seats: &[Seat]) -> Generation {
    let learning = seats.iter().filter(|seat| seat.learns);
    learning.filter_map(|seat| seat.generation).min().unwrap_or_default()
}
