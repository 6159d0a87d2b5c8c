use super::*;
use crate::parity::random_batch;
use crate::reinforce;
use crate::samples::RowShape;
use crate::testing::{spec, weights};
use ouro_game::Stream;
use ouro_net::{Architecture, reference};

fn trainer(config: &TrainConfig, weights: &Weights, moments: &Moments) -> Trainer {
    Trainer::new(config.clone(), weights, moments, TrainDevice::cpu())
}

fn batch(index: u64) -> Samples {
    random_batch(&spec(), 12, &mut Stream::indexed(5, "test", index))
}

/// Network outputs by the slow reference.
fn outputs(weights: &Weights, batch: &Samples) -> (Vec<f32>, Vec<f32>) {
    let mut logits = vec![0.0; batch.rows() * weights.spec().actions];
    let mut values = vec![0.0; batch.rows()];
    reference::evaluate(weights, &batch.planes, &mut logits, &mut values);
    (logits, values)
}

#[test]
fn loss_and_gradient_agree_with_the_slow_reference() {
    for normalize_advantage in [false, true] {
        let config =
            TrainConfig { normalize_advantage, entropy_bonus: 0.1, ..TrainConfig::default() };
        // A policy head that is not near uniform, so that every term counts, and biases away
        // from 0, where an empty patch of the board would sit on the kink of a ReLU.
        let mut tensors = weights(&spec()).tensors().to_vec();
        for (index, tensor) in tensors.iter_mut().enumerate() {
            for (place, value) in tensor.iter_mut().enumerate() {
                match index {
                    6 => *value *= 100.0,
                    _ if index % 2 == 1 => *value = 0.1 + 0.03 * place as f32,
                    _ => {}
                }
            }
        }
        let weights =
            Weights::from_tensors(spec(), WeightsMeta::default(), tensors.clone()).unwrap();
        let batch = batch(0);
        let gradient = trainer(&config, &weights, &Moments::default()).gradient(&batch).unwrap();

        let loss_config = LossConfig::from(&config);
        let (logits, values) = outputs(&weights, &batch);
        let fixed = reinforce::coefficients(&loss_config, &batch, &logits, &values);
        let slow = reinforce::loss(&loss_config, &batch, &logits, &values, &fixed);
        let fast = gradient.loss;
        for (slow, fast) in [
            (slow.total, fast.total),
            (slow.policy, fast.policy),
            (slow.value, fast.value),
            (slow.entropy, fast.entropy),
            (slow.ratio, fast.ratio),
        ] {
            assert!((slow - fast).abs() < 1e-5, "{slow} {fast}");
        }

        // Central differences of the reference in a few elements of every tensor.
        let nudged = |tensor: usize, index: usize, by: f32| {
            let mut tensors = tensors.clone();
            tensors[tensor][index] += by;
            let weights = Weights::from_tensors(spec(), WeightsMeta::default(), tensors).unwrap();
            let (logits, values) = outputs(&weights, &batch);
            reinforce::loss(&loss_config, &batch, &logits, &values, &fixed).total
        };
        let (mut dot, mut slow_square, mut fast_square) = (0.0, 0.0, 0.0);
        for (tensor, gradients) in gradient.tensors.iter().enumerate() {
            let stride = (gradients.len() / 5).max(1);
            for index in (0..gradients.len()).step_by(stride) {
                let step = 1e-3;
                let slow = (nudged(tensor, index, step) - nudged(tensor, index, -step)) / 2e-3;
                let fast = f64::from(gradients[index]);
                assert!((slow - fast).abs() < 5e-3, "{tensor}[{index}]: {slow} {fast}");
                dot += slow * fast;
                slow_square += slow * slow;
                fast_square += fast * fast;
            }
        }
        let cosine = dot / f64::sqrt(slow_square * fast_square);
        assert!(cosine > 0.999, "{cosine}");
    }
}

