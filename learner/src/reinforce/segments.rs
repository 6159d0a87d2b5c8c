//! Batches of moves in the order of play.

use ouro_net::NetSpec;

use crate::batch::{Batch, BatchError, RowShape, check_lengths};

/// A batch of moves. A *segment* is consecutive moves of one seat in one game: its rows follow each
/// other, and [`ends`](Self::ends) marks the last.
///
/// A segment is *truncated* if its seat plays on after the last move: the game was cut short, or
/// the batch was full. A truncated segment ends with one more row of weight 0: the state after the
/// last move. The value of that state bootstraps the return. Batches are filled with pieces of
/// games and not padded, because every row passes through batch norm.
#[derive(Clone, Debug, PartialEq)]
pub struct Segments {
    shape: RowShape,
    /// Observations, `[rows, C · H · W]`.
    pub planes: Vec<f32>,
    /// Legal actions, `[rows, actions]`; a row of weight 0 may have none.
    pub legal: Vec<bool>,
    /// Actions taken, `[rows]`; ignored in a row of weight 0.
    pub actions: Vec<u32>,
    /// Probability of each action when the actor chose it, random moves included, `[rows]`, in
    /// (0, 1].
    pub behaviour: Vec<f32>,
    /// Rewards from each move to the next row, `[rows]`.
    pub rewards: Vec<f32>,
    /// γ^Δt to the next row, `[rows]`; 0 where nothing follows.
    pub discounts: Vec<f32>,
    /// Weights, `[rows]`: 1 for a move, 0 for the state that ends a truncated segment.
    pub weights: Vec<f32>,
    /// Whether the row is the last of its segment, `[rows]`.
    pub ends: Vec<bool>,
}

impl Segments {
    /// An empty batch with room for `rows`.
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
            ("legal", self.legal.len(), spec.logits()),
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
