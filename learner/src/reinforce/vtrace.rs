//! V-trace (Espeholt et al. 2018, "IMPALA: Scalable Distributed Deep-RL with Importance Weighted
//! Actor-Learner Architectures", section 4.1), on plain numbers.
//!
//! For one seat's rows s₀, s₁, … with rewards r, discounts γ, values V and importance ratios
//! w = π(a|s) / μ(a|s):
//!
//! ```text
//! ρ = min(ρ̄, w)     c = λ · min(c̄, w)
//! δₜ = ρₜ (rₜ + γₜ Vₜ₊₁ − Vₜ)
//! vₜ = Vₜ + δₜ + γₜ cₜ (vₜ₊₁ − Vₜ₊₁)        value target
//! Aₜ = ρₜ (rₜ + γₜ vₜ₊₁ − Vₜ)               advantage
//! ```
//!
//! On policy and without truncation of ratios, v is the discounted return. The value of the last
//! state bootstraps a truncated segment.

use super::segments::Segments;

/// Truncation levels of the importance ratios, and the trace decay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TruncationLevels {
    /// ρ̄, the level for one step.
    pub ratio: f64,
    /// c̄, the level for later steps.
    pub trace: f64,
    /// λ, the trace decay.
    pub lambda: f64,
}

/// Targets of a batch, `[rows]` each. A row of weight 0 has its own value as target, and advantage
/// 0.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VTraceTargets {
    /// v, the value targets.
    pub values: Vec<f64>,
    /// A, the advantages.
    pub advantages: Vec<f64>,
}

/// V-trace of all segments. `ratios` are w before truncation and `values` are V, both `[rows]`.
pub(crate) fn vtrace(
    levels: TruncationLevels,
    batch: &Segments,
    ratios: &[f64],
    values: &[f32],
) -> VTraceTargets {
    let rows = values.len();
    let mut targets = VTraceTargets { values: vec![0.0; rows], advantages: vec![0.0; rows] };
    // V and v of the next row; 0 past the end of a segment.
    let mut after = (0.0, 0.0);
    for row in (0..rows).rev() {
        if batch.ends[row] {
            after = (0.0, 0.0);
        }
        let value = f64::from(values[row]);
        let target = if batch.weights[row] == 0.0 {
            value
        } else {
            let (reward, discount) =
                (f64::from(batch.rewards[row]), f64::from(batch.discounts[row]));
            let ratio = ratios[row].min(levels.ratio);
            let trace = levels.lambda * ratios[row].min(levels.trace);
            targets.advantages[row] = ratio * (reward + discount * after.1 - value);
            let delta = ratio * (reward + discount * after.0 - value);
            value + delta + discount * trace * (after.1 - after.0)
        };
        targets.values[row] = target;
        after = (value, target);
    }
    targets
}

#[cfg(test)]
mod tests {
    use ouro_game::Rng;

    use super::*;
    use crate::parity::random_segments;
    use crate::testing::spec;

    /// The paper's equation 1, as a sum over the segment.
    fn by_definition(
        levels: TruncationLevels,
        batch: &Segments,
        ratios: &[f64],
        values: &[f32],
        row: usize,
    ) -> f64 {
        let value = |row: usize| f64::from(values[row]);
        let (mut sum, mut factor, mut at) = (value(row), 1.0, row);
        loop {
            if batch.weights[at] == 0.0 {
                return sum;
            }
            let next = if batch.ends[at] { 0.0 } else { value(at + 1) };
            let discount = f64::from(batch.discounts[at]);
            let reward = f64::from(batch.rewards[at]);
            sum += factor * ratios[at].min(levels.ratio) * (reward + discount * next - value(at));
            if batch.ends[at] {
                return sum;
            }
            factor *= discount * levels.lambda * ratios[at].min(levels.trace);
            at += 1;
        }
    }

    /// Discounted rewards up to the end of the segment, then the value of its last state.
    fn discounted_return(batch: &Segments, values: &[f32], row: usize) -> f64 {
        if batch.weights[row] == 0.0 {
            return f64::from(values[row]);
        }
        let reward = f64::from(batch.rewards[row]);
        if batch.ends[row] {
            return reward;
        }
        reward + f64::from(batch.discounts[row]) * discounted_return(batch, values, row + 1)
    }

    fn cases() -> impl Iterator<Item = (Segments, Vec<f32>, Vec<f64>, Rng)> {
        (0..50).map(|case| {
            let mut rng = Rng::indexed(8, "vtrace", case);
            let batch = random_segments(&spec(), 40, &mut rng);
            let values = (0..40).map(|_| (4.0 * rng.unit() - 2.0) as f32).collect();
            let ratios = (0..40).map(|_| 3.0 * rng.unit()).collect();
            (batch, values, ratios, rng)
        })
    }

    #[test]
    fn the_recursion_is_the_papers_definition() {
        for (batch, values, ratios, mut rng) in cases() {
            let levels = TruncationLevels {
                ratio: 0.5 + 2.0 * rng.unit(),
                trace: 0.5 + rng.unit(),
                lambda: 0.9,
            };
            let targets = vtrace(levels, &batch, &ratios, &values);
            for row in 0..40 {
                let expected = by_definition(levels, &batch, &ratios, &values, row);
                assert!((targets.values[row] - expected).abs() < 1e-9, "row {row}");
            }
        }
    }

    #[test]
    fn on_policy_and_untruncated_targets_are_returns() {
        let levels = TruncationLevels { ratio: f64::INFINITY, trace: f64::INFINITY, lambda: 1.0 };
        for (batch, values, _, _) in cases() {
            let targets = vtrace(levels, &batch, &[1.0; 40], &values);
            for row in 0..40 {
                let expected = discounted_return(&batch, &values, row);
                assert!((targets.values[row] - expected).abs() < 1e-9, "row {row}");
                if batch.weights[row] > 0.0 {
                    let advantage = expected - f64::from(values[row]);
                    assert!((targets.advantages[row] - advantage).abs() < 1e-9, "row {row}");
                }
            }
        }
    }

    #[test]
    fn without_traces_a_target_looks_one_step_ahead() {
        let levels = TruncationLevels { ratio: 1.0, trace: 1.0, lambda: 0.0 };
        for (batch, values, _, _) in cases() {
            let targets = vtrace(levels, &batch, &[1.0; 40], &values);
            for row in (0..40).filter(|&row| batch.weights[row] > 0.0) {
                let next = if batch.ends[row] { 0.0 } else { f64::from(values[row + 1]) };
                let discounted = f64::from(batch.discounts[row]) * next;
                let expected = f64::from(batch.rewards[row]) + discounted;
                assert!((targets.values[row] - expected).abs() < 1e-9, "row {row}");
            }
        }
    }
}
