//! Comparison of a GPU with the CPU, because GPU stacks have shipped silently wrong kernels.
//!
//! A [`ParityReport`] compares burn-flex and another device twice, on the same batches. First both
//! compute the outputs, the loss and every parameter's gradient at the same weights. Then each takes
//! a series of optimiser steps on its own.
//!
//! In a large network some activations are so near 0 that rounding decides whether ReLU lets their
//! gradient pass, so gradients of two correct implementations differ by a few percent of their largest
//! element. The report therefore also has the difference between burn alone and the usual passes on the
//! CPU. It changes no tolerance.

use std::fmt;

use ouro_game::Rng;
use ouro_net::{Generation, NetSpec, SpecError, Weights, WeightsMeta};
use ouro_settings::WeightAveraging;

use crate::algorithm::Algorithm;
use crate::alphazero::Positions;
use crate::batch::RowShape;
use crate::config::TrainConfig;
use crate::device::TrainDevice;
use crate::error::TrainError;
use crate::loss::LossTerms;
use crate::model::ParameterLayout;
use crate::reinforce::Segments;
use crate::trainer::Trainer;

/// Largest relative difference of the loss.
pub const LOSS_TOLERANCE: f64 = 1e-4;

/// Smallest cosine between the two gradients of a parameter.
pub const COSINE_TOLERANCE: f64 = 0.9999;

/// Largest difference of a gradient's elements, relative to its largest element.
pub const ELEMENT_TOLERANCE: f64 = 1e-3;

/// Largest relative difference of the loss in a series of steps, where rounding errors grow.
pub const RUN_LOSS_TOLERANCE: f64 = 1e-2;

/// Smallest cosine between the total updates of all trained weights in a series of steps.
pub const RUN_COSINE_TOLERANCE: f64 = 0.999;

/// A tensor computed on both devices, such as a parameter's gradient; the worst of all rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorComparison {
    /// The tensor.
    pub name: String,
    /// Smallest cosine between the two results.
    pub cosine: f64,
    /// Largest absolute difference of an element, of the round in which it is largest relative to
    /// `largest`.
    pub difference: f64,
    /// Largest absolute element on the CPU in that round.
    pub largest: f64,
}

/// The result of a comparison; displays as a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParityReport {
    /// The reference device.
    pub reference: String,
    /// The device under test.
    pub tested: String,
    /// Batches compared, each after another CPU step.
    pub rounds: u32,
    /// Loss of the last round on the reference device.
    pub loss: f64,
    /// Largest relative difference of the loss.
    pub loss_difference: f64,
    /// Logits and values of the network.
    pub outputs: Vec<TensorComparison>,
    /// One comparison per parameter.
    pub gradients: Vec<TensorComparison>,
    /// Largest relative difference of a gradient between two implementations on the CPU.
    pub cpu_difference: f64,
    /// The series of steps.
    pub run: RunComparison,
}

/// A series of optimiser steps that each device took on its own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunComparison {
    /// Number of steps.
    pub steps: u32,
    /// Largest relative difference of the loss.
    pub loss_difference: f64,
    /// Cosine between the total updates of the trained weights.
    pub cosine: f64,
}

impl RunComparison {
    fn agrees(&self) -> bool {
        self.steps == 0
            || self.loss_difference <= RUN_LOSS_TOLERANCE && self.cosine >= RUN_COSINE_TOLERANCE
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ParityError {
    /// The network is out of range.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A device failed.
    #[error(transparent)]
    Train(#[from] TrainError),
}

impl ParityReport {
    /// Whether every difference is within tolerance. Without a round nothing was compared, so nothing
    /// agrees.
    pub fn agrees(&self) -> bool {
        self.rounds > 0
            && self.loss_difference <= LOSS_TOLERANCE
            && self.outputs.iter().chain(&self.gradients).all(TensorComparison::agrees)
            && self.run.agrees()
    }
}

impl TensorComparison {
    /// Largest difference, relative to the largest element.
    pub fn relative(&self) -> f64 {
        self.difference / self.largest
    }

    fn agrees(&self) -> bool {
        self.cosine >= COSINE_TOLERANCE && self.relative() <= ELEMENT_TOLERANCE
    }
}

impl fmt::Display for ParityReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "reference  {}\ntested     {}", self.reference, self.tested)?;
        writeln!(
            f,
            "loss       {:.6}, relative difference {:.1e} over {} rounds",
            self.loss, self.loss_difference, self.rounds
        )?;
        let RunComparison { steps, loss_difference, cosine } = self.run;
        let mark = if self.run.agrees() { "" } else { "  DISAGREES" };
        writeln!(
            f,
            "run        {steps} steps, loss within {loss_difference:.1e}, cosine {cosine:.9}{mark}"
        )?;
        writeln!(
            f,
            "CPU        gradients of two implementations differ by {:.1e} of the largest element\n",
            self.cpu_difference
        )?;
        for (title, tensors) in [("output", &self.outputs), ("gradient", &self.gradients)] {
            writeln!(f, "{title:<24} {:>12} {:>12} {:>12}", "cosine", "difference", "largest")?;
            for TensorComparison { name, cosine, difference, largest } in tensors {
                writeln!(f, "{name:<24} {cosine:>12.9} {difference:>12.1e} {largest:>12.1e}")?;
            }
        }
        for wrong in self.outputs.iter().chain(&self.gradients).filter(|one| !one.agrees()) {
            writeln!(f, "{} DISAGREES", wrong.name)?;
        }
        write!(f, "{}", if self.agrees() { "devices agree" } else { "devices DISAGREE" })
    }
}

