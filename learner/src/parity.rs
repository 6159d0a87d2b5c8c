//! Does a GPU compute what the CPU does?
//!
//! GPU stacks have shipped silently wrong kernels. A [`Report`] compares burn-flex and another
//! device twice, on the same weights and batches: loss and every parameter's gradient, at weights
//! that both are given, and then a whole run of optimiser steps that each takes by itself.

use std::fmt;

use ouro_game::Rng;
use ouro_net::{Generation, NetSpec, SpecError, Weights, WeightsMeta};

use crate::algorithm::Algorithm;
use crate::alphazero::Positions;
use crate::config::TrainConfig;
use crate::device::TrainDevice;
use crate::loss::LossParts;
use crate::reinforce::Segments;
use crate::rules::RowShape;
use crate::trainer::{TrainError, Trainer};

/// Largest relative difference of the loss.
pub const LOSS_TOLERANCE: f64 = 1e-4;

/// Smallest cosine between the two gradients of a parameter.
pub const COSINE_TOLERANCE: f64 = 0.9999;

/// Largest difference of a gradient's elements, relative to its largest element.
pub const ELEMENT_TOLERANCE: f64 = 1e-3;

/// Largest relative difference of the loss during a run, where rounding grows from step to step.
pub const RUN_LOSS_TOLERANCE: f64 = 1e-2;

/// Smallest cosine between the ways that all weights together went in a run.
pub const RUN_COSINE_TOLERANCE: f64 = 0.999;

/// One parameter's gradient on both devices; the worst over all rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The tensor.
    pub name: String,
    /// Cosine between the two gradients.
    pub cosine: f64,
    /// Largest absolute difference of an element.
    pub difference: f64,
    /// Largest absolute element on the CPU.
    pub largest: f64,
}

/// The comparison. Prints as a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
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
    /// One row per parameter.
    pub rows: Vec<Row>,
    /// The run of both devices.
    pub run: Run,
}

/// Steps that each device took by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Run {
    /// How many.
    pub steps: u32,
    /// Largest relative difference of the loss.
    pub loss_difference: f64,
    /// Cosine between the ways that the weights went.
    pub cosine: f64,
}

impl Run {
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

impl Report {
    /// Whether every difference is within tolerance.
    pub fn agrees(&self) -> bool {
        self.loss_difference <= LOSS_TOLERANCE
            && self.rows.iter().all(Row::agrees)
            && self.run.agrees()
    }
}

impl Row {
    fn relative(&self) -> f64 {
        self.difference / self.largest
    }

    fn agrees(&self) -> bool {
        self.cosine >= COSINE_TOLERANCE && self.relative() <= ELEMENT_TOLERANCE
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "reference  {}\ntested     {}", self.reference, self.tested)?;
        writeln!(
            f,
            "loss       {:.6}, relative difference {:.1e} over {} rounds",
            self.loss, self.loss_difference, self.rounds
        )?;
        let Run { steps, loss_difference, cosine } = self.run;
        let mark = if self.run.agrees() { "" } else { "  DISAGREES" };
        writeln!(
            f,
            "run        {steps} steps, loss within {loss_difference:.1e}, cosine {cosine:.9}{mark}\n"
        )?;
        writeln!(f, "{:<24} {:>12} {:>12} {:>12}", "gradient", "cosine", "difference", "largest")?;
        for row in &self.rows {
            let mark = if row.agrees() { "" } else { "  DISAGREES" };
            writeln!(
                f,
                "{:<24} {:>12.9} {:>12.1e} {:>12.1e}{mark}",
                row.name, row.cosine, row.difference, row.largest
            )?;
        }
        write!(f, "{}", if self.agrees() { "devices agree" } else { "devices DISAGREE" })
    }
}

/// How much is compared.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Batches whose gradients are compared, each after another CPU step.
    pub rounds: u32,
    /// Steps of the run.
    pub steps: u32,
    /// Fixes weights and batches.
    pub seed: u64,
}

