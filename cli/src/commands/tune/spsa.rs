//! Simultaneous perturbation stochastic approximation (SPSA): finds numbers that maximise the expected
//! result of a noisy comparison (Spall 1998, "Implementation of the simultaneous perturbation
//! algorithm for stochastic optimization").
//!
//! Each iteration moves every value up or down at random, by a distance of its own, and moves none
//! the other way. The two mirrored points are compared, and all values take a step towards the better
//! one. An iteration needs one comparison, however many values there are.
//!
//! [`Tuner`] is a state machine: [`trial`](Tuner::trial) returns the two points, and
//! [`learn`](Tuner::learn) takes the result. Contract: the path depends on the settings and the
//! results alone, bit for bit. Values stay within their bounds.

use ouro_game::Rng;

/// Exponent of the decay of steps. Spall 1998, section III.B.
const STEP_DECAY: f64 = 0.602;
/// Exponent of the decay of perturbations. Spall 1998, section III.B.
const PERTURBATION_DECAY: f64 = 0.101;
/// Stability constant `A`, as a share of all iterations. Spall 1998, section III.B.
const STABILITY: f64 = 0.1;
/// Distance of the last perturbation, as a share of the range of the value.
const LAST_PERTURBATION: f64 = 0.05;
/// Fewest steps of a value that is played: in 1, which are four decimals, and between its bounds.
const STEPS: f64 = 1e4;
/// Most steps in 1, so that their number stays finite.
const MOST_STEPS: f64 = 1e300;

/// A value to tune.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parameter {
    /// Name of the option.
    pub(super) name: String,
    /// Least value.
    pub(super) low: f64,
    /// Greatest value, above `low`.
    pub(super) high: f64,
    /// Whether play needs a whole number. The path itself is not rounded.
    pub(super) whole: bool,
}

impl Parameter {
    /// The value that is played for a point of the path: rounded, so that names of players stay short.
    pub(super) fn played(&self, value: f64) -> f64 {
        let scale = if self.whole { 1.0 } else { self.scale() };
        // A bound can have more decimals than the values between the bounds.
        ((value * scale).round() / scale).clamp(self.low, self.high)
    }

    /// Steps in 1 of a value that is played, a power of ten. A narrow range has more of them: variants
    /// that differ in the path would otherwise be rounded to the same player.
    fn scale(&self) -> f64 {
        let mut scale = STEPS;
        while scale * (self.high - self.low) < STEPS && scale < MOST_STEPS {
            scale *= 10.0;
        }
        scale
    }
}

/// Length of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Schedule {
    /// Iterations in all.
    pub(super) iterations: u32,
    /// Size of the last step, in perturbations for a result of 1.
    pub(super) rate: f64,
    /// Determines the perturbations.
    pub(super) seed: u64,
}

/// The two points of an iteration.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    pub(super) plus: Vec<f64>,
    pub(super) minus: Vec<f64>,
}

/// The state of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tuner {
    parameters: Vec<Parameter>,
    schedule: Schedule,
    /// Iterations that are complete.
    done: u32,
    values: Vec<f64>,
}

impl Tuner {
    /// A run from `values`, one for each parameter and within its bounds, of which `done` iterations
    /// are complete.
    pub(super) fn new(
        parameters: Vec<Parameter>,
        schedule: Schedule,
        values: Vec<f64>,
        done: u32,
    ) -> Self {
        Self { parameters, schedule, done, values }
    }

    /// Iterations that are complete.
    pub(super) fn done(&self) -> u32 {
        self.done
    }

    /// Whether all iterations are complete.
    pub(super) fn is_done(&self) -> bool {
        self.done >= self.schedule.iterations
    }

    /// The current point.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// The points of the next iteration.
    pub(super) fn trial(&self) -> Trial {
        let signs = self.signs();
        let point = |side: f64| {
            let moved = self.parameters.iter().zip(&self.values).zip(&signs);
            moved
                .map(|((parameter, value), sign)| {
                    let at = value + side * sign * self.perturbation(parameter);
                    at.clamp(parameter.low, parameter.high)
                })
                .collect()
        };
        Trial { plus: point(1.0), minus: point(-1.0) }
    }