#[test]
fn training_makes_rewarded_actions_likely_and_values_right() {
    // Action 0 pays 1, action 1 pays −1, drawn uniformly; action 2 is illegal.
    let spec = NetSpec {
        planes: ouro_game::PlaneShape { channels: 1, height: 3, width: 3 },
        actions: 3,
        architecture: Architecture::Conv { channels: 2, layers: 1, hidden: 4 },
    };
    let mut batch = Samples::new(RowShape { planes: 9, actions: 3 });
    for row in 0..32_u32 {
        batch.planes.extend([1.0; 9]);
        batch.legal.extend([true, true, false]);
        batch.actions.push(row % 2);
        batch.behaviour.push(0.5);
        batch.returns.push(if row % 2 == 0 { 1.0 } else { -1.0 });
    }
    let config = TrainConfig { learning_rate: 0.02, report_every: 1, ..TrainConfig::default() };
    let mut trainer = trainer(&config, &weights(&spec), &Moments::default());
    for _ in 0..60 {
        trainer.step(&batch).unwrap();
    }
    let weights = trainer.weights(1).unwrap();
    let (logits, values) = outputs(&weights, &batch);
    let preference = logits[0] - logits[1];
    assert!(preference > 2.0, "action 0 is {preference} nats ahead");
    assert!(values[0].abs() < 0.2, "the mean return is 0, the value {}", values[0]);
    assert_eq!(weights.meta().step, 60);
}

#[test]
fn a_run_that_stops_and_resumes_is_the_same_bit_for_bit() {
    let config = TrainConfig { warmup_steps: 7, weight_decay: 0.01, ..TrainConfig::default() };
    let start = weights(&spec());
    let mut whole = trainer(&config, &start, &Moments::default());
    let mut half = trainer(&config, &start, &Moments::default());
    for index in 0..5 {
        whole.step(&batch(index)).unwrap();
        half.step(&batch(index)).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let store = crate::checkpoint::Store::open(directory.path(), 2).unwrap();
    let checkpoint = crate::checkpoint::Checkpoint {
        weights: half.weights(1).unwrap(),
        moments: half.moments().unwrap(),
        state: crate::checkpoint::RunState::default(),
    };
    store.save(&checkpoint).unwrap();
    let loaded = store.load().unwrap().checkpoint.expect("it was saved");
    assert_eq!(loaded, checkpoint);
    let mut resumed = trainer(&config, &loaded.weights, &loaded.moments);
    for index in 5..10 {
        whole.step(&batch(index)).unwrap();
        resumed.step(&batch(index)).unwrap();
    }
    assert_eq!(resumed.weights(2).unwrap(), whole.weights(2).unwrap());
    assert_eq!(resumed.moments().unwrap(), whole.moments().unwrap());
}

#[test]
fn a_loss_that_is_not_finite_ends_training() {
    let config = TrainConfig { report_every: 1, ..TrainConfig::default() };
    let mut trainer = trainer(&config, &weights(&spec()), &Moments::default());
    let mut broken = batch(0);
    broken.returns[3] = f32::INFINITY;
    let error = trainer.step(&broken).expect_err("the loss is infinite");
    assert!(matches!(error, TrainError::NotFinite { step: 0, .. }), "{error}");
    assert!(matches!(trainer.weights(1), Err(TrainError::Weights(_))));
}

#[test]
fn the_gradient_is_clipped_by_its_global_norm() {
    // With a first step of Adam the update does not depend on the gradient's size, so look at
    // the first moments: (1 − β₁) times the clipped gradient.
    let norm = |clip: f32| {
        let config = TrainConfig { max_gradient_norm: clip, ..TrainConfig::default() };
        let mut trainer = trainer(&config, &weights(&spec()), &Moments::default());
        trainer.step(&batch(0)).unwrap();
        let moments = trainer.moments().unwrap();
        let squares = moments.first.iter().flatten().map(|&m| (f64::from(m) / 0.1).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let free = norm(1e6);
    assert!(free > 0.02, "{free}");
    assert!((norm(0.01) - 0.01).abs() < 1e-4);
}