/// Length and seed of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ParitySettings {
    /// Batches whose gradients are compared, each after another CPU step.
    pub rounds: u32,
    /// Steps in the series.
    pub steps: u32,
    /// Seed of weights and batches.
    pub seed: u64,
}

/// Compares `tested` with the CPU. `batch` makes a batch from a generator.
pub fn compare_devices<A: Algorithm + Clone>(
    algorithm: &A,
    spec: &NetSpec,
    train: &TrainConfig,
    batch: impl Fn(&mut Rng) -> A::Batch,
    settings: ParitySettings,
    tested: &TrainDevice,
) -> Result<ParityReport, ParityError> {
    let cpu = TrainDevice::cpu();
    let ParitySettings { rounds, steps, seed } = settings;
    let start = Weights::initialize(spec.clone(), WeightsMeta::default(), seed)?;
    // Each round starts the tested device with the weights in training, not with their average.
    let average = WeightAveraging::None {};
    let config = TrainConfig { report_every: 1, average, ..train.clone() };
    let trainer = |weights: &Weights, device: &TrainDevice| {
        Trainer::new(algorithm.clone(), config.clone(), weights, None, device.clone())
    };
    let batch = |index: u32| batch(&mut Rng::indexed(seed, "parity", index.into()));
    let mut report = ParityReport {
        reference: cpu.name().to_owned(),
        tested: tested.name().to_owned(),
        rounds,
        run: RunComparison { steps, ..RunComparison::default() },
        ..ParityReport::default()
    };
    let mut reference = trainer(&start, &cpu)?;
    let mut weights = start.clone();
    let names: Vec<String> =
        ParameterLayout::new(spec).trained().map(|(tensor, _)| tensor.name.clone()).collect();
    for round in 0..rounds {
        let batch = batch(round);
        let mut other = trainer(&weights, tested)?;
        let (one, two) = (reference.gradient(&batch)?, other.gradient(&batch)?);
        report.loss = one.loss.total;
        let difference = relative(&one.loss, &two.loss);
        if is_worse(difference, report.loss_difference) {
            report.loss_difference = difference;
        }
        let alone = trainer(&weights, &cpu)?.by_burn_alone().gradient(&batch)?;
        let compare_all = |two: &[Vec<f32>]| -> Vec<TensorComparison> {
            let tensors = names.iter().zip(one.tensors.iter().zip(two));
            tensors.map(|(name, (one, two))| compare(name, one, two)).collect()
        };
        let differences = compare_all(&alone.tensors);
        for difference in differences.iter().map(TensorComparison::relative) {
            if is_worse(difference, report.cpu_difference) {
                report.cpu_difference = difference;
            }
        }
        keep_worst(&mut report.gradients, compare_all(&two.tensors));
        let (one, two) = (reference.outputs(&batch)?, other.outputs(&batch)?);
        let outputs = [("logits", &one.0, &two.0), ("values", &one.1, &two.1)];
        keep_worst(
            &mut report.outputs,
            outputs.map(|(name, one, two)| compare(name, one, two)).into(),
        );
        reference.step(&batch)?;
        weights = reference.weights(Generation(0))?;
    }
    let (mut one, mut two) = (trainer(&start, &cpu)?, trainer(&start, tested)?);
    for step in 0..steps {
        let batch = batch(step);
        if let (Some(one), Some(two)) = (one.step(&batch)?, two.step(&batch)?) {
            let difference = relative(&one.loss, &two.loss);
            if is_worse(difference, report.run.loss_difference) {
                report.run.loss_difference = difference;
            }
        }
    }
    let updates = [one.weights(Generation(0))?, two.weights(Generation(0))?]
        .map(|end| trained_update(&start, &end));
    report.run.cosine = compare("all", &updates[0], &updates[1]).cosine;
    Ok(report)
}

