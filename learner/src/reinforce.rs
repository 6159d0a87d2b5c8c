//! The loss, and its reference computation on plain slices.
//!
//! REINFORCE (Williams 1992, "Simple statistical gradient-following algorithms for
//! connectionist reinforcement learning") with a learned state value as baseline (Sutton and
//! Barto, "Reinforcement Learning", 2nd edition, section 13.4). For a batch of moves with
//! policy π, value V, return G and the probability μ that the actor chose the action with:
//!
//! ```text
//! A = G − V                                        advantage
//! ρ = min(π(a|s) / μ(a|s), cap)                    truncated importance ratio
//! L = mean(−ρ A log π(a|s))                        policy
//!   + value_coefficient · mean((V − G)²)           value
//!   − entropy_bonus · mean(−Σ π log π)             entropy over legal actions
//! ```
//!
//! No gradient flows through A and ρ. Actors play weights that are a few steps old; ρ corrects
//! for that, truncated as in V-trace (Espeholt et al. 2018, "IMPALA", section 4.1), so that a
//! move the old policy thought unlikely cannot dominate a batch.
//!
//! [`loss`] here is slow and in f64; [`crate::loss`] is the same on tensors, and a test holds
//! one against the other.

use crate::config::TrainConfig;
use crate::samples::Samples;

/// What illegal logits are replaced with: finite, so that 0 · log 0 never occurs.
pub const ILLEGAL_LOGIT: f32 = -1e9;

/// Keeps a standard deviation from dividing by zero.
pub const ADVANTAGE_EPSILON: f64 = 1e-6;

/// The numbers of the update rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossConfig {
    /// Weight of the squared value error.
    pub value_coefficient: f32,
    /// Weight of the entropy.
    pub entropy_bonus: f32,
    /// Upper bound of ρ.
    pub ratio_cap: f32,
    /// Whether A is divided by its standard deviation over the batch.
    pub normalize_advantage: bool,
}

impl From<&TrainConfig> for LossConfig {
    fn from(config: &TrainConfig) -> Self {
        Self {
            value_coefficient: config.value_coefficient,
            entropy_bonus: config.entropy_bonus,
            ratio_cap: config.ratio_cap,
            normalize_advantage: config.normalize_advantage,
        }
    }
}

/// A loss and its parts, means over the batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossParts {
    /// What is minimised.
    pub total: f64,
    /// −ρ A log π.
    pub policy: f64,
    /// (V − G)².
    pub value: f64,
    /// Entropy of π over legal actions, in nats.
    pub entropy: f64,
    /// ρ.
    pub ratio: f64,
}

/// The factors that no gradient flows through, one per row: ρ A.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    /// ρ.
    pub ratios: Vec<f64>,
    /// A, normalised if asked for.
    pub advantages: Vec<f64>,
}

/// Log-probabilities of the legal actions, `−∞` for the rest.
fn log_policy(logits: &[f32], legal: &[bool]) -> Vec<f64> {
    let masked = |(&logit, &legal): (&f32, &bool)| {
        if legal { f64::from(logit) } else { f64::NEG_INFINITY }
    };
    let logits: Vec<f64> = logits.iter().zip(legal).map(masked).collect();
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|logit| (logit - largest).exp()).sum();
    logits.iter().map(|logit| logit - largest - sum.ln()).collect()
}

