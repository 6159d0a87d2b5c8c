//! Why training cannot continue.

use ouro_net::WeightsError;

use crate::batch::BatchError;

/// Why training cannot continue. The process must restart from its last training state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrainError {
    /// The loss or the gradient is infinite or not a number.
    #[error(
        "training diverged: at step {step} {what} is {value}; the last training state is kept; \
         lower train.learning_rate and restart"
    )]
    NotFinite {
        /// Number of steps before this one.
        step: u64,
        /// `loss` or `gradient`.
        what: &'static str,
        /// The number, as text.
        value: String,
    },
    /// The trained network is infinite or not a number.
    #[error(
        "training diverged: {}; the last training state is kept; lower train.learning_rate and \
         restart",
        problem(.0)
    )]
    Diverged(WeightsError),
    /// The device did not return its numbers.
    #[error("reading from the training device: {0}")]
    Read(String),
    /// The parameters are not valid weights.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The batch does not fit the network.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The CPU engine and training compute different outputs.
    #[error(transparent)]
    ExportMismatch(#[from] ExportMismatch),
    /// The saved state belongs to another network or optimiser.
    #[error(
        "the {what} of the saved training state does not fit the configuration; restore net and train.optimizer.kind, or start a new run"
    )]
    OtherState {
        /// The part that does not fit.
        what: &'static str,
    },
}

impl TrainError {
    /// Whether the settings made training diverge.
    pub fn is_divergence(&self) -> bool {
        matches!(self, Self::NotFinite { .. } | Self::Diverged(_))
    }

    pub(crate) fn read(error: impl std::fmt::Display) -> Self {
        Self::Read(error.to_string())
    }
}

/// The error without its remedy, which is that of a file.
fn problem(error: &WeightsError) -> String {
    let text = error.to_string();
    text.split("; ").next().unwrap_or_default().to_owned()
}

/// Training and the CPU engine compute different outputs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the trained network and the exported weights disagree, first in {layer}: position {position} gives {trained} in training and {exported} when played; nothing was published; report a bug and attach the training state"
)]
pub struct ExportMismatch {
    /// The first layer whose results differ, by the name of its tensors. `engine` if every layer
    /// agrees with the plain reference computation, so that only the CPU engine can be wrong.
    pub layer: String,
    /// Index of the position, from 0.
    pub position: usize,
    /// The result of burn, as text.
    pub trained: String,
    /// The result of the exported weights, as text.
    pub exported: String,
}
