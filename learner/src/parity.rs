//! Does a GPU compute the same gradient as the CPU?
//!
//! GPU stacks have shipped silently wrong kernels. A [`Report`] compares loss and every
//! parameter's gradient between burn-flex and wgpu on the same weights and batches, and says
//! whether the differences are those of rounding.

use std::fmt;

use ouro_game::Stream;
use ouro_net::{NetSpec, SpecError, Weights, WeightsMeta};

use crate::config::TrainConfig;
use crate::device::TrainDevice;
use crate::optimizer::Moments;
use crate::samples::{RowShape, Samples};
use crate::trainer::{TrainError, Trainer};

/// Largest relative difference of the loss.
pub const LOSS_TOLERANCE: f64 = 1e-4;

/// Smallest cosine between the two gradients of a parameter.
pub const COSINE_TOLERANCE: f64 = 0.9999;

/// Largest difference of a gradient's elements, relative to its largest element.
pub const ELEMENT_TOLERANCE: f64 = 1e-3;

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
        self.loss_difference <= LOSS_TOLERANCE && self.rows.iter().all(Row::agrees)
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
            "loss       {:.6}, relative difference {:.1e} over {} rounds\n",
            self.loss, self.loss_difference, self.rounds
        )?;
        writeln!(f, "{:<16} {:>12} {:>12} {:>12}", "gradient", "cosine", "difference", "largest")?;
        for row in &self.rows {
            let mark = if row.agrees() { "" } else { "  DISAGREES" };
            writeln!(
                f,
                "{:<16} {:>12.9} {:>12.1e} {:>12.1e}{mark}",
                row.name, row.cosine, row.difference, row.largest
            )?;
        }
        write!(f, "{}", if self.agrees() { "devices agree" } else { "devices DISAGREE" })
    }
}

/// Compares `tested` with the CPU over `rounds` random batches of `rows` moves.
pub fn compare(
    spec: &NetSpec,
    train: &TrainConfig,
    rows: usize,
    rounds: u32,
    seed: u64,
    tested: &TrainDevice,
) -> Result<Report, ParityError> {
    let cpu = TrainDevice::cpu();
    let meta = WeightsMeta::default();
    let mut weights = Weights::initialize(spec.clone(), meta, seed)?;
    let mut reference = Trainer::new(train.clone(), &weights, &Moments::default(), cpu.clone());
    let mut report = Report {
        reference: cpu.name().to_owned(),
        tested: tested.name().to_owned(),
        rounds,
        loss: 0.0,
        loss_difference: 0.0,
        rows: Vec::new(),
    };
    for round in 0..rounds {
        let batch = random_batch(spec, rows, &mut Stream::indexed(seed, "parity", round.into()));
        let other = Trainer::new(train.clone(), &weights, &Moments::default(), tested.clone());
        let (one, two) = (reference.gradient(&batch)?, other.gradient(&batch)?);
        report.loss = one.loss.total;
        let difference = (one.loss.total - two.loss.total).abs() / one.loss.total.abs().max(1e-6);
        if is_worse(difference, report.loss_difference) {
            report.loss_difference = difference;
        }
        let tensors = spec.tensors();
        for (index, (one, two)) in one.tensors.iter().zip(&two.tensors).enumerate() {
            let row = row(tensors[index].name.clone(), one, two);
            match report.rows.get_mut(index) {
                Some(worst) if is_worse(row.relative(), worst.relative()) => {
                    *worst = row;
                }
                Some(_) => {}
                None => report.rows.push(row),
            }
        }
        reference.step(&batch)?;
        weights = reference.weights(0)?;
    }
    Ok(report)
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

/// Moves that no game made: random planes, legal actions, choices and returns.
pub fn random_batch(spec: &NetSpec, rows: usize, stream: &mut Stream) -> Samples {
    let shape = RowShape { planes: spec.planes.len(), actions: spec.actions };
    let mut samples = Samples::with_capacity(shape, rows);
    for _ in 0..rows {
        let planes = (0..shape.planes).map(|_| if stream.below(4) == 0 { 1.0 } else { 0.0 });
        samples.planes.extend(planes);
        let action = stream.below(shape.actions as u32);
        let legal = (0..shape.actions).map(|other| other == action as usize || stream.below(4) > 0);
        samples.legal.extend(legal);
        samples.actions.push(action);
        samples.behaviour.push((0.05 + 0.95 * stream.unit()) as f32);
        samples.returns.push((2.0 * stream.unit() - 1.0) as f32);
    }
    samples
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
