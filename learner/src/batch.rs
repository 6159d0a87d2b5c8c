//! The rows of one optimiser step.
//!
//! A batch is plain columns in host memory, all with the same number of rows. The threads that
//! assemble batches therefore need no tensor library. A trainer calls [`Batch::check`] before it
//! sends a batch to the device. A wrong length is an error that names the column, never a panic.

use ouro_net::NetSpec;

/// Sizes of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowShape {
    /// Values in an observation, `C · H · W`.
    pub planes: usize,
    /// Size of the action space.
    pub actions: usize,
    /// Policies: that of the mover and, for a network with both, that of the other player.
    pub policies: usize,
}

impl RowShape {
    /// Sizes of a row for a network.
    pub fn of(spec: &NetSpec) -> Self {
        let (planes, actions) = (spec.planes.len(), spec.actions);
        Self { planes, actions, policies: spec.logits() / actions }
    }

    /// Number of logits: the actions of all policies.
    pub fn logits(&self) -> usize {
        self.actions * self.policies
    }
}

/// The rows of one optimiser step.
pub trait Batch: Send + 'static {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Observations, `[rows, C · H · W]`.
    fn planes(&self) -> &[f32];

    /// Checks the length of every column against the network and the number of rows, and the range
    /// of every index.
    fn check(&self, spec: &NetSpec) -> Result<(), BatchError>;
}

/// A batch that does not fit the network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// No row has a weight.
    #[error("batch has no row with a weight; a step needs one")]
    Empty,
    /// A column is too short or too long.
    #[error("batch: column {column} has {got} values; {rows} rows need {expected}")]
    Length {
        /// The column.
        column: &'static str,
        /// Rows of the batch.
        rows: usize,
        /// Values in the column.
        got: usize,
        /// Values needed.
        expected: usize,
    },
    /// A row takes an action for which the network has no logit.
    #[error("batch: row {row} takes action {action}; the network has {actions} actions")]
    Action {
        /// The row.
        row: usize,
        /// The action.
        action: u32,
        /// Actions of the network.
        actions: usize,
    },
    /// The last row of a segment bootstraps from a row that does not exist.
    #[error(
        "batch: row {row} ends its segment with weight {weight} and discount {discount}; end a truncated segment with the state after its last move, with weight 0"
    )]
    OpenEnd {
        /// The row.
        row: usize,
        /// Its weight, as text.
        weight: String,
        /// Its discount, as text.
        discount: String,
    },
}

/// Checks the lengths of columns, each given with its name and its values per row.
pub(crate) fn check_lengths(
    rows: usize,
    columns: &[(&'static str, usize, usize)],
) -> Result<(), BatchError> {
    if rows == 0 {
        return Err(BatchError::Empty);
    }
    for &(column, got, width) in columns {
        let expected = rows * width;
        if got != expected {
            return Err(BatchError::Length { column, rows, got, expected });
        }
    }
    Ok(())
}