/// The change of all trained weights. Running statistics are left out: they move much further, and
/// do so whatever the optimiser does.
fn trained_update(start: &Weights, end: &Weights) -> Vec<f32> {
    let layout = ParameterLayout::new(start.spec());
    let [[_, start], [_, end]] = [start, end].map(|weights| layout.gather(weights.tensors()));
    end.iter().zip(&start).map(|(end, start)| end - start).collect()
}

/// Difference of two losses, relative to the terms of the first loss. The total is no reference,
/// because the loss of a policy gradient crosses 0 during training.
fn relative(one: &LossTerms, two: &LossTerms) -> f64 {
    (one.total - two.total).abs() / (one.policy.abs() + one.value.abs()).max(1e-6)
}

/// Whether a difference is worse than the worst so far. NaN is worse than every number.
fn is_worse(difference: f64, worst: f64) -> bool {
    !worst.is_nan() && (difference.is_nan() || difference > worst)
}

/// Replaces what is worse in `round`.
fn keep_worst(worst: &mut Vec<TensorComparison>, round: Vec<TensorComparison>) {
    if worst.is_empty() {
        *worst = round;
        return;
    }
    for (worst, one) in worst.iter_mut().zip(round) {
        if is_worse(-one.cosine, -worst.cosine) {
            worst.cosine = one.cosine;
        }
        if is_worse(one.relative(), worst.relative()) {
            (worst.difference, worst.largest) = (one.difference, one.largest);
        }
    }
}

fn compare(name: &str, one: &[f32], two: &[f32]) -> TensorComparison {
    let (mut dot, mut first, mut second) = (0.0, 0.0, 0.0);
    let (mut difference, mut largest) = (0.0_f64, f64::MIN_POSITIVE);
    for (&one, &two) in one.iter().zip(two) {
        let (one, two) = (f64::from(one), f64::from(two));
        dot += one * two;
        first += one * one;
        second += two * two;
        if is_worse((one - two).abs(), difference) {
            difference = (one - two).abs();
        }
        largest = largest.max(one.abs());
    }
    let cosine = if first == 0.0 && second == 0.0 { 1.0 } else { dot / (first * second).sqrt() };
    TensorComparison { name: name.to_owned(), cosine, difference, largest }
}

/// Random segments without a game: planes, legal actions, choices, rewards and lengths. About every
/// second segment is truncated, that is, ends with a state of weight 0.
pub fn random_segments(spec: &NetSpec, rows: usize, rng: &mut Rng) -> Segments {
    let shape = RowShape::of(spec);
    let mut segments = Segments::with_capacity(shape, rows);
    for row in 0..rows {
        random_planes(shape, rng, &mut segments.planes);
        segments.actions.push(random_legal(shape, rng, &mut segments.legal));
        segments.behaviour.push((0.05 + 0.95 * rng.unit()) as f32);
        segments.rewards.push((2.0 * rng.unit() - 1.0) as f32);
        let begins = row == 0 || segments.ends[row - 1];
        let is_end = row + 1 == rows || rng.below(6) == 0;
        // A segment has at least one move. About half of the others end with a state.
        let is_state = is_end && !begins && rng.below(2) == 0;
        segments.weights.push(if is_state { 0.0 } else { 1.0 });
        segments.discounts.push(if is_end { 0.0 } else { 0.9 });
        segments.ends.push(is_end);
    }
    segments
}

/// Random positions without a game, with random targets. One policy target in four is missing.
pub fn random_positions(spec: &NetSpec, rows: usize, rng: &mut Rng) -> Positions {
    let shape = RowShape::of(spec);
    let mut positions = Positions::with_capacity(shape, rows);
    for _ in 0..rows {
        random_planes(shape, rng, &mut positions.planes);
        for _ in 0..shape.policies {
            random_legal(shape, rng, &mut positions.legal);
            let legal = &positions.legal[positions.legal.len() - shape.actions..];
            let has_target = rng.below(4) > 0;
            let target: Vec<f64> = legal
                .iter()
                .map(|&legal| if legal && has_target { rng.unit() + 1e-3 } else { 0.0 })
                .collect();
            let sum = target.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            positions.policy.extend(target.iter().map(|value| (value / sum) as f32));
        }
        for column in [&mut positions.outcomes, &mut positions.root_values] {
            column.push((2.0 * rng.unit() - 1.0) as f32);
        }
        positions.weights.push((0.5 + rng.unit()) as f32);
    }
    positions
}

