//! Whole games, or pieces of them, as rows in the order of play.

use ouro_net::NetSpec;

use crate::algorithm::{Batch, BatchError, check_lengths};
use crate::rules::RowShape;

/// A table of moves. A *segment* is the consecutive moves of one seat in one game: its rows
/// follow each other, and [`ends`](Self::ends) marks the last.
///
/// A segment that stops while the game goes on for its seat, be it that the game was cut short or
/// that the batch was full, ends in a row that is not a move: the state after the last move, with
/// weight 0, whose value stands for what follows. Every row passes through batch norm, so a batch
/// is filled up with pieces of games, not with empty rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Segments {
    shape: RowShape,
    /// Observations, `[rows, C · H · W]`.
    pub planes: Vec<f32>,
    /// Legal actions, `[rows, actions]`; may be none in a row of weight 0.
    pub legal: Vec<bool>,
    /// Actions taken, `[rows]`; any in a row of weight 0.
    pub actions: Vec<u32>,
    /// Probability that the actor chose each with, random moves included, `[rows]`, in (0, 1].
    pub behaviour: Vec<f32>,
    /// Rewards from each move to the next row, `[rows]`.
    pub rewards: Vec<f32>,
    /// γ^Δt to the next row, `[rows]`; 0 where nothing follows.
    pub discounts: Vec<f32>,
    /// Weights, `[rows]`: 1 for a move, 0 for the state after a segment's last.
    pub weights: Vec<f32>,
    /// Whether the row is the last of its segment, `[rows]`.
    pub ends: Vec<bool>,
}

impl Segments {
    /// A table without rows and with room for some.
    pub fn with_capacity(shape: RowShape, rows: usize) -> Self {
        Self {
            shape,
            planes: Vec::with_capacity(rows * shape.planes),
            legal: Vec::with_capacity(rows * shape.actions),
            actions: Vec::with_capacity(rows),
            behaviour: Vec::with_capacity(rows),
            rewards: Vec::with_capacity(rows),
            discounts: Vec::with_capacity(rows),
            weights: Vec::with_capacity(rows),
            ends: Vec::with_capacity(rows),
        }
    }

    /// Sizes of a row.
    pub fn shape(&self) -> RowShape {
        self.shape
    }

    /// Sum of the weights.
    pub(super) fn weight(&self) -> f64 {
        self.weights.iter().copied().map(f64::from).sum()
    }
}

impl Batch for Segments {
    fn rows(&self) -> usize {
        self.actions.len()
    }

    fn planes(&self) -> &[f32] {
        &self.planes
    }

    fn check(&self, spec: &NetSpec) -> Result<(), BatchError> {
        let (rows, actions) = (self.rows(), spec.actions);
        let columns = [
            ("planes", self.planes.len(), spec.planes.len()),
            ("legal", self.legal.len(), actions),
            ("behaviour", self.behaviour.len(), 1),
            ("rewards", self.rewards.len(), 1),
            ("discounts", self.discounts.len(), 1),
            ("weights", self.weights.len(), 1),
            ("ends", self.ends.len(), 1),
        ];
        check_lengths(rows, &columns)?;
        for (row, &action) in self.actions.iter().enumerate() {
            if action as usize >= actions {
                return Err(BatchError::Action { row, action, actions });
            }
            let (weight, discount) = (self.weights[row], self.discounts[row]);
            let is_last = self.ends[row] || row + 1 == rows;
            if is_last && weight != 0.0 && discount != 0.0 {
                let (weight, discount) = (weight.to_string(), discount.to_string());
                return Err(BatchError::OpenEnd { row, weight, discount });
            }
        }
        if self.weight() == 0.0 {
            return Err(BatchError::Empty);
        }
        Ok(())
    }
}
