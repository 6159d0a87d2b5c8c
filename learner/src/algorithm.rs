//! The learning algorithms: an [`Algorithm`] turns a batch and the network's outputs into a loss.
//!
//! | algorithm | batch | learns from |
//! |---|---|---|
//! | [`AlphaZero`](crate::alphazero) | [`Positions`](crate::alphazero::Positions) | search policies, outcomes and root values |
//! | [`Reinforce`](crate::reinforce) | [`Segments`](crate::reinforce::Segments) | actions, their probabilities and rewards |

use burn_tensor::Device;

use crate::batch::Batch;
use crate::error::TrainError;
use crate::loss::DeviceLoss;
use crate::model::Outputs;

/// A loss for one kind of batch.
pub trait Algorithm: Send + 'static {
    /// The rows that the algorithm learns from.
    type Batch: Batch;

    /// The loss of the network's `outputs` on `batch`, which passed [`Batch::check`]. The batch's
    /// columns are sent to `device`, a device without gradients.
    fn loss(
        &self,
        batch: &Self::Batch,
        outputs: &Outputs,
        device: &Device,
    ) -> Result<DeviceLoss, TrainError>;
}
