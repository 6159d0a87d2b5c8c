//! Times the CPU engine on one network and batch.
//!
//! An [`EngineBench`] holds all buffers of a call. Only [`Engine::evaluate`] therefore runs between
//! two clock readings. The clock is a function that returns the time since a fixed moment.

use std::time::Duration;

use ouro_net::synthetic::random_planes;
use ouro_net::{Engine, Scratch, Weights};

/// An engine with a batch of random positions.
#[derive(Debug)]
pub struct EngineBench {
    engine: Engine,
    scratch: Scratch,
    planes: Vec<f32>,
    logits: Vec<f32>,
    values: Vec<f32>,
}

impl EngineBench {
    /// Creates an engine for `weights` and `batch` random positions.
    pub fn new(weights: &Weights, batch: usize) -> Self {
        let spec = weights.spec();
        Self {
            planes: random_planes(spec, batch, 1),
            logits: vec![0.0; batch * spec.logits()],
            values: vec![0.0; batch * spec.value_width()],
            engine: Engine::new(weights),
            scratch: Scratch::new(),
        }
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Evaluates the batch and returns planes, logits and values.
    pub fn evaluate(&mut self) -> (&[f32], &[f32], &[f32]) {
        let Self { engine, scratch, planes, logits, values } = self;
        engine.evaluate(scratch, planes, logits, values);
        (planes, logits, values)
    }

    /// Positions of a batch.
    fn batch(&self) -> usize {
        self.values.len() / self.engine.spec().value_width()
    }

    /// Measures the time of `calls` consecutive evaluations.
    pub fn time(&mut self, calls: usize, now: &mut dyn FnMut() -> Duration) -> Duration {
        let start = now();
        for _ in 0..calls {
            std::hint::black_box(self.evaluate());
        }
        now().saturating_sub(start)
    }

    /// Finds a number of calls that takes at least `least` in total, by doubling up to 2^24. The
    /// calls of the search also warm up the engine.
    pub fn calls_for(&mut self, least: Duration, now: &mut dyn FnMut() -> Duration) -> usize {
        let mut calls = 1;
        while self.time(calls, now) < least && calls < 1 << 24 {
            calls *= 2;
        }
        calls
    }

    /// Measures microseconds per position: the median of `rounds` rounds of about `least` or more. The
    /// median of an even number of rounds is the mean of the two in the middle.
    pub fn microseconds(
        &mut self,
        rounds: usize,
        least: Duration,
        now: &mut dyn FnMut() -> Duration,
    ) -> f64 {
        let calls = self.calls_for(least, now);
        let mut times: Vec<Duration> = (0..rounds.max(1)).map(|_| self.time(calls, now)).collect();
        times.sort_unstable();
        let middle = [(times.len() - 1) / 2, times.len() / 2];
        let [low, high] = middle.map(|index| times[index].as_secs_f64());
        f64::midpoint(low, high) * 1e6 / (calls * self.batch().max(1)) as f64
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::PlaneShape;
    use ouro_net::NetSpec;
    use ouro_net::synthetic::random_weights;

    use super::*;
    use crate::network_cases;

    #[test]
    fn a_figure_is_the_median_round_per_call_and_position() {
        let spec = NetSpec {
            planes: PlaneShape { channels: 1, height: 2, width: 2 },
            actions: 2,
            architecture: "tiny".parse().unwrap(),
        };
        let mut bench = EngineBench::new(&random_weights(&spec, 1).unwrap(), 4);
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
        // One call is long enough now, after 8 ms; then 9, 10, 11 and 12 ms.
        let figure = bench.microseconds(4, Duration::from_millis(4), &mut now);
        assert!((figure - 10_500.0 / 4.0).abs() < 1e-9, "{figure}");
    }

    #[test]
    fn every_case_has_a_valid_spec_and_finite_outputs() {
        for case in network_cases() {
            let mut bench = EngineBench::new(&random_weights(&case.spec, 1).unwrap(), 2);
            let (_, logits, values) = bench.evaluate();
            assert!(logits.iter().chain(values).all(|x| x.abs() < 100.0), "{}", case.name);
        }
    }
}
