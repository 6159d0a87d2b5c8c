//! Temperature schedules for the choice of an action from visits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config_error::{SearchConfigError, check};

/// The temperature τ of a decision.
///
/// An action is played with a probability in proportion to `visits^(1/τ)`; 0 plays the most
/// visited action. Time is [`elapsed`](ouro_game::Game::elapsed).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Temperature {
    /// A constant; 0.5 in the AlphaSnake paper.
    Constant {
        /// τ.
        #[schemars(range(min = 0, max = 100))]
        value: f32,
    },
    /// One value before a time, another from then on; AlphaGo Zero plays 30 moves at 1, then 0.
    Until {
        /// Time of the change.
        time: u32,
        /// τ before.
        #[schemars(range(min = 0, max = 100))]
        before: f32,
        /// τ from then on.
        #[schemars(range(min = 0, max = 100))]
        after: f32,
    },
    /// Exponential decay from one value to another; KataGo goes from 0.8 to 0.2.
    Decay {
        /// τ at the start.
        #[schemars(range(min = 0, max = 100))]
        start: f32,
        /// τ in the long run.
        #[schemars(range(min = 0, max = 100))]
        end: f32,
        /// Time in which the difference halves, above 0.
        #[schemars(extend("exclusiveMinimum" = 0))]
        half_life: f32,
    },
}

impl Default for Temperature {
    /// Always the most visited action.
    fn default() -> Self {
        Self::Constant { value: 0.0 }
    }
}

impl Temperature {
    /// τ at a time.
    pub fn at(self, elapsed: u32) -> f32 {
        match self {
            Self::Constant { value } => value,
            Self::Until { time, before, after } => {
                if elapsed < time {
                    before
                } else {
                    after
                }
            }
            Self::Decay { start, end, half_life } => {
                end + (start - end) * libm::exp2f(-(elapsed as f32) / half_life)
            }
        }
    }

    pub(super) fn validate(self) -> Result<(), SearchConfigError> {
        let temperature = |field, value: f32| {
            let holds = (0.0..=100.0).contains(&value);
            check(field, f64::from(value), holds, "between 0 and 100")
        };
        match self {
            Self::Constant { value } => temperature("temperature.value", value),
            Self::Until { before, after, .. } => {
                temperature("temperature.before", before)?;
                temperature("temperature.after", after)
            }
            Self::Decay { start, end, half_life } => {
                temperature("temperature.start", start)?;
                temperature("temperature.end", end)?;
                let holds = half_life.is_finite() && half_life > 0.0;
                check("temperature.half_life", half_life.into(), holds, "finite and above 0")
            }
        }
    }
}
