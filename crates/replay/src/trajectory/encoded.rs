//! A game in the window: its canonical bytes and the positions for training.

use std::sync::Arc;

use ouro_game::GameConfig;
use ouro_net::Generation;

use super::{Trajectory, TrajectoryError};
use crate::window::Item;

/// A move of a trajectory that may be trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PositionRef {
    /// Ply, from 0; a game has at most 2^16.
    pub ply: u16,
    /// Index among the ply's moves.
    pub mover: u8,
    /// The mover's seat.
    pub seat: u8,
}

/// A trajectory as its [canonical bytes](Trajectory::encode), a few dozen per move.
///
/// The bytes are decoded when one of the positions is drawn. The caller finds the positions by
/// replaying the game, because the bytes do not state which seats moved in a ply.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedTrajectory {
    bytes: Box<[u8]>,
    positions: Box<[PositionRef]>,
    weights: Option<Box<[f32]>>,
    generation: Generation,
    is_void: bool,
}

impl EncodedTrajectory {
    /// Creates a game from its canonical `bytes`, with `positions` that may be drawn, each with
    /// weight 1. `generation` is that of the weights that played these positions.
    pub fn new(
        bytes: impl Into<Box<[u8]>>,
        generation: Generation,
        positions: impl Into<Box<[PositionRef]>>,
    ) -> Self {
        let (bytes, positions) = (bytes.into(), positions.into());
        Self { bytes, positions, weights: None, generation, is_void: false }
    }

    /// Sets the weights of the positions. A missing weight is 1.
    #[must_use]
    pub fn weighted(mut self, weights: &[f32]) -> Self {
        self.weights = Some(weights.into());
        self
    }

    /// Makes the game void, because its record was purged. Its bytes are dropped.
    #[must_use]
    pub fn voided(self) -> Self {
        Self { bytes: Box::default(), weights: None, is_void: true, ..self }
    }

    /// Decodes the complete game; `config` is the run's.
    pub fn decode(&self, config: &Arc<GameConfig>) -> Result<Trajectory, TrajectoryError> {
        Trajectory::decode(&self.bytes, config)
    }

    /// The canonical bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The positions that may be drawn, in order.
    pub fn position_refs(&self) -> &[PositionRef] {
        &self.positions
    }
}

impl Item for EncodedTrajectory {
    fn positions(&self) -> u32 {
        self.positions.len() as u32
    }

    fn bytes(&self) -> usize {
        let weights = self.weights.as_deref().map_or(0, size_of_val);
        size_of::<Self>()
            + self.bytes.len()
            + size_of_val::<[PositionRef]>(&self.positions)
            + weights
    }

    fn generation(&self) -> Generation {
        self.generation
    }

    fn is_void(&self) -> bool {
        self.is_void
    }

    fn weight(&self, position: u32) -> f32 {
        let weight = self.weights.as_deref().and_then(|weights| weights.get(position as usize));
        weight.copied().unwrap_or(1.0)
    }
}