    /// Takes the result of the trial: wins of the first point less those of the second.
    pub(super) fn learn(&mut self, result: f64) {
        let signs = self.signs();
        let last = f64::from(self.schedule.iterations);
        let (stability, now) = (STABILITY * last, f64::from(self.done) + 1.0);
        // `a_k / c_k²` in units of the last one.
        let step = ((stability + last) / (stability + now)).powf(STEP_DECAY);
        let narrower = (now / last).powf(PERTURBATION_DECAY);
        let rate = self.schedule.rate * step * narrower * narrower;
        for ((parameter, value), sign) in self.parameters.iter().zip(&mut self.values).zip(signs) {
            let distance = parameter.perturbation(now, last);
            *value =
                (*value + rate * distance * sign * result).clamp(parameter.low, parameter.high);
        }
        self.done += 1;
    }

    fn perturbation(&self, parameter: &Parameter) -> f64 {
        parameter.perturbation(f64::from(self.done) + 1.0, f64::from(self.schedule.iterations))
    }

    /// The random directions of the next iteration.
    fn signs(&self) -> Vec<f64> {
        let mut rng = Rng::indexed(self.schedule.seed, "spsa", u64::from(self.done));
        self.parameters.iter().map(|_| if rng.below(2) == 0 { -1.0 } else { 1.0 }).collect()
    }
}

