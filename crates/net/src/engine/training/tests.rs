use ouro_game::{PlaneShape, Rng};

use super::*;
use crate::spec::{TensorRole, ValueRange};
use crate::synthetic::{random_planes, random_weights};

fn spec(channels: usize, blocks: usize, [planes, height, width]: [usize; 3]) -> NetSpec {
    let architecture = Architecture::Residual {
        channels,
        blocks,
        policy_channels: 1,
        value_channels: 1,
        value_hidden: 1,
        value: ValueRange::Tanh,
        global_pooling: None,
        opponent_policy: false,
    };
    let planes = PlaneShape { channels: planes, height, width };
    NetSpec { planes, actions: 2, architecture }
}

fn trained(spec: &NetSpec) -> Vec<f32> {
    let weights = random_weights(spec, 4).unwrap();
    let tensors = spec.tensors().into_iter().zip(weights.tensors());
    let running = [TensorRole::RunningMean, TensorRole::RunningVariance];
    tensors
        .filter(|(tensor, _)| !running.contains(&tensor.role))
        .flat_map(|(_, v)| v.clone())
        .collect()
}

/// The trunk written down plainly in f64: features, and the statistics of every norm.
fn slow(spec: &NetSpec, trained: &[f64], planes: &[f32]) -> (Vec<f64>, Vec<f64>) {
    let Architecture::Residual { channels, blocks, .. } = spec.architecture else { unreachable!() };
    let (height, width) = (spec.planes.height, spec.planes.width);
    let cells = height * width;
    let boards = planes.len() / spec.planes.len();
    let mut tensors = trained;
    let mut statistics = Vec::new();
    let mut layer = |x: &[f64], inputs: usize| {
        let (weight, rest) = tensors.split_at(9 * inputs * channels);
        let (scale, rest) = rest.split_at(channels);
        let (bias, rest) = rest.split_at(channels);
        tensors = rest;
        let mut y = vec![0.0; boards * channels * cells];
        for (index, y) in y.iter_mut().enumerate() {
            let (board, output, cell) =
                (index / cells / channels, index / cells % channels, index % cells);
            for (input, tap) in (0..inputs).flat_map(|input| (0..9).map(move |tap| (input, tap))) {
                let (row, column) = (cell / width + tap / 3, cell % width + tap % 3);
                if row >= 1 && row <= height && column >= 1 && column <= width {
                    let from = (board * inputs + input) * cells + (row - 1) * width + column - 1;
                    *y += x[from] * weight[(output * inputs + input) * 9 + tap];
                }
            }
        }
        let count = (boards * cells) as f64;
        for channel in 0..channels {
            let places = |place: &usize| place / cells % channels == channel;
            let of = (0..y.len()).filter(places).collect::<Vec<_>>();
            let mean = of.iter().map(|&place| y[place]).sum::<f64>() / count;
            let variance = of.iter().map(|&place| (y[place] - mean).powi(2)).sum::<f64>() / count;
            for place in of {
                y[place] = (y[place] - mean) / (variance + BATCH_NORM_EPSILON).sqrt()
                    * scale[channel]
                    + bias[channel];
            }
            statistics.push((mean, variance * count / (count - 1.0)));
        }
        y
    };
    let relu = |x: Vec<f64>| x.into_iter().map(|x| x.max(0.0)).collect::<Vec<_>>();
    let planes: Vec<f64> = planes.iter().map(|&value| f64::from(value)).collect();
    let mut x = relu(layer(&planes, spec.planes.channels));
    for _ in 0..blocks {
        let y = relu(layer(&x, channels));
        let y = layer(&y, channels);
        x = relu(x.iter().zip(y).map(|(x, y)| x + y).collect());
    }
    let statistics = statistics.chunks_exact(channels).flat_map(|norm| {
        let (means, variances): (Vec<f64>, Vec<f64>) = norm.iter().copied().unzip();
        means.into_iter().chain(variances)
    });
    (x, statistics.collect())
}

