use super::*;
use crate::config::TrainConfig;
use crate::device::TrainDevice;
use crate::loss::{LossTerms, slow_log_policy};
use crate::parity::random_positions;
use crate::testing::{architectures, central_differences, evaluate, spec, tower, weights};
use crate::trainer::Trainer;
use ouro_game::Rng;
use ouro_net::{Architecture, Generation};

const CONFIG: AlphaZeroConfig =
    AlphaZeroConfig { root_value_share: 0.3, surprise_share: 0.0, value_coefficient: 0.7 };
/// What a draw is worth.
const DRAW: f32 = -0.4;

/// The loss of the module's documentation in f64.
fn slow(batch: &Positions, logits: &[f32], values: &[f32]) -> LossTerms {
    let RowShape { actions, policies, .. } = batch.shape();
    let sum: f64 = batch.weights.iter().map(|&weight| f64::from(weight)).sum();
    let mut parts = LossTerms { ratio: 1.0, ..LossTerms::default() };
    let rows = batch.weights.len();
    for (row, value) in values.chunks_exact(values.len() / rows).enumerate() {
        let share = f64::from(batch.weights[row]) / sum;
        for policy in 0..policies {
            let from = (row * policies + policy) * actions;
            let cells = from..from + actions;
            let log = slow_log_policy(&logits[cells.clone()], &batch.legal[cells.clone()]);
            for (log, &target) in log.iter().zip(&batch.policy[cells]) {
                if target > 0.0 {
                    parts.policy -= share * f64::from(target) * log;
                }
            }
            if policy == 0 {
                let legal = log.iter().filter(|log| log.is_finite());
                parts.entropy -= share * legal.map(|log| log.exp() * log).sum::<f64>();
            }
        }
        let (outcome, root) = (f64::from(batch.outcomes[row]), f64::from(batch.root_values[row]));
        parts.value += share
            * match *value {
                [win, draw, loss] => {
                    let [win, draw, loss] = [win, draw, loss].map(f64::from);
                    let drawn = 1.0 - outcome.abs();
                    let decided = if outcome > 0.0 { win } else { loss };
                    let expected = win - loss + f64::from(DRAW) * draw;
                    -0.7 * (outcome.abs() * decided.ln() + drawn * draw.ln())
                        + 0.3 * (expected - root).powi(2)
                }
                _ => (f64::from(value[0]) - 0.7 * outcome - 0.3 * root).powi(2),
            };
    }
    parts.total = parts.policy + f64::from(0.7_f32) * parts.value;
    parts
}

fn trainer(weights: &ouro_net::Weights, config: TrainConfig) -> Trainer<AlphaZero> {
    Trainer::new(AlphaZero::new(&CONFIG, DRAW), config, weights, None, TrainDevice::cpu()).unwrap()
}

#[test]
fn loss_and_gradient_agree_with_the_slow_reference() {
    let classes = Architecture::Mlp { layers: 1, hidden: 9, value: ValueRange::Outcome };
    for spec in [spec(), NetSpec { architecture: classes, ..spec() }] {
        agrees_with_the_slow_reference(spec);
    }
}

fn agrees_with_the_slow_reference(spec: NetSpec) {
    let weights = crate::testing::lively_weights(&spec);
    let batch = random_positions(&spec, 12, &mut Rng::new(5, "test"));
    let gradient = trainer(&weights, TrainConfig::default()).gradient(&batch).unwrap();
    let (logits, values) = evaluate(&weights, &batch.planes);
    let slow_parts = slow(&batch, &logits, &values);
    let fast = gradient.loss;
    for (slow, fast) in [
        (slow_parts.total, fast.total),
        (slow_parts.policy, fast.policy),
        (slow_parts.value, fast.value),
        (slow_parts.entropy, fast.entropy),
        (slow_parts.ratio, fast.ratio),
    ] {
        assert!((slow - fast).abs() < 1e-5, "{slow} {fast}");
    }
    central_differences(&weights, &gradient.tensors, |weights| {
        let (logits, values) = evaluate(weights, &batch.planes);
        slow(&batch, &logits, &values).total
    });
}

