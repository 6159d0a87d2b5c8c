//! Random weights and positions, for tests, benchmarks and start-up checks.
//!
//! They exercise every tensor and every kernel without a trained network.

use ouro_game::Rng;

use crate::spec::{NetSpec, SpecError, TensorRole, TensorSpec};
use crate::weights::{Weights, WeightsMeta};

/// Weights with random values in every tensor, batch norm's statistics included, so that outputs
/// depend on all of them. Activations stay about as large as the input.
pub fn random_weights(spec: &NetSpec, seed: u64) -> Result<Weights, SpecError> {
    spec.validate()?;
    let list = spec.tensors();
    let value = |tensor: &TensorSpec, rng: &mut Rng| {
        let spread = 2.0 * rng.unit() - 1.0;
        let fan_in = tensor.shape[1..].iter().product::<usize>() as f64;
        match tensor.role {
            TensorRole::Bias | TensorRole::RunningMean => 0.1 * spread,
            // Below 1, since a residual block adds two branches of this scale.
            TensorRole::Scale => 0.7 + 0.2 * spread,
            TensorRole::RunningVariance => 1.0 + 0.5 * spread,
            // Uniform with the standard deviation of He's initialisation.
            TensorRole::Weight | TensorRole::PolicyOutput | TensorRole::ValueOutput => {
                (6.0 / fan_in).sqrt() * spread
            }
        }
    };
    let tensors = list.iter().enumerate().map(|(index, tensor)| {
        let mut rng = Rng::indexed(seed, "random weights", index as u64);
        (0..tensor.len()).map(|_| value(tensor, &mut rng) as f32).collect()
    });
    let weights = Weights::from_tensors(spec.clone(), WeightsMeta::default(), tensors.collect());
    Ok(weights.expect("the tensors have their lengths, are finite and vary positively"))
}

/// Positions of zeros and ones, as games write them, with a quarter of the values set.
///
/// `[batch, channels, height, width]`.
pub fn random_planes(spec: &NetSpec, batch: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed, "random planes");
    (0..batch * spec.planes.len()).map(|_| f32::from(u8::from(rng.below(4) == 0))).collect()
}