/// The largest value; NaN counts as larger than any other.
fn largest(differences: impl Iterator<Item = f64>) -> f64 {
    differences.max_by(f64::total_cmp).unwrap_or(0.0)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Odd channels that fill no line, and enough of them for Winograd's way.
fn cases() -> [NetSpec; 3] {
    [spec(5, 1, [3, 4, 3]), spec(18, 2, [7, 5, 6]), spec(48, 1, [20, 8, 8])]
}

#[test]
fn features_and_statistics_are_those_of_the_definition_in_every_instruction_set() {
    for spec in cases() {
        let (trained, planes) = (trained(&spec), random_planes(&spec, 3, 1));
        let exact: Vec<f64> = trained.iter().map(|&value| f64::from(value)).collect();
        let (features, statistics) = slow(&spec, &exact, &planes);
        let mut first = None;
        for isa in Isa::available() {
            let mut trunk = Trunk::with_isa(&spec, isa).unwrap();
            assert!(trunk.trained_len() < trained.len(), "heads follow");
            let (got, moments) = trunk.forward(&trained, &planes);
            for (got, expected) in [(&got, &features), (&moments, &statistics)] {
                assert_eq!(got.len(), expected.len());
                let pairs = got.iter().zip(expected);
                let worst = largest(pairs.map(|(&a, b)| (f64::from(a) - b).abs()));
                assert!(worst < 2e-4, "{} {:?}: {worst}", isa.name(), spec.architecture);
            }
            let pass = [bits(&got), bits(&moments)];
            let is_same = *first.get_or_insert_with(|| pass.clone()) == pass;
            assert!(is_same, "{} {:?}", isa.name(), spec.architecture);
        }
    }
}

#[test]
fn gradients_are_the_slopes_of_the_definition_in_every_instruction_set() {
    for spec in cases() {
        let (trained, planes) = (trained(&spec), random_planes(&spec, 3, 1));
        let exact: Vec<f64> = trained.iter().map(|&value| f64::from(value)).collect();
        let mut rng = Rng::new(9, "trunk");
        let length = slow(&spec, &exact, &planes).0.len();
        let pull: Vec<f32> = (0..length).map(|_| (rng.unit() - 0.5) as f32).collect();
        let loss = |trained: &[f64]| -> f64 {
            let features = slow(&spec, trained, &planes).0;
            features.iter().zip(&pull).map(|(x, &pull)| x * f64::from(pull)).sum()
        };
        let mut trunk = Trunk::with_isa(&spec, Isa::detect()).unwrap();
        trunk.forward(&trained, &planes);
        let gradient = trunk.backward(&trained, &pull);
        assert_eq!(gradient.len(), trunk.trained_len());
        let largest = gradient.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        for layer in &trunk.layers {
            for index in [0, 1, 2].map(|part| layer.places[part] + rng.below(3) as usize) {
                let slope = |by: f64| {
                    let mut nudged = exact.clone();
                    nudged[index] += by;
                    loss(&nudged)
                };
                let slow = (slope(1e-6) - slope(-1e-6)) / 2e-6;
                let error = (f64::from(gradient[index]) - slow).abs();
                assert!(error < 2e-3 * f64::from(largest), "{index}: {} {slow}", gradient[index]);
            }
        }
        for isa in Isa::available() {
            let mut other = Trunk::with_isa(&spec, isa).unwrap();
            other.forward(&trained, &planes);
            let other = other.backward(&trained, &pull);
            assert!(bits(&other) == bits(&gradient), "{} {:?}", isa.name(), spec.architecture);
        }
    }
}

#[test]
fn a_smaller_batch_after_a_larger_one_is_as_if_it_were_the_first() {
    let spec = spec(5, 1, [3, 4, 3]);
    let (trained, planes) = (trained(&spec), random_planes(&spec, 6, 1));
    let two = &planes[..2 * spec.planes.len()];
    let mut fresh = Trunk::new(&spec).unwrap();
    let mut used = Trunk::new(&spec).unwrap();
    let (features, _) = used.forward(&trained, &planes);
    used.backward(&trained, &features);
    let (features, statistics) = fresh.forward(&trained, two);
    assert_eq!(used.forward(&trained, two), (features.clone(), statistics));
    assert_eq!(used.backward(&trained, &features), fresh.backward(&trained, &features));
}

#[test]
fn networks_without_such_a_trunk_have_none() {
    let mut spec = spec(5, 1, [3, 4, 3]);
    assert_eq!(Trunk::new(&spec).map(|trunk| trunk.tensor_count()), Some(15));
    spec.architecture = Architecture::Mlp { layers: 1, hidden: 3, value: ValueRange::Tanh };
    assert!(Trunk::new(&spec).is_none());
}

#[test]
fn a_position_takes_the_bytes_that_its_buffers_have() {
    for spec in [spec(10, 1, [4, 10, 10]), spec(24, 3, [14, 7, 7]), spec(1, 2, [2, 5, 3])] {
        let boards = 4;
        let trained = trained(&spec);
        let mut trunk = Trunk::new(&spec).unwrap();
        let planes = random_planes(&spec, boards, 1);
        let (features, _) = trunk.forward(&trained, &planes);
        trunk.backward(&trained, &features);
        let layers = trunk.layers.iter().map(|layer| layer.values.len() + layer.results.len());
        let gradients = trunk.gradients.iter().map(|buffer| buffer.len());
        let held = trunk.positions.len() + layers.chain(gradients).sum::<usize>();
        let needed = 4 * (held + 2 * features.len()) / boards;
        assert_eq!(Trunk::row_bytes(&spec), Some(needed));
    }
}
