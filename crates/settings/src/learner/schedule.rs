//! The learning rate as a pure function of the step. A resumed run continues it without saved state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::SettingError;

/// How the learning rate changes over a run, as a factor of `train.learning_rate`; the warm-up comes
/// on top.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LearningRateSchedule {
    /// It does not.
    // The braces make serde refuse unknown keys, which it ignores in a variant without them.
    Constant {},
    /// It halves over every `steps` steps, smoothly.
    HalfLife {
        /// Steps to half.
        #[schemars(range(min = 1))]
        steps: u64,
    },
    /// It falls along half a cosine over `steps` steps to `floor`, and stays there. With `restart` it
    /// rises at once and falls again, over twice as many steps each time (Loshchilov and Hutter 2017,
    /// "SGDR", section 3, with a period factor of 2).
    Cosine {
        /// Steps to the floor.
        #[schemars(range(min = 1))]
        steps: u64,
        /// The factor reached, 0 to 1.
        #[schemars(range(min = 0, max = 1))]
        floor: f64,
        /// The factor to which the rate rises after `steps`, 3 · `steps`, 7 · `steps`, … steps, above
        /// `floor`; with 0 the rate stays at `floor`.
        #[serde(default)]
        #[schemars(range(min = 0, max = 1))]
        restart: f64,
    },
    /// It stays for `steps` steps, then falls as √(steps / step), without an end: for runs whose
    /// length is open (Vaswani et al. 2017, "Attention is all you need", section 5.3).
    InverseSqrt {
        /// Steps before it falls.
        #[schemars(range(min = 1))]
        steps: u64,
    },
    /// It is multiplied by `factor` at each of these steps, as AlphaZero's was.
    Steps {
        /// Steps in rising order.
        at: Vec<u64>,
        /// The factor, above 0 and at most 1.
        #[schemars(extend("exclusiveMinimum" = 0), range(max = 1))]
        factor: f64,
    },
}

impl Default for LearningRateSchedule {
    fn default() -> Self {
        Self::Constant {}
    }
}

impl LearningRateSchedule {
    /// The factor for the step after `step` earlier steps.
    pub fn factor(&self, step: u64) -> f64 {
        match self {
            Self::Constant {} => 1.0,
            Self::HalfLife { steps } => 0.5_f64.powf(step as f64 / *steps as f64),
            Self::Cosine { steps, floor, .. } if step < *steps => {
                falling(1.0, *floor, step as f64 / *steps as f64)
            }
            Self::Cosine { floor, restart: 0.0, .. } => *floor,
            Self::Cosine { steps, floor, restart } => {
                // Periods of 1, 2, 4, … times `steps` begin after 0, 1, 3, … times `steps`.
                let periods = step as f64 / *steps as f64;
                let length = (periods + 1.0).log2().floor().exp2();
                falling(*restart, *floor, (periods + 1.0 - length) / length)
            }
            Self::InverseSqrt { steps } => (*steps as f64 / step.max(*steps) as f64).sqrt(),
            Self::Steps { at, factor } => {
                let passed = at.iter().filter(|&&at| at <= step).count();
                factor.powi(i32::try_from(passed).unwrap_or(i32::MAX))
            }
        }
    }

    /// Checks what no range can express: the steps of [`Steps`](Self::Steps) rise, and a restart is
    /// above the floor.
    pub(super) fn validate(&self) -> Result<(), SettingError> {
        match self {
            Self::Cosine { floor, restart, .. } if *restart != 0.0 && restart <= floor => {
                let remedy = format!("choose 0, or more than train.schedule.floor = {floor}");
                Err(SettingError::new("train.schedule.restart", restart.to_string(), remedy))
            }
            Self::Steps { at, .. } if !at.is_sorted() => {
                let remedy = "write the steps in rising order";
                Err(SettingError::new("train.schedule.at", format!("{at:?}"), remedy))
            }
            _ => Ok(()),
        }
    }
}

/// Half a cosine from `high` to `low`; `progress`: the elapsed share of it, 0 to 1.
fn falling(high: f64, low: f64, progress: f64) -> f64 {
    low + (high - low) * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos())
}