/// Compares `tested` with the CPU on batches that `batch` makes of generators.
pub fn compare<A: Algorithm + Clone>(
    algorithm: &A,
    spec: &NetSpec,
    train: &TrainConfig,
    batch: impl Fn(&mut Rng) -> A::Batch,
    extent: Extent,
    tested: &TrainDevice,
) -> Result<Report, ParityError> {
    let cpu = TrainDevice::cpu();
    let Extent { rounds, steps, seed } = extent;
    let start = Weights::initialize(spec.clone(), WeightsMeta::default(), seed)?;
    let config = TrainConfig { report_every: 1, ..train.clone() };
    let trainer = |weights: &Weights, device: &TrainDevice| {
        Trainer::new(algorithm.clone(), config.clone(), weights, None, device.clone())
    };
    let batch = |index: u32| batch(&mut Rng::indexed(seed, "parity", index.into()));
    let mut report = Report {
        reference: cpu.name().to_owned(),
        tested: tested.name().to_owned(),
        rounds,
        loss: 0.0,
        loss_difference: 0.0,
        rows: Vec::new(),
        run: Run { steps, loss_difference: 0.0, cosine: 0.0 },
    };
    let mut reference = trainer(&start, &cpu)?;
    let mut weights = start.clone();
    let names: Vec<String> =
        crate::model::Layout::new(spec).trained().map(|(tensor, _)| tensor.name.clone()).collect();
    for round in 0..rounds {
        let batch = batch(round);
        let mut other = trainer(&weights, tested)?;
        let (one, two) = (reference.gradient(&batch)?, other.gradient(&batch)?);
        report.loss = one.loss.total;
        let difference = relative(&one.loss, &two.loss);
        if is_worse(difference, report.loss_difference) {
            report.loss_difference = difference;
        }
        for (index, (one, two)) in one.tensors.iter().zip(&two.tensors).enumerate() {
            let row = row(names[index].clone(), one, two);
            match report.rows.get_mut(index) {
                Some(worst) if is_worse(row.relative(), worst.relative()) => {
                    *worst = row;
                }
                Some(_) => {}
                None => report.rows.push(row),
            }
        }
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
    let way = |end: Weights| -> Vec<f32> {
        let pairs = end.tensors().iter().flatten().zip(start.tensors().iter().flatten());
        pairs.map(|(end, start)| end - start).collect()
    };
    report.run.cosine =
        row("all".into(), &way(one.weights(Generation(0))?), &way(two.weights(Generation(0))?))
            .cosine;
    Ok(report)
}

/// Difference of two losses, relative to the size of the first one's parts: a policy gradient's
/// loss crosses 0 on its way.
fn relative(one: &LossParts, two: &LossParts) -> f64 {
    (one.total - two.total).abs() / (one.policy.abs() + one.value.abs()).max(1e-6)
}

/// Whether a difference is worse than the worst so far. NaN is worse than anything.
fn is_worse(difference: f64, worst: f64) -> bool {
    !worst.is_nan() && (difference.is_nan() || difference > worst)
}

fn row(name: String, one: &[f32], two: &[f32]) -> Row {
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
    Row { name, cosine, difference, largest }
}

/// Segments that no game made: random planes, legal actions, choices and rewards, and segments of
/// random lengths, one of which in two goes on after its last move.
pub fn random_segments(spec: &NetSpec, rows: usize, rng: &mut Rng) -> Segments {
    let shape = RowShape { planes: spec.planes.len(), actions: spec.actions };
    let mut segments = Segments::with_capacity(shape, rows);
    for row in 0..rows {
        let action = random_position(shape, rng, &mut segments.planes, &mut segments.legal);
        segments.actions.push(action);
        segments.behaviour.push((0.05 + 0.95 * rng.unit()) as f32);
        segments.rewards.push((2.0 * rng.unit() - 1.0) as f32);
        let begins = row == 0 || segments.ends[row - 1];
        let is_end = row + 1 == rows || rng.below(6) == 0;
        // A segment is not a state alone, and every second one ends with the game.
        let is_state = is_end && !begins && rng.below(2) == 0;
        segments.weights.push(if is_state { 0.0 } else { 1.0 });
        segments.discounts.push(if is_end { 0.0 } else { 0.9 });
        segments.ends.push(is_end);
    }
    segments
}

/// Positions that no game made, with random targets; one in four has none for its policy.
pub fn random_positions(spec: &NetSpec, rows: usize, rng: &mut Rng) -> Positions {
    let shape = RowShape { planes: spec.planes.len(), actions: spec.actions };
    let mut positions = Positions::with_capacity(shape, rows);
    for _ in 0..rows {
        random_position(shape, rng, &mut positions.planes, &mut positions.legal);
        let legal = &positions.legal[positions.legal.len() - shape.actions..];
        let has_target = rng.below(4) > 0;
        let target: Vec<f64> = legal
            .iter()
            .map(|&legal| if legal && has_target { rng.unit() + 1e-3 } else { 0.0 })
            .collect();
        let sum = target.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        positions.policy.extend(target.iter().map(|value| (value / sum) as f32));
        positions.values.push((2.0 * rng.unit() - 1.0) as f32);
        positions.weights.push((0.5 + rng.unit()) as f32);
    }
    positions
}

/// Random planes and legal actions, appended; an action that is legal.
fn random_position(
    shape: RowShape,
    rng: &mut Rng,
    planes: &mut Vec<f32>,
    legal: &mut Vec<bool>,
) -> u32 {
    planes.extend((0..shape.planes).map(|_| if rng.below(4) == 0 { 1.0 } else { 0.0 }));
    let action = rng.below(shape.actions as u32);
    legal.extend((0..shape.actions).map(|other| other == action as usize || rng.below(4) > 0));
    action
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gradient_that_is_not_a_number_disagrees() {
        let gradient = [0.1, -0.2, 0.3];
        assert!(row("same".into(), &gradient, &gradient).agrees());
        assert!(!row("broken".into(), &gradient, &[0.1, f32::NAN, 0.3]).agrees());
        assert!(!row("turned".into(), &gradient, &[0.1, 0.2, 0.3]).agrees());
        assert!(is_worse(f64::NAN, 1.0) && !is_worse(1.0, f64::NAN));
    }
}