#[test]
fn the_policies_of_both_players_are_learned_and_the_entropy_is_the_movers() {
    let both = architectures().into_iter().find(Architecture::has_opponent_policy).unwrap();
    let spec = NetSpec { architecture: both, ..spec() };
    let (rows, width) = (12, spec.logits());
    let mut rng = Rng::new(5, "test");
    let batch = random_positions(&spec, rows, &mut rng);
    assert_eq!(batch.check(&spec), Ok(()));
    let mut numbers = |count| (0..count).map(|_| (2.0 * rng.unit() - 1.0) as f32).collect();
    let (logits, values): (Vec<f32>, Vec<f32>) = (numbers(rows * width), numbers(rows));

    let device = TrainDevice::cpu();
    let device = device.plain();
    let data = TensorData::new(logits.clone(), [rows, width]);
    let tracked = Tensor::<2>::from_inner(Tensor::from_data(data, device)).require_grad();
    let lifted = Tensor::from_inner(column(values.clone(), device));
    let outputs = Outputs {
        logits: tracked.clone(),
        values: lifted.clone(),
        value_numbers: lifted,
        statistics: Vec::new(),
    };
    let loss = AlphaZero::new(&CONFIG, DRAW).loss(&batch, &outputs, device).unwrap();
    let (fast, expected) = (loss.read().unwrap(), slow(&batch, &logits, &values));
    assert!((fast.policy - expected.policy).abs() < 1e-5, "{fast:?} {expected:?}");
    assert!((fast.total - expected.total).abs() < 1e-5, "{fast:?} {expected:?}");
    assert!((fast.entropy - expected.entropy).abs() < 1e-5, "{fast:?} {expected:?}");

    let gradient = tracked.grad_remove(&mut loss.total.backward()).unwrap();
    let gradient = crate::model::read(&gradient).unwrap();
    for (index, &fast) in gradient.iter().enumerate() {
        let nudged = |by: f32| {
            let mut logits = logits.clone();
            logits[index] += by;
            slow(&batch, &logits, &values).total
        };
        let expected = (nudged(1e-3) - nudged(-1e-3)) / 2e-3;
        assert!((f64::from(fast) - expected).abs() < 1e-4, "{index}: {fast} {expected}");
    }
}

#[test]
fn a_fixed_batch_is_memorised() {
    let spec = tower();
    let mut batch = random_positions(&spec, 24, &mut Rng::new(6, "test"));
    // Every policy target has one move, so the loss can reach 0.
    for row in batch.policy.chunks_exact_mut(spec.actions) {
        let best = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
        let has_target = row[best] > 0.0;
        row.fill(0.0);
        row[best] = f32::from(u8::from(has_target));
    }
    let config = TrainConfig { learning_rate: 0.01, report_every: 1, ..TrainConfig::default() };
    let mut trainer = trainer(&weights(&spec), config);
    let first = trainer.step(&batch).unwrap().unwrap().loss;
    for _ in 0..200 {
        trainer.step(&batch).unwrap();
    }
    let last = trainer.step(&batch).unwrap().unwrap().loss;
    assert!(last.policy < 0.05 * first.policy, "{first:?} {last:?}");
    assert!(last.value < 0.05 * first.value, "{first:?} {last:?}");
    // The published network, which uses running statistics, has learned the batch as well.
    let weights = trainer.weights(Generation(1)).unwrap();
    let (logits, values) = evaluate(&weights, &batch.planes);
    let played = slow(&batch, &logits, &values);
    assert!(played.policy < 0.2 * first.policy, "{first:?} {played:?}");
}

#[test]
fn columns_of_a_wrong_length_are_refused_by_name() {
    let spec = spec();
    let good = random_positions(&spec, 3, &mut Rng::new(5, "test"));
    assert_eq!(good.check(&spec), Ok(()));
    let mut short = good.clone();
    short.policy.pop();
    let error = short.check(&spec).unwrap_err().to_string();
    assert_eq!(error, "batch: column policy has 14 values; 3 rows need 15");
    let mut weightless = good.clone();
    weightless.weights.fill(0.0);
    assert_eq!(weightless.check(&spec), Err(BatchError::Empty));
    let trained = trainer(&weights(&spec), TrainConfig::default()).step(&short);
    assert!(matches!(trained, Err(TrainError::Batch(_))));
}
