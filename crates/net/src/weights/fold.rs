//! Batch norm folded into the convolution before it.
//!
//! With the running statistics, batch norm is one factor and one addend per channel:
//! `(y − mean) · scale / √(variance + ε) + bias`. Both are computed in f64 and rounded once.

use super::WeightsError;
use crate::spec::BATCH_NORM_EPSILON;
use crate::spec::{TensorRole, TensorSpec};

/// A convolution without bias and the following batch norm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConvolutionWithNorm<'a> {
    /// `[outputs, …]`.
    pub(crate) weight: &'a [f32],
    /// Scale, bias, running mean and running variance, each `[outputs]`.
    pub(crate) norm: [&'a [f32]; 4],
}

impl ConvolutionWithNorm<'_> {
    fn factor(&self, channel: usize) -> f64 {
        let [scale, _, _, variance] = self.norm;
        f64::from(scale[channel]) / (f64::from(variance[channel]) + BATCH_NORM_EPSILON).sqrt()
    }

    /// The weight of the folded convolution.
    pub(crate) fn weight(&self) -> impl Iterator<Item = f32> {
        let outputs = self.norm[0].len();
        let filters = self.weight.chunks_exact(self.weight.len() / outputs).enumerate();
        filters.flat_map(|(channel, filter)| {
            let factor = self.factor(channel);
            filter.iter().map(move |&weight| (f64::from(weight) * factor) as f32)
        })
    }

    /// The bias of the folded convolution.
    pub(crate) fn bias(&self) -> impl Iterator<Item = f32> {
        let [_, bias, mean, _] = self.norm;
        (0..bias.len()).map(|channel| {
            let shift = f64::from(mean[channel]) * self.factor(channel);
            (f64::from(bias[channel]) - shift) as f32
        })
    }
}

/// Checks that every convolution stays finite with its norm folded in; `tensors` are those of
/// `list`, finite themselves.
pub(super) fn check(list: &[TensorSpec], tensors: &[Vec<f32>]) -> Result<(), WeightsError> {
    let norms = list.iter().enumerate().filter(|(_, tensor)| tensor.role == TensorRole::Scale);
    for (scale, _) in norms {
        // A norm's four tensors follow the weight of its convolution.
        let [weight, bias] = [scale - 1, scale + 1];
        let values: [&[f32]; 4] = std::array::from_fn(|part| &tensors[scale + part][..]);
        let folded = ConvolutionWithNorm { weight: &tensors[weight], norm: values };
        let infinite = |value: f32| !value.is_finite();
        let found = [
            (weight, folded.weight().position(infinite)),
            (bias, folded.bias().position(infinite)),
        ];
        for (tensor, index) in found {
            if let Some(index) = index {
                let name = list[tensor].name.clone();
                return Err(WeightsError::FoldsToInfinity { name, index });
            }
        }
    }
    Ok(())
}