/// ρ and A at these network outputs: `logits` `[rows, actions]`, `values` `[rows]`.
pub fn coefficients(
    config: &LossConfig,
    samples: &Samples,
    logits: &[f32],
    values: &[f32],
) -> Coefficients {
    let width = samples.shape().actions;
    let ratios = (0..samples.rows())
        .map(|row| {
            let cells = row * width..(row + 1) * width;
            let log_policy = log_policy(&logits[cells.clone()], &samples.legal[cells]);
            let chosen = log_policy[samples.actions[row] as usize];
            let ratio = (chosen - f64::from(samples.behaviour[row]).ln()).exp();
            ratio.min(f64::from(config.ratio_cap))
        })
        .collect();
    let mut advantages: Vec<f64> =
        samples.returns.iter().zip(values).map(|(&g, &v)| f64::from(g) - f64::from(v)).collect();
    if config.normalize_advantage {
        let rows = advantages.len() as f64;
        let mean = advantages.iter().sum::<f64>() / rows;
        let square = advantages.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / rows;
        for advantage in &mut advantages {
            *advantage /= square.sqrt() + ADVANTAGE_EPSILON;
        }
    }
    Coefficients { ratios, advantages }
}

/// The loss with given ρ and A: what the gradient is taken of.
pub fn loss(
    config: &LossConfig,
    samples: &Samples,
    logits: &[f32],
    values: &[f32],
    coefficients: &Coefficients,
) -> LossParts {
    let width = samples.shape().actions;
    let rows = samples.rows() as f64;
    let mut parts = LossParts::default();
    for row in 0..samples.rows() {
        let cells = row * width..(row + 1) * width;
        let log_policy = log_policy(&logits[cells.clone()], &samples.legal[cells]);
        let (ratio, advantage) = (coefficients.ratios[row], coefficients.advantages[row]);
        parts.policy -= ratio * advantage * log_policy[samples.actions[row] as usize] / rows;
        parts.value += (f64::from(values[row]) - f64::from(samples.returns[row])).powi(2) / rows;
        let legal = log_policy.iter().filter(|log| log.is_finite());
        parts.entropy -= legal.map(|log| log.exp() * log).sum::<f64>() / rows;
        parts.ratio += ratio / rows;
    }
    parts.total = parts.policy + f64::from(config.value_coefficient) * parts.value
        - f64::from(config.entropy_bonus) * parts.entropy;
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::RowShape;

    const CONFIG: LossConfig = LossConfig {
        value_coefficient: 0.5,
        entropy_bonus: 0.1,
        ratio_cap: 2.0,
        normalize_advantage: false,
    };

    /// Two legal actions of three with equal logits; the first was taken.
    fn one_row(behaviour: f32) -> Samples {
        let mut samples = Samples::new(RowShape { planes: 1, actions: 3 });
        samples.planes = vec![0.0];
        samples.legal = vec![true, false, true];
        samples.actions = vec![0];
        samples.behaviour = vec![behaviour];
        samples.returns = vec![1.0];
        samples
    }

    #[test]
    fn a_hand_computed_row_agrees() {
        let samples = one_row(0.5);
        let (logits, values) = ([0.3, 50.0, 0.3], [0.25]);
        let coefficients = coefficients(&CONFIG, &samples, &logits, &values);
        assert!((coefficients.ratios[0] - 1.0).abs() < 1e-12);
        assert!((coefficients.advantages[0] - 0.75).abs() < 1e-12);
        let parts = loss(&CONFIG, &samples, &logits, &values, &coefficients);
        let ln2 = std::f64::consts::LN_2;
        assert!((parts.policy - 0.75 * ln2).abs() < 1e-12);
        assert!((parts.value - 0.5625).abs() < 1e-12);
        assert!((parts.entropy - ln2).abs() < 1e-12);
        assert!((parts.total - (0.75 * ln2 + 0.5 * 0.5625 - 0.1 * ln2)).abs() < 1e-7);
    }

    #[test]
    fn the_importance_ratio_is_truncated() {
        let rare = coefficients(&CONFIG, &one_row(0.01), &[0.3, 0.0, 0.3], &[0.0]);
        assert!((rare.ratios[0] - 2.0).abs() < 1e-12);
        let common = coefficients(&CONFIG, &one_row(1.0), &[0.3, 0.0, 0.3], &[0.0]);
        assert!((common.ratios[0] - 0.5).abs() < 1e-7);
    }
}
