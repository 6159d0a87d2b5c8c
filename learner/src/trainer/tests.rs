use super::*;
use crate::alphazero::{AlphaZero, Positions};
use crate::config::{AlphaZeroConfig, LearningRateSchedule};
use crate::parity::random_positions;
use crate::testing::{architectures, spec, tower, weights};
use crate::tower::Tower;
use crate::training_state::{RunState, StateStore, TrainingState};
use ouro_game::Rng;
use ouro_net::Generation;
use ouro_net::synthetic::random_weights;
use ouro_settings::{OptimizerConfig, WeightAveraging};

fn trainer(
    config: &TrainConfig,
    weights: &Weights,
    state: Option<&TrainerState>,
) -> Trainer<AlphaZero> {
    let algorithm = AlphaZero::from(&AlphaZeroConfig::default());
    Trainer::new(algorithm, config.clone(), weights, state, TrainDevice::cpu()).unwrap()
}

fn batch(spec: &NetSpec, index: u64) -> Positions {
    random_positions(spec, 12, &mut Rng::indexed(5, "test", index))
}

#[test]
fn a_run_that_stops_and_resumes_is_the_same_bit_for_bit() {
    let adam = OptimizerConfig::default();
    let averaging = WeightAveraging::Exponential { every_steps: 2, half_life_steps: 3 };
    for (spec, optimizer, average) in [
        (tower(), adam.clone(), averaging.clone()),
        (tower(), OptimizerConfig::Sgd { momentum: 0.9 }, averaging.clone()),
        (spec(), adam, WeightAveraging::None {}),
        (spec(), OptimizerConfig::Sgd { momentum: 0.0 }, averaging),
    ] {
        let config = TrainConfig {
            warmup_steps: 7,
            weight_decay: 0.01,
            schedule: LearningRateSchedule::Cosine { steps: 9, floor: 0.1, restart: 0.5 },
            optimizer,
            average,
            ..TrainConfig::default()
        };
        let start = weights(&spec);
        let mut whole = trainer(&config, &start, None);
        let mut half = trainer(&config, &start, None);
        for index in 0..5 {
            whole.step(&batch(&spec, index)).unwrap();
            half.step(&batch(&spec, index)).unwrap();
        }
        let directory = tempfile::tempdir().unwrap();
        let mut store = StateStore::open(directory.path(), 2).unwrap();
        let saved = TrainingState {
            weights: half.export(Generation(1), &ExportCheck::random(&spec)).unwrap(),
            trainer: half.state().unwrap(),
            run: RunState::default(),
        };
        store.save(&saved).unwrap();
        let loaded = store.load().unwrap().newest.expect("it was saved");
        assert_eq!(loaded, saved);
        let mut resumed = trainer(&config, &loaded.weights, Some(&loaded.trainer));
        for index in 5..10 {
            whole.step(&batch(&spec, index)).unwrap();
            resumed.step(&batch(&spec, index)).unwrap();
        }
        assert_eq!(resumed.weights(Generation(2)).unwrap(), whole.weights(Generation(2)).unwrap());
        assert_eq!(resumed.state().unwrap(), whole.state().unwrap());
    }
}

#[test]
fn the_average_is_the_mean_of_its_weights_and_has_its_own_statistics() {
    let spec = tower();
    let average = WeightAveraging::Exponential { every_steps: 1, half_life_steps: 1_000 };
    let config = TrainConfig { average, ..TrainConfig::default() };
    let start = weights(&spec);
    let mut trainer = trainer(&config, &start, None);
    let mut sums: Vec<Vec<f64>> =
        start.tensors().iter().map(|t| t.iter().map(|&v| f64::from(v)).collect()).collect();
    for index in 0..4 {
        trainer.step(&batch(&spec, index)).unwrap();
        for (sum, tensor) in sums.iter_mut().zip(trainer.state().unwrap().tensors) {
            sum.iter_mut().zip(tensor).for_each(|(sum, value)| *sum += f64::from(value));
        }
    }
    let published = trainer.weights(Generation(1)).unwrap();
    let last = trainer.state().unwrap().tensors;
    for (index, tensor) in spec.tensors().iter().enumerate() {
        let got = &published.tensors()[index];
        if tensor.name.contains("running") {
            assert_ne!(*got, last[index], "{}", tensor.name);
        } else {
            let same = got.iter().zip(&sums[index]);
            assert!(same.clone().all(|(&got, sum)| (f64::from(got) - sum / 5.0).abs() < 1e-5));
        }
    }
    trainer.export(Generation(1), &ExportCheck::random(&spec)).unwrap();
}

#[test]
fn every_architecture_trains_and_passes_the_export_check() {
    for architecture in architectures() {
        let spec = NetSpec { architecture, ..spec() };
        let config = TrainConfig { learning_rate: 0.01, report_every: 1, ..TrainConfig::default() };
        let mut trainer = trainer(&config, &random_weights(&spec, 3).unwrap(), None);
        let batch = batch(&spec, 0);
        let first = trainer.step(&batch).unwrap().unwrap().loss.total;
        for _ in 0..40 {
            trainer.step(&batch).unwrap();
        }
        let last = trainer.step(&batch).unwrap().unwrap().loss.total;
        assert!(last < 0.8 * first, "{:?}: {first} {last}", spec.architecture);
        trainer.export(Generation(1), &ExportCheck::random(&spec)).unwrap();
    }
}