/// Appends random planes.
fn random_planes(shape: RowShape, rng: &mut Rng, planes: &mut Vec<f32>) {
    planes.extend((0..shape.planes).map(|_| if rng.below(4) == 0 { 1.0 } else { 0.0 }));
}

/// Appends random legal actions of one player; returns one of them.
fn random_legal(shape: RowShape, rng: &mut Rng, legal: &mut Vec<bool>) -> u32 {
    let action = rng.below(shape.actions as u32);
    legal.extend((0..shape.actions).map(|other| other == action as usize || rng.below(4) > 0));
    action
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alphazero::AlphaZero;
    use crate::config::AlphaZeroConfig;
    use crate::model::is_trained;
    use crate::testing::tower;

    #[test]
    fn a_nan_gradient_disagrees() {
        let gradient = [0.1, -0.2, 0.3];
        assert!(compare("same", &gradient, &gradient).agrees());
        assert!(!compare("broken", &gradient, &[0.1, f32::NAN, 0.3]).agrees());
        assert!(!compare("turned", &gradient, &[0.1, 0.2, 0.3]).agrees());
        assert!(is_worse(f64::NAN, 1.0) && !is_worse(1.0, f64::NAN));
    }

    #[test]
    fn a_round_that_disagrees_in_either_way_is_kept() {
        let agreeing = compare("one", &[1.0; 4], &[1.0009, 1.0, 1.0, 1.0]);
        // Many small elements differ, each by less than the largest difference above.
        let small = |error: f32| -> Vec<f32> {
            let signs = [1.0, -1.0].into_iter().cycle().take(10_000);
            std::iter::once(1.0).chain(signs.map(|sign| 0.004 + sign * error)).collect()
        };
        let turned = compare("one", &small(0.0), &small(8e-4));
        assert!(agreeing.agrees() && !turned.agrees());
        for [first, second] in [[&agreeing, &turned], [&turned, &agreeing]] {
            let mut worst = vec![first.clone()];
            keep_worst(&mut worst, vec![second.clone()]);
            assert!(!worst[0].agrees(), "{worst:?}");
            assert_eq!(worst[0].relative(), agreeing.relative());
        }
    }

    #[test]
    fn updates_of_running_statistics_do_not_hide_those_of_trained_weights() {
        let start = Weights::initialize(tower(), WeightsMeta::default(), 1).expect("in range");
        let moved = |trained: f32| {
            let kinds = start.spec().tensors();
            let all = kinds.iter().zip(start.tensors());
            let tensors = all.map(|(tensor, values)| {
                let by = if is_trained(tensor.role) { trained } else { 0.3 };
                values.iter().map(|value| value + by).collect()
            });
            let meta = WeightsMeta::default();
            Weights::from_tensors(start.spec().clone(), meta, tensors.collect()).expect("finite")
        };
        let [up, down] = [1e-4, -1e-4].map(|by| trained_update(&start, &moved(by)));
        assert!(compare("all", &up, &down).cosine < -0.9);
    }

    #[test]
    fn a_report_without_a_round_does_not_agree() {
        let report = |rounds| ParityReport {
            reference: "cpu".to_owned(),
            tested: "gpu".to_owned(),
            rounds,
            ..ParityReport::default()
        };
        assert!(report(1).agrees() && !report(0).agrees());
        assert!(report(0).to_string().ends_with("devices DISAGREE"));
    }

    /// Before, the tested device computed a later round at the average of the weights.
    #[test]
    fn a_device_agrees_with_itself_although_the_run_averages_its_weights() {
        let train = TrainConfig {
            learning_rate: 0.01,
            warmup_steps: 0,
            average: WeightAveraging::Exponential { every_steps: 10, half_life_steps: 300 },
            ..TrainConfig::default()
        };
        let (algorithm, spec) = (AlphaZero::from(&AlphaZeroConfig::default()), tower());
        let batch = |rng: &mut Rng| random_positions(&spec, 16, rng);
        let settings = ParitySettings { rounds: 2, steps: 3, seed: 7 };
        let tested = TrainDevice::cpu();
        let report = compare_devices(&algorithm, &spec, &train, batch, settings, &tested);
        let report = report.expect("the CPU computes");
        assert!(report.agrees(), "{report}");
    }
}