#[cfg(test)]
mod tests {
    use super::super::train::TrainConfig;
    use super::*;

    fn cosine(steps: u64, floor: f64, restart: f64) -> LearningRateSchedule {
        LearningRateSchedule::Cosine { steps, floor, restart }
    }

    fn near(schedule: &LearningRateSchedule, step: u64, factor: f64) {
        let got = schedule.factor(step);
        assert!((got - factor).abs() < 1e-12, "{schedule:?} at {step}: {got}, not {factor}");
    }

    #[test]
    fn every_schedule_starts_at_one_and_falls_as_it_says() {
        near(&LearningRateSchedule::Constant {}, 1_000_000, 1.0);
        let half = LearningRateSchedule::HalfLife { steps: 100 };
        near(&half, 0, 1.0);
        near(&half, 200, 0.25);
        let cosine = LearningRateSchedule::Cosine { steps: 100, floor: 0.1, restart: 0.0 };
        near(&cosine, 0, 1.0);
        near(&cosine, 50, 0.55);
        near(&cosine, 100, 0.1);
        near(&cosine, 5_000, 0.1);
        let open = LearningRateSchedule::InverseSqrt { steps: 100 };
        near(&open, 100, 1.0);
        near(&open, 400, 0.5);
        near(&open, 10_000, 0.1);
        let steps = LearningRateSchedule::Steps { at: vec![10, 20], factor: 0.1 };
        near(&steps, 9, 1.0);
        near(&steps, 10, 0.1);
        near(&steps, 20, 0.01);
    }

    #[test]
    fn a_rate_restarts_over_periods_that_double() {
        let restarts = cosine(100, 0.1, 0.5);
        near(&restarts, 50, 0.55);
        for (start, length) in [(100, 200), (300, 400), (700, 800)] {
            near(&restarts, start, 0.5);
            near(&restarts, start + length / 2, 0.3);
            assert!(restarts.factor(start + length - 1) < 0.101, "{start}");
        }
    }

    #[test]
    fn fields_out_of_range_are_refused_by_name() {
        let cases = [
            (LearningRateSchedule::HalfLife { steps: 0 }, "train.schedule.steps"),
            (LearningRateSchedule::InverseSqrt { steps: 0 }, "train.schedule.steps"),
            (cosine(0, 0.0, 0.0), "train.schedule.steps"),
            (cosine(1, f64::NAN, 0.0), "train.schedule.floor"),
            (cosine(1, 0.1, f64::NAN), "train.schedule.restart"),
            (cosine(1, 0.1, 1.5), "train.schedule.restart"),
            (cosine(1, 0.1, 0.1), "train.schedule.restart"),
            (LearningRateSchedule::Steps { at: vec![2, 1], factor: 0.1 }, "train.schedule.at"),
            (LearningRateSchedule::Steps { at: vec![1], factor: 0.0 }, "train.schedule.factor"),
        ];
        for (schedule, field) in cases {
            let train = TrainConfig { schedule, ..TrainConfig::default() };
            assert_eq!(train.validate().expect_err(field).key, field);
        }
    }

    #[test]
    fn a_schedule_reads_from_a_file_by_kind() {
        let read: LearningRateSchedule =
            toml::from_str("kind = \"cosine\"\nsteps = 7\nfloor = 0.5").unwrap();
        assert_eq!(read, cosine(7, 0.5, 0.0), "it stays at its floor, as before `restart`");
        assert!(
            toml::from_str::<LearningRateSchedule>("kind = \"cosine\"\nsteps = 7\nflour = 0.5")
                .is_err()
        );
    }

    #[test]
    fn a_constant_rate_has_no_other_keys_and_keeps_its_form_in_files() {
        let constant = LearningRateSchedule::default();
        let text = toml::to_string(&constant).unwrap();
        assert_eq!(text, "kind = \"constant\"\n");
        assert_eq!(toml::from_str::<LearningRateSchedule>(&text).unwrap(), constant);
        for key in ["steps = 7", "floor = 0.5"] {
            let error =
                toml::from_str::<LearningRateSchedule>(&format!("{text}{key}\n")).unwrap_err();
            assert!(error.message().starts_with("unknown field"), "{error}");
        }
    }
}