#[test]
fn a_loss_that_is_not_finite_ends_training() {
    let (spec, config) = (spec(), TrainConfig { report_every: 1, ..TrainConfig::default() });
    let mut trainer = trainer(&config, &weights(&spec), None);
    let mut broken = batch(&spec, 0);
    broken.outcomes[3] = f32::INFINITY;
    let error = trainer.step(&broken).expect_err("the loss is infinite");
    assert!(matches!(error, TrainError::NotFinite { step: 0, .. }), "{error}");
    let error = trainer.weights(Generation(1)).expect_err("the weights are not finite");
    assert!(matches!(error, TrainError::Diverged(_)), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("training diverged: weights: tensor "), "{text}");
    assert!(!text.contains("other weights"), "the remedy is that of training: {text}");
}

#[test]
fn a_network_that_diverged_is_not_saved_behind_its_average() {
    let spec = spec();
    let average = WeightAveraging::Exponential { every_steps: 100, half_life_steps: 100 };
    let config = TrainConfig { average, report_every: 100, ..TrainConfig::default() };
    let mut trainer = trainer(&config, &weights(&spec), None);
    let mut broken = batch(&spec, 0);
    broken.outcomes[3] = f32::INFINITY;
    assert!(trainer.step(&broken).unwrap().is_none());
    trainer.export(Generation(1), &ExportCheck::random(&spec)).expect("the average is as before");
    assert!(matches!(trainer.state(), Err(TrainError::Diverged(_))));
}

#[test]
fn the_state_of_another_optimiser_is_refused() {
    let (spec, config) = (spec(), TrainConfig::default());
    let mut adam = trainer(&config, &weights(&spec), None);
    adam.step(&batch(&spec, 0)).unwrap();
    let state = adam.state().unwrap();
    let config = TrainConfig { optimizer: OptimizerConfig::Sgd { momentum: 0.9 }, ..config };
    let algorithm = AlphaZero::from(&AlphaZeroConfig::default());
    let other = Trainer::new(algorithm, config, &weights(&spec), Some(&state), TrainDevice::cpu());
    assert!(matches!(other, Err(TrainError::OtherState { what: "optimiser" })));
}

#[test]
fn the_fast_trunk_agrees_with_burn() {
    let spec = tower();
    agrees_with_burn(&spec, |trainer| {
        assert!(matches!(trainer.passes, Passes::Trunk(_)), "it is for the CPU");
        trainer
    });
}

#[test]
fn the_tower_for_gpus_agrees_with_burn() {
    let spec = tower();
    agrees_with_burn(&spec, |trainer| Trainer {
        passes: Passes::Tower(Box::new(Tower::new(&spec).unwrap())),
        ..trainer
    });
}

/// The largest difference of two tensors; NaN counts as larger than any number.
fn largest_difference(one: &[f32], two: &[f32]) -> f32 {
    one.iter().zip(two).map(|(a, b)| (a - b).abs()).max_by(f32::total_cmp).unwrap_or(0.0)
}

/// Compares gradients, a run of steps and its weights with burn's.
fn agrees_with_burn(spec: &NetSpec, choose: impl Fn(Trainer<AlphaZero>) -> Trainer<AlphaZero>) {
    let average = WeightAveraging::Exponential { every_steps: 4, half_life_steps: 8 };
    let config =
        TrainConfig { report_every: 1, learning_rate: 0.01, average, ..TrainConfig::default() };
    let start = random_weights(spec, 3).unwrap();
    let mut fast = choose(trainer(&config, &start, None));
    let mut burn = trainer(&config, &start, None).by_burn_alone();
    let (one, two) = (fast.gradient(&batch(spec, 0)), burn.gradient(&batch(spec, 0)));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert!((one.loss.total - two.loss.total).abs() < 1e-5);
    for ((tensor, _), (one, two)) in
        fast.net.layout().trained().zip(one.tensors.iter().zip(&two.tensors))
    {
        let largest = two.iter().fold(1e-3_f32, |largest, value| largest.max(value.abs()));
        let worst = largest_difference(one, two);
        assert!(worst < 1e-3 * largest, "{}: {worst} of {largest}", tensor.name);
    }
    for index in 0..20 {
        let [one, two] = [&mut fast, &mut burn]
            .map(|trainer| trainer.step(&batch(spec, index)).unwrap().unwrap().loss.total);
        assert!((one - two).abs() < 1e-2 * two.abs(), "step {index}: {one} {two}");
    }
    let (one, two) = (fast.weights(Generation(1)).unwrap(), burn.weights(Generation(1)).unwrap());
    for (tensor, (one, two)) in spec.tensors().iter().zip(one.tensors().iter().zip(two.tensors())) {
        let worst = largest_difference(one, two);
        assert!(worst < 2e-2, "{}: {worst}", tensor.name);
    }
}