impl Parameter {
    /// `c_k` of iteration `now` of `last`.
    fn perturbation(&self, now: f64, last: f64) -> f64 {
        let least = if self.whole { 0.5 } else { 0.0 };
        let end = ((self.high - self.low) * LAST_PERTURBATION).max(least);
        end * (last / now).powf(PERTURBATION_DECAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, low: f64, high: f64) -> Parameter {
        Parameter { name: name.to_owned(), low, high, whole: false }
    }

    /// Plays `games` between two points. A point loses Elo with the square of its distance to the
    /// optimum at (30, 5), 100 at (10, 5) and at (30, 1).
    fn compare(trial: &Trial, games: usize, rng: &mut Rng) -> f64 {
        let elo = |point: &[f64]| {
            let (x, y) = ((point[0] - 30.0) / 20.0, (point[1] - 5.0) / 4.0);
            -100.0 * (x * x + y * y)
        };
        let share = 1.0 / (1.0 + 10_f64.powf((elo(&trial.minus) - elo(&trial.plus)) / 400.0));
        (0..games).map(|_| if rng.unit() < share { 1.0 } else { -1.0 }).sum()
    }

    fn tuned(seed: u64, stop: u32) -> Tuner {
        let parameters = vec![parameter("x", 0.0, 50.0), parameter("y", 0.0, 10.0)];
        let (iterations, games) = (1_000, 4);
        let rate = super::super::default_rate(iterations, games);
        let schedule = Schedule { iterations, rate, seed };
        let mut tuner = Tuner::new(parameters, schedule, vec![5.0, 9.0], 0);
        while tuner.done() < stop {
            let mut rng = Rng::indexed(seed, "games", u64::from(tuner.done()));
            let result = compare(&tuner.trial(), games, &mut rng);
            tuner.learn(result);
        }
        tuner
    }

    #[test]
    fn four_thousand_games_find_most_of_what_two_values_are_worth() {
        // The start is 256 Elo points below the optimum.
        let lost = |seed| {
            let values = tuned(seed, 1_000).values;
            let (x, y) = ((values[0] - 30.0) / 20.0, (values[1] - 5.0) / 4.0);
            100.0 * (x * x + y * y)
        };
        let lost: Vec<f64> = (0..10).map(lost).collect();
        assert!(lost.iter().sum::<f64>() < 100.0, "10 each on average: {lost:?}");
        assert!(lost.iter().all(|lost| *lost < 40.0), "{lost:?}");
    }

    #[test]
    fn a_run_that_continues_from_stored_values_takes_the_same_path() {
        let (whole, half) = (tuned(3, 1_000), tuned(3, 500));
        let Tuner { parameters, schedule, done, values } = half;
        let mut resumed = Tuner::new(parameters, schedule, values, done);
        while !resumed.is_done() {
            let mut rng = Rng::indexed(3, "games", u64::from(resumed.done()));
            let result = compare(&resumed.trial(), 4, &mut rng);
            resumed.learn(result);
        }
        assert_eq!(resumed, whole);
    }

    #[test]
    fn trials_are_mirrored_and_stay_within_the_bounds() {
        let schedule = Schedule { iterations: 100, rate: 0.01, seed: 1 };
        let parameters = vec![parameter("x", 0.0, 50.0), parameter("y", 0.0, 10.0)];
        let mut tuner = Tuner::new(parameters, schedule, vec![25.0, 0.0], 0);
        let Trial { plus, minus } = tuner.trial();
        assert!(((plus[0] + minus[0]) / 2.0 - 25.0).abs() < 1e-9, "{plus:?} {minus:?}");
        assert!((plus[0] - minus[0]).abs() >= 5.0, "two perturbations of 2.5 at least");
        while !tuner.is_done() {
            let Trial { plus, minus } = tuner.trial();
            assert!(plus[1].min(minus[1]) >= 0.0, "{plus:?} {minus:?}");
            tuner.learn(-1e6);
            let inside = tuner.values()[0] >= 0.0 && tuner.values()[0] <= 50.0;
            assert!(inside && (0.0..=10.0).contains(&tuner.values()[1]));
        }
    }

    #[test]
    fn whole_numbers_are_rounded_for_play_alone() {
        let whole = Parameter { whole: true, ..parameter("hungry", 1.0, 4.0) };
        assert_eq!([1.4, 1.5, 9.0].map(|value| whole.played(value)), [1.0, 2.0, 4.0]);
        // The range is 3, so 5 % of it would hardly change the number.
        assert!(whole.perturbation(100.0, 100.0) >= 0.5);
        assert_eq!(parameter("x", 0.0, 1.0).played(0.123_456), 0.123_5);
    }

    #[test]
    fn variants_differ_and_stay_within_their_bounds_however_narrow_the_range() {
        for (low, high) in [(0.0, 50.0), (0.1, 0.12), (0.001, 0.002), (3.0, 3.000_001)] {
            let narrow = parameter("x", low, high);
            let start = narrow.played(low + (high - low) / 3.0);
            let schedule = Schedule { iterations: 100, rate: 0.01, seed: 1 };
            let mut tuner = Tuner::new(vec![narrow.clone()], schedule, vec![start], 0);
            while !tuner.is_done() {
                let Trial { plus, minus } = tuner.trial();
                let played = [plus[0], minus[0]].map(|value| narrow.played(value));
                assert_ne!(played[0], played[1], "{low} to {high}");
                for value in played {
                    assert!((low..=high).contains(&value), "{value} in {low} to {high}");
                    assert!(value.to_string().len() <= 13, "{value}");
                }
                tuner.learn(1.0);
            }
        }
        assert_eq!(parameter("x", 0.001, 0.002).played(0.001_234_56), 0.001_234_6);
        let [low, high] = [0.0, 9.0].map(|value| parameter("x", 0.000_01, 0.999_99).played(value));
        assert_eq!([low, high], [0.000_01, 0.999_99]);
    }

    #[test]
    fn the_last_step_is_the_rate_times_half_the_difference_between_the_variants() {
        let schedule = Schedule { iterations: 10, rate: 0.5, seed: 1 };
        let mut tuner = Tuner::new(vec![parameter("x", 0.0, 50.0)], schedule, vec![25.0], 9);
        let Trial { plus, minus } = tuner.trial();
        tuner.learn(1.0);
        let moved = tuner.values()[0] - 25.0;
        assert!((moved - 0.25 * (plus[0] - minus[0])).abs() < 1e-9, "{moved}: {plus:?} {minus:?}");
        assert!(tuner.is_done());
    }
}
