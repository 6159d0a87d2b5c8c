//! How long the engine takes: networks, batches and the loop that is timed; and how exact it
//! is.
//!
//! Time comes from the caller as a function from nothing to the time since some fixed moment,
//! so that this crate reads no clock. A [`Bench`] holds all that a call needs; only
//! [`Engine::evaluate`] runs between two readings.

mod accuracy;

pub use accuracy::{Accuracy, accuracy, duel_positions};

use std::time::Duration;

use ouro_game::{PlaneShape, Rng};

use crate::{
    Architecture, Engine, NetSpec, Scratch, SpecError, TensorRole, ValueRange, Weights, WeightsMeta,
};

/// Batch sizes that figures are given for.
pub const BATCHES: [usize; 4] = [1, 8, 32, 128];

/// A network that figures are given for.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name: a preset's, or what it is.
    pub name: &'static str,
    /// Its shapes.
    pub spec: NetSpec,
}

/// The presets on the boards they are meant for, and the Snake paper's board under a tower of
/// 10 channels, a width that fits no vector.
pub fn cases() -> Vec<Case> {
    let snake = PlaneShape { channels: 7, height: 10, width: 10 };
    let battlesnake = PlaneShape { channels: 12, height: 11, width: 11 };
    let preset = |name: &str| name.parse().expect("it is one of the presets");
    let narrow = Architecture::Residual {
        channels: 10,
        blocks: 1,
        policy_channels: 2,
        value_channels: 1,
        value_hidden: 32,
        value: ValueRange::Unbounded,
        global_pooling: None,
    };
    let pooled = Architecture::Residual {
        channels: 32,
        blocks: 4,
        policy_channels: 4,
        value_channels: 2,
        value_hidden: 64,
        value: ValueRange::Tanh,
        global_pooling: Some(crate::GlobalPooling { channels: 8, every: 2 }),
    };
    let case = |name, planes, architecture| {
        let spec = NetSpec { planes, actions: 4, architecture };
        Case { name, spec }
    };
    vec![
        case("tiny", snake, preset("tiny")),
        case("small", battlesnake, preset("small")),
        case("medium", battlesnake, preset("medium")),
        case("snake_paper", snake, preset("snake_paper")),
        case("tower_10x1", snake, narrow),
        case("small_pooled", battlesnake, pooled),
    ]
}

/// Weights with every tensor random, batch norm's statistics included, so that outputs depend
/// on all of them; activations stay about as large as the input.
pub fn random_weights(spec: &NetSpec, seed: u64) -> Result<Weights, SpecError> {
    spec.validate()?;
    let list = spec.tensors();
    let value = |tensor: &crate::TensorSpec, rng: &mut Rng| {
        let spread = 2.0 * rng.unit() - 1.0;
        let fan_in = tensor.shape[1..].iter().product::<usize>() as f64;
        match tensor.role {
            TensorRole::Bias | TensorRole::RunningMean => 0.1 * spread,
            // Half the sum of a residual block comes from either side.
            TensorRole::Scale => 0.7 + 0.2 * spread,
            TensorRole::RunningVariance => 1.0 + 0.5 * spread,
            // Uniform numbers of He's deviation.
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

/// Positions of zeros and ones, as games write them: a quarter of the cells set.
pub fn random_planes(spec: &NetSpec, batch: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed, "random planes");
    (0..batch * spec.planes.len()).map(|_| f32::from(u8::from(rng.below(4) == 0))).collect()
}

/// One network with one batch.
#[derive(Debug)]
pub struct Bench {
    engine: Engine,
    scratch: Scratch,
    planes: Vec<f32>,
    logits: Vec<f32>,
    values: Vec<f32>,
}

impl Bench {
    /// An engine for these weights and `batch` random positions.
    pub fn new(weights: &Weights, batch: usize) -> Self {
        let spec = weights.spec();
        Self {
            planes: random_planes(spec, batch, 1),
            logits: vec![0.0; batch * spec.actions],
            values: vec![0.0; batch],
            engine: Engine::new(weights),
            scratch: Scratch::new(),
        }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Evaluates the batch; returns planes, logits and values.
    pub fn evaluate(&mut self) -> (&[f32], &[f32], &[f32]) {
        let Self { engine, scratch, planes, logits, values } = self;
        engine.evaluate(scratch, planes, logits, values);
        (planes, logits, values)
    }

    /// Time of `calls` evaluations in sequence.
    pub fn time(&mut self, calls: usize, now: &mut dyn FnMut() -> Duration) -> Duration {
        let start = now();
        for _ in 0..calls {
            std::hint::black_box(self.evaluate());
        }
        now().saturating_sub(start)
    }

    /// Calls that take at least `least` together; warms up on the way.
    pub fn calls_for(&mut self, least: Duration, now: &mut dyn FnMut() -> Duration) -> usize {
        let mut calls = 1;
        while self.time(calls, now) < least && calls < 1 << 24 {
            calls *= 2;
        }
        calls
    }

    /// Microseconds per position: the median of `rounds` rounds of at least `least` each.
    pub fn microseconds(
        &mut self,
        rounds: usize,
        least: Duration,
        now: &mut dyn FnMut() -> Duration,
    ) -> f64 {
        let calls = self.calls_for(least, now);
        let mut times: Vec<Duration> = (0..rounds.max(1)).map(|_| self.time(calls, now)).collect();
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e6 / (calls * self.values.len().max(1)) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_median_round_per_call_and_position() {
        let spec = NetSpec {
            planes: PlaneShape { channels: 1, height: 2, width: 2 },
            actions: 2,
            architecture: "tiny".parse().unwrap(),
        };
        let mut bench = Bench::new(&random_weights(&spec, 1).unwrap(), 4);
        // A clock on which every interval takes a millisecond more than the last.
        let (mut time, mut step) = (Duration::ZERO, Duration::ZERO);
        let mut reading = 0;
        let mut now = || {
            if reading % 2 == 1 {
                step += Duration::from_millis(1);
                time += step;
            }
            reading += 1;
            time
        };
        // Rounds of 1, 2, 3, 4 ms find 8 calls; then 5, 6 and 7 ms.
        let figure = bench.microseconds(3, Duration::from_millis(4), &mut now);
        assert!((figure - 6_000.0 / (8.0 * 4.0)).abs() < 1e-9, "{figure}");
    }

    #[test]
    fn every_case_has_a_valid_spec_and_finite_outputs() {
        for case in cases() {
            let mut bench = Bench::new(&random_weights(&case.spec, 1).unwrap(), 2);
            let (_, logits, values) = bench.evaluate();
            assert!(logits.iter().chain(values).all(|x| x.abs() < 100.0), "{}", case.name);
        }
    }
}
