//! What a network is trained towards: an [`Algorithm`] turns a batch and the network's outputs
//! into a loss.
//!
//! Batches are plain columns in host memory, all of one number of rows; whoever assembles them
//! needs no tensor library. A trainer checks a batch with [`Batch::check`] before it is sent to
//! the device, so a wrong length is an error that names the column, never a panic.
//!
//! | algorithm | batch | learns from |
//! |---|---|---|
//! | [`AlphaZero`](crate::alphazero) | [`Positions`](crate::alphazero::Positions) | search policies, outcomes and root values |
//! | [`Reinforce`](crate::reinforce) | [`Segments`](crate::reinforce::Segments) | actions, their probabilities and rewards |

use burn::tensor::Device;
use ouro_net::NetSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::alphazero::AlphaZeroConfig;
use crate::loss::DeviceLoss;
use crate::model::Outputs;
use crate::reinforce::ReinforceConfig;
use crate::trainer::TrainError;

/// Rows to take one optimiser step on.
pub trait Batch: Send + 'static {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Observations, `[rows, C · H · W]`.
    fn planes(&self) -> &[f32];

    /// Checks that every column has the length that the network and the number of rows ask for,
    /// and that what is an index is in range.
    fn check(&self, spec: &NetSpec) -> Result<(), BatchError>;
}

/// A loss for one kind of batch.
pub trait Algorithm: Send + 'static {
    /// What it learns from.
    type Batch: Batch;

    /// The loss of the network's `outputs` on `batch`, which passed [`Batch::check`]. `device`
    /// is where the batch's columns are sent, one without gradients.
    fn loss(
        &self,
        batch: &Self::Batch,
        outputs: &Outputs,
        device: &Device,
    ) -> Result<DeviceLoss, TrainError>;
}

/// Which algorithm a run uses, with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AlgorithmConfig {
    /// Learn what a search found.
    #[serde(rename = "alphazero")]
    AlphaZero(AlphaZeroConfig),
    /// Learn from rewards alone.
    Reinforce(ReinforceConfig),
}

/// Which algorithm, without its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlgorithmName {
    /// Learn what a search found.
    AlphaZero,
    /// Learn from rewards alone.
    #[default]
    Reinforce,
}

impl AlgorithmName {
    /// As in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlphaZero => "alphazero",
            Self::Reinforce => "reinforce",
        }
    }
}

impl AlgorithmConfig {
    /// Which algorithm it is.
    pub fn name(&self) -> AlgorithmName {
        match self {
            Self::AlphaZero(_) => AlgorithmName::AlphaZero,
            Self::Reinforce(_) => AlgorithmName::Reinforce,
        }
    }
}

impl Default for AlgorithmConfig {
    fn default() -> Self {
        Self::Reinforce(ReinforceConfig::default())
    }
}

/// A batch that does not fit the network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// There is nothing to learn from.
    #[error("batch has no rows, or none with a weight; a step needs one")]
    Empty,
    /// A column is too short or too long.
    #[error("batch: column {column} has {got} values; {rows} rows need {expected}")]
    Length {
        /// The column.
        column: &'static str,
        /// Rows of the batch.
        rows: usize,
        /// Values it has.
        got: usize,
        /// Values it needs.
        expected: usize,
    },
    /// An action that the network has no logit for.
    #[error("batch: row {row} takes action {action}; the network has {actions} actions")]
    Action {
        /// The row.
        row: usize,
        /// The action.
        action: u32,
        /// Actions of the network.
        actions: usize,
    },
    /// A row that passes value on to a row that does not exist.
    #[error(
        "batch: row {row} ends its segment with weight {weight} and discount {discount}; the last row of a segment that goes on must be its state alone, with weight 0"
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
