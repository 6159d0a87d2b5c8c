//! Initial values of a network's tensors.

use ouro_game::Rng;

use crate::spec::{NetSpec, TensorRole};

/// Scale of the policy output relative to He-normal, which makes the first policy nearly uniform.
const POLICY_SCALE: f64 = 0.01;

/// Values for every tensor of a valid spec; tensor `i` draws from its own generator.
pub(super) fn tensors(spec: &NetSpec, seed: u64) -> Vec<Vec<f32>> {
    spec.tensors()
        .iter()
        .enumerate()
        .map(|(index, tensor)| {
            let constant = |value| vec![value; tensor.len()];
            let fan_in = tensor.shape[1..].iter().product::<usize>() as f64;
            let deviation = match tensor.role {
                TensorRole::Bias | TensorRole::RunningMean => return constant(0.0),
                TensorRole::Scale | TensorRole::RunningVariance => return constant(1.0),
                TensorRole::PolicyOutput => POLICY_SCALE * (2.0 / fan_in).sqrt(),
                TensorRole::ValueOutput => (1.0 / fan_in).sqrt(),
                TensorRole::Weight => (2.0 / fan_in).sqrt(),
            };
            let mut rng = Rng::indexed(seed, "init", index as u64);
            (0..tensor.len()).map(|_| (deviation * normal(&mut rng)) as f32).collect()
        })
        .collect()
}

/// A standard normal variate (Marsaglia's polar method; the second of each pair is dropped).
///
/// The logarithm is that of libm, since platforms differ in the last digit.
fn normal(rng: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * rng.unit() - 1.0, 2.0 * rng.unit() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * libm::log(square) / square).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::PlaneShape;

    use crate::{Architecture, ContentHash, NetSpec, Weights, WeightsMeta};

    #[test]
    fn fresh_weights_have_he_deviation_a_small_policy_head_and_no_bias() {
        let spec = NetSpec {
            planes: PlaneShape { channels: 14, height: 7, width: 7 },
            actions: 4,
            architecture: Architecture::Conv { channels: 32, layers: 2, hidden: 128 },
        };
        let weights = Weights::initialize(spec.clone(), WeightsMeta::default(), 5).unwrap();
        let again = Weights::initialize(spec.clone(), WeightsMeta::default(), 5).unwrap();
        let other = Weights::initialize(spec.clone(), WeightsMeta::default(), 6).unwrap();
        assert_eq!(weights, again);
        assert_ne!(weights, other);
        for (tensor, values) in spec.tensors().iter().zip(weights.tensors()) {
            let square = values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>();
            let deviation = (square / values.len() as f64).sqrt();
            let fan_in = tensor.shape[1..].iter().product::<usize>() as f64;
            let expected = match tensor.name.as_str() {
                name if name.ends_with("bias") => 0.0,
                "policy.weight" => 0.01 * (2.0 / fan_in).sqrt(),
                "value.weight" => (1.0 / fan_in).sqrt(),
                _ => (2.0 / fan_in).sqrt(),
            };
            // The deviation of n normals has a relative error of 1/sqrt(2n); 5 sigma.
            let slack = expected * 5.0 / (2.0 * values.len() as f64).sqrt();
            assert!((deviation - expected).abs() <= slack, "{}: {deviation}", tensor.name);
        }
    }

    /// The constant is the same on every processor and platform.
    #[test]
    fn a_seed_gives_these_weights_everywhere() {
        let spec = NetSpec {
            planes: PlaneShape { channels: 12, height: 11, width: 11 },
            actions: 4,
            architecture: "small".parse().unwrap(),
        };
        let weights = Weights::initialize(spec, WeightsMeta::default(), 5).unwrap();
        assert_eq!(
            ContentHash::of(&weights.to_safetensors()).to_string(),
            "70df5bf0f7f4e04b095f304590a2ac885ac033565b91e612677979d1b5800d53"
        );
    }

    #[test]
    fn layers_of_another_board_size_are_taken_as_far_as_they_fit() {
        let tower = |side| NetSpec {
            planes: PlaneShape { channels: 12, height: side, width: side },
            actions: 4,
            architecture: "tiny".parse().unwrap(),
        };
        let meta = || WeightsMeta { step: 7, ..WeightsMeta::default() };
        let small = Weights::initialize(tower(7), WeightsMeta::default(), 1).unwrap();
        let large = Weights::initialize(tower(11), meta(), 2).unwrap();
        let (taken, own) = large.clone().with_layers_of(&small);
        assert_eq!(own, ["policy.linear", "value.hidden"]);
        assert_eq!((taken.spec(), taken.meta()), (large.spec(), &meta()));
        let sources = small.tensors().iter().zip(large.tensors());
        let specs = taken.spec().tensors();
        for ((tensor, values), (small, large)) in specs.iter().zip(taken.tensors()).zip(sources) {
            let is_own = own.iter().any(|layer| tensor.name.starts_with(layer));
            assert_eq!(values, if is_own { large } else { small }, "{}", tensor.name);
        }
        let (same, own) = small.clone().with_layers_of(&small);
        assert_eq!((same, own.len()), (small, 0));
    }

    #[test]
    fn a_norm_is_taken_with_its_convolution_only() {
        let of = |channels, seed| {
            let planes = PlaneShape { channels, height: 5, width: 5 };
            let spec = NetSpec { planes, actions: 4, architecture: "tiny".parse().unwrap() };
            Weights::initialize(spec, WeightsMeta::default(), seed).unwrap()
        };
        let fresh = of(14, 2);
        let mut given = of(12, 1);
        // The scale of the stem's norm, which has the same shape in both.
        given.tensors[1].fill(3.0);
        let (taken, own) = fresh.clone().with_layers_of(&given);
        assert_eq!(own, ["stem.conv"]);
        assert_eq!(taken.tensors()[..5], fresh.tensors()[..5]);
        assert_eq!(taken.tensors()[5..], given.tensors()[5..]);
    }

    #[test]
    fn fresh_batch_norm_is_the_identity() {
        let spec = NetSpec {
            planes: PlaneShape { channels: 2, height: 3, width: 3 },
            actions: 4,
            architecture: "tiny".parse().unwrap(),
        };
        let weights = Weights::initialize(spec.clone(), WeightsMeta::default(), 5).unwrap();
        for (tensor, values) in spec.tensors().iter().zip(weights.tensors()) {
            let expected = match tensor.name.rsplit_once('.').unwrap().1 {
                "running_var" => Some(1.0),
                "weight" if tensor.name.contains("norm") => Some(1.0),
                "bias" | "running_mean" => Some(0.0),
                _ => None,
            };
            match expected {
                Some(expected) => assert!(values.iter().all(|&value| value == expected)),
                None => assert!(values.iter().any(|&value| value != values[0])),
            }
        }
    }
}
