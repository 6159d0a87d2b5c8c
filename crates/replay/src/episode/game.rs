//! A game in the window: its bytes as in the journal, and which of its moves are trained on.

use ouro_net::Generation;

use super::{Episode, EpisodeError};
use crate::window::{Draw, Item};

/// A move of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Ply, from 0; a game has at most 2^16.
    pub ply: u16,
    /// Which of the ply's movers.
    pub mover: u8,
    /// The mover's seat.
    pub seat: u8,
}

/// A game kept as its [binary form](Episode::encode), a few dozen bytes for each move, and
/// unpacked when one of its positions is drawn. What may be drawn is found by whoever replays
/// the game: who moved when is not in the episode.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedGame {
    bytes: Box<[u8]>,
    places: Box<[Place]>,
    weights: Option<Box<[f32]>>,
    generation: Generation,
}

impl PackedGame {
    /// A game of which `places` may be drawn, each with weight 1. `bytes` is the binary form of
    /// an episode, `generation` that of the weights that played the places.
    pub fn new(bytes: &[u8], generation: Generation, places: &[Place]) -> Self {
        Self { bytes: bytes.into(), places: places.into(), weights: None, generation }
    }

    /// Gives every place a weight; missing ones count 1.
    #[must_use]
    pub fn weighted(mut self, weights: &[f32]) -> Self {
        self.weights = Some(weights.into());
        self
    }

    /// The whole game.
    pub fn episode(&self) -> Result<Episode, EpisodeError> {
        Episode::decode(&self.bytes)
    }

    /// The binary form.
    pub fn packed(&self) -> &[u8] {
        &self.bytes
    }

    /// What may be drawn, in order.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
}

impl Draw<PackedGame> {
    /// The move that was drawn.
    pub fn place(&self) -> Place {
        self.item.places[self.position as usize]
    }
}

impl Item for PackedGame {
    fn positions(&self) -> u32 {
        self.places.len() as u32
    }

    fn bytes(&self) -> usize {
        let weights = self.weights.as_deref().map_or(0, size_of_val);
        size_of::<Self>() + self.bytes.len() + size_of_val::<[Place]>(&self.places) + weights
    }

    fn generation(&self) -> Generation {
        self.generation
    }

    fn weight(&self, position: u32) -> f32 {
        let weight = self.weights.as_deref().and_then(|weights| weights.get(position as usize));
        weight.copied().unwrap_or(1.0)
    }
}
