use super::*;
use crate::batch::{Batch, BatchError, RowShape};
use crate::config::TrainConfig;
use crate::device::TrainDevice;
use crate::loss::{LossTerms, slow_log_policy};
use crate::parity::random_segments;
use crate::testing::{central_differences, evaluate, lively_weights, spec, tower, weights};
use crate::trainer::Trainer;
use ouro_game::Rng;
use ouro_net::Generation;

fn trainer(
    config: &ReinforceConfig,
    train: TrainConfig,
    weights: &ouro_net::Weights,
) -> Trainer<Reinforce> {
    Trainer::new(Reinforce::from(config), train, weights, None, TrainDevice::cpu()).unwrap()
}

/// log π of the action taken, in every row.
fn chosen(batch: &Segments, logits: &[f32]) -> Vec<f64> {
    let actions = batch.shape().actions;
    let row = |row: usize| {
        let cells = row * actions..(row + 1) * actions;
        slow_log_policy(&logits[cells.clone()], &batch.legal[cells])[batch.actions[row] as usize]
    };
    (0..batch.rows()).map(row).collect()
}

/// The loss of the module's documentation in f64, for given targets.
fn slow(
    config: &ReinforceConfig,
    batch: &Segments,
    targets: &UpdateTargets,
    outputs: &(Vec<f32>, Vec<f32>),
) -> LossTerms {
    let (logits, values) = outputs;
    let actions = batch.shape().actions;
    let mut parts = LossTerms { ratio: targets.ratio, ..LossTerms::default() };
    for (row, chosen) in chosen(batch, logits).into_iter().enumerate() {
        let share = f64::from(batch.weights[row]) / batch.weight();
        parts.policy -= share * targets.advantages[row] * chosen;
        parts.value += share * (f64::from(values[row]) - targets.values[row]).powi(2);
        let cells = row * actions..(row + 1) * actions;
        let log = slow_log_policy(&logits[cells.clone()], &batch.legal[cells]);
        let legal = log.iter().filter(|log| log.is_finite());
        parts.entropy -= share * legal.map(|log| log.exp() * log).sum::<f64>();
    }
    parts.total = parts.policy + f64::from(config.value_coefficient) * parts.value
        - f64::from(config.entropy_bonus) * parts.entropy;
    parts
}

#[test]
fn loss_and_gradient_agree_with_the_slow_reference() {
    for normalize_advantage in [false, true] {
        let config = ReinforceConfig {
            normalize_advantage,
            entropy_bonus: 0.1,
            ratio_cap: 1.5,
            trace_decay: 0.9,
            ..ReinforceConfig::default()
        };
        let spec = spec();
        let weights = lively_weights(&spec);
        let batch = random_segments(&spec, 14, &mut Rng::new(5, "test"));
        let mut trainer = trainer(&config, TrainConfig::default(), &weights);
        let gradient = trainer.gradient(&batch).unwrap();

        let outputs = evaluate(&weights, &batch.planes);
        let logs: Vec<f32> = chosen(&batch, &outputs.0).iter().map(|&log| log as f32).collect();
        let targets = Reinforce::from(&config).targets(&batch, &logs, &outputs.1);
        let parts = slow(&config, &batch, &targets, &outputs);
        let fast = gradient.loss;
        for (slow, fast) in [
            (parts.total, fast.total),
            (parts.policy, fast.policy),
            (parts.value, fast.value),
            (parts.entropy, fast.entropy),
            (parts.ratio, fast.ratio),
        ] {
            assert!((slow - fast).abs() < 1e-5, "{slow} {fast}");
        }
        central_differences(&weights, &gradient.tensors, |weights| {
            slow(&config, &batch, &targets, &evaluate(weights, &batch.planes)).total
        });
    }
}

/// A two-armed bandit of two plies: action 0 earns 1 and action 1 earns −1, both drawn uniformly.
/// Action 2 is illegal.
fn bandit(spec: &ouro_net::NetSpec) -> Segments {
    let shape = RowShape::of(spec);
    let mut batch = Segments::with_capacity(shape, 64);
    for row in 0..64_u32 {
        batch.planes.extend((0..shape.planes).map(|cell| f32::from(u8::from(cell % 3 == 0))));
        batch.legal.extend((0..shape.actions).map(|action| action < 2));
        batch.actions.push(row / 2 % 2);
        batch.behaviour.push(0.5);
        batch.rewards.push(if row / 2 % 2 == 0 { 0.5 } else { -0.5 });
        batch.discounts.push(if row % 2 == 0 { 1.0 } else { 0.0 });
        batch.weights.push(1.0);
        batch.ends.push(row % 2 == 1);
    }
    batch
}

#[test]
fn rewarded_actions_become_likely_in_every_algorithmic_setting() {
    for (normalize_advantage, spec) in [(false, spec()), (true, tower())] {
        let config = ReinforceConfig { normalize_advantage, ..ReinforceConfig::default() };
        let train = TrainConfig { learning_rate: 0.02, report_every: 1, ..TrainConfig::default() };
        let batch = bandit(&spec);
        let mut trainer = trainer(&config, train, &weights(&spec));
        for _ in 0..80 {
            trainer.step(&batch).unwrap();
        }
        let weights = trainer.weights(Generation(1)).unwrap();
        let (logits, _) = evaluate(&weights, &batch.planes[..spec.planes.len()]);
        assert!(logits[0] - logits[1] > 2.0, "action 0 is {} nats ahead", logits[0] - logits[1]);
        assert_eq!(weights.meta().step, 80);
    }
}

#[test]
fn ratios_are_truncated_and_epsilon_counts() {
    let config = ReinforceConfig { ratio_cap: 2.0, trace_cap: 1.0, ..ReinforceConfig::default() };
    let spec = spec();
    let mut batch = bandit(&spec);
    let reinforce = Reinforce::from(&config);
    let half = vec![0.5_f32.ln(); 64];
    let mean = |batch: &Segments| reinforce.targets(batch, &half, &[0.0; 64]).ratio;
    assert!((mean(&batch) - 1.0).abs() < 1e-6);
    batch.behaviour.fill(0.01);
    assert!((mean(&batch) - 2.0).abs() < 1e-6);
    // An actor with random moves (ε = 0.2, two actions) reports the probability of its mixed
    // policy: 0.8 · 0.5 + 0.1 for an action of probability 0.5.
    batch.behaviour.fill(0.8 * 0.5 + 0.1);
    assert!((mean(&batch) - 1.0).abs() < 1e-6);
}

#[test]
fn broken_batches_are_refused_by_name() {
    let spec = spec();
    let good = random_segments(&spec, 9, &mut Rng::new(5, "test"));
    assert_eq!(good.check(&spec), Ok(()));
    let spoiled = |spoil: fn(&mut Segments)| {
        let mut batch = good.clone();
        spoil(&mut batch);
        batch.check(&spec).expect_err("it is spoiled")
    };
    let length = spoiled(|batch| batch.rewards.truncate(8));
    assert_eq!(length.to_string(), "batch: column rewards has 8 values; 9 rows need 9");
    let action = spoiled(|batch| batch.actions[4] = 5);
    assert!(matches!(action, BatchError::Action { row: 4, action: 5, actions: 5 }));
    let open = spoiled(|batch| {
        (batch.ends[8], batch.weights[8], batch.discounts[8]) = (true, 1.0, 0.9);
    });
    assert!(matches!(open, BatchError::OpenEnd { row: 8, .. }));
    assert_eq!(spoiled(|batch| batch.weights.fill(0.0)), BatchError::Empty);
}
