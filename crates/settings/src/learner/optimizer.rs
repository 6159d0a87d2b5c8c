//! How a gradient becomes a step, and which weights are published.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The update rule with its hyperparameters. Weight decay is `train.weight_decay`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum OptimizerConfig {
    /// Loshchilov and Hutter 2019, "Decoupled weight decay regularization", algorithm 2:
    /// `m ← β₁ m + (1 − β₁) g`, `v ← β₂ v + (1 − β₂) g²`, both corrected for their start at 0,
    /// then `θ ← θ − η (m / (√v + ε) + decay · θ)`.
    #[serde(rename = "adamw")]
    AdamW {
        /// β₁, at least 0 and below 1.
        #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
        beta1: f64,
        /// β₂, at least 0 and below 1.
        #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
        beta2: f64,
        /// ε, at least 1e-30. A much smaller ε would round to 0, and a gradient of 0 be divided by 0.
        #[schemars(range(min = 1e-30))]
        epsilon: f64,
    },
    /// Momentum without dampening, the decay decoupled as in the same paper (SGDW):
    /// `m ← μ m + g`, then `θ ← θ − η (m + decay · θ)`.
    Sgd {
        /// μ, at least 0 and below 1.
        #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
        momentum: f64,
    },
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self::AdamW { beta1: 0.9, beta2: 0.999, epsilon: 1e-5 }
    }
}

impl OptimizerConfig {
    /// Names of the state vectors that the update rule keeps per parameter.
    pub fn slots(&self) -> &'static [&'static str] {
        match self {
            Self::AdamW { .. } => &["first", "second"],
            Self::Sgd { .. } => &["momentum"],
        }
    }
}

/// Which weights are published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum WeightAveraging {
    /// The weights of the last step.
    // The braces make serde refuse unknown keys, which it ignores in a variant without them.
    None {},
    /// An exponential moving average; the plain mean while that weights the newest more.
    Exponential {
        /// Steps between two updates of the average, at most `generation_steps`. Each update costs a forward
        /// pass.
        #[schemars(range(min = 1, max = 1_048_576))]
        every_steps: u64,
        /// Steps over which the share of old weights halves.
        #[schemars(range(min = 1, max = 1_099_511_627_776_u64))]
        half_life_steps: u64,
    },
}

impl Default for WeightAveraging {
    fn default() -> Self {
        Self::None {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_average_there_are_no_other_keys_and_the_form_in_files_stays() {
        let none = WeightAveraging::default();
        let text = toml::to_string(&none).unwrap();
        assert_eq!(text, "kind = \"none\"\n");
        assert_eq!(toml::from_str::<WeightAveraging>(&text).unwrap(), none);
        let error =
            toml::from_str::<WeightAveraging>(&format!("{text}every_steps = 10\n")).unwrap_err();
        assert!(error.message().starts_with("unknown field"), "{error}");
    }
}
