//! Selects an action from logits and reports its probability.

use ouro_game::{Action, ActionMask, Rng};

use crate::player::Choice;

/// How an action is selected from a policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Selection {
    /// Draw from softmax(logits / temperature) over the legal actions.
    Sample {
        /// Above 0 and finite; 1 is the policy itself, less is greedier.
        temperature: f32,
    },
    /// Draw from softmax(logits), but with probability `epsilon` uniformly from the legal
    /// actions. In this ε-mixture every legal action has a probability of at least
    /// `epsilon / legal`. The reported probability is that of the mixture.
    Mixture {
        /// 0 to 1.
        epsilon: f32,
    },
    /// Take the legal action with the largest logit, the lowest of equals.
    Argmax,
}

/// A selection that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SelectionError {
    /// A temperature that is not a positive number.
    #[error("temperature is {0}; it must be finite and above 0, use argmax for greedy play")]
    Temperature(f32),
    /// A share outside 0 to 1.
    #[error("epsilon is {0}; it must be 0 to 1")]
    Epsilon(f32),
}

impl Selection {
    /// Checks the numbers.
    pub fn validate(self) -> Result<(), SelectionError> {
        match self {
            Self::Sample { temperature } if !(temperature.is_finite() && temperature > 0.0) => {
                Err(SelectionError::Temperature(temperature))
            }
            Self::Mixture { epsilon } if !(0.0..=1.0).contains(&epsilon) => {
                Err(SelectionError::Epsilon(epsilon))
            }
            Self::Sample { .. } | Self::Mixture { .. } | Self::Argmax => Ok(()),
        }
    }
}

/// Selects actions by a [`Selection`] and owns the buffers for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    actions: Vec<Action>,
    weights: Vec<f32>,
}

impl Selector {
    /// One choice from the logits of a position, `[actions]`. Equal logits and generators give the same
    /// choice on every platform.
    ///
    /// If a legal logit is not finite, as when a network overflows, the draw is uniform over the
    /// legal actions. Without a legal action the choice is action 0, which a
    /// [`GameBatch`](crate::GameBatch) refuses.
    pub(crate) fn choose(
        &mut self,
        selection: Selection,
        logits: &[f32],
        legal: &ActionMask,
        rng: &mut Rng,
    ) -> Choice {
        self.actions.clear();
        self.actions.extend(legal.iter().filter(|action| action.index() < logits.len()));
        if self.actions.is_empty() {
            return Choice { action: Action(0), probability: 1.0 };
        }
        let largest = |best: f32, action: &Action| best.max(logits[action.index()]);
        let top = self.actions.iter().fold(f32::NEG_INFINITY, largest);
        let finite = self.actions.iter().all(|action| logits[action.index()].is_finite());
        self.weights.clear();
        match selection {
            Selection::Argmax if finite => {
                let best = self.actions.iter().find(|action| logits[action.index()] == top);
                let action = *best.unwrap_or(&self.actions[0]);
                return Choice { action, probability: 1.0 };
            }
            Selection::Sample { temperature } if finite => {
                self.weights.extend(self.actions.iter().map(|action| {
                    let above = f64::from(logits[action.index()]) - f64::from(top);
                    libm::exp(above / f64::from(temperature)) as f32
                }));
            }
            Selection::Mixture { epsilon } if finite => {
                let weight = |action: &Action| libm::expf(logits[action.index()] - top);
                self.weights.extend(self.actions.iter().map(weight));
                let total: f32 = self.weights.iter().sum();
                let floor = epsilon / self.actions.len() as f32;
                for weight in &mut self.weights {
                    *weight = (1.0 - epsilon) * *weight / total + floor;
                }
            }
            Selection::Argmax | Selection::Sample { .. } | Selection::Mixture { .. } => {
                self.weights.resize(self.actions.len(), 1.0);
            }
        }
        // The sum is computed as in `Rng::weighted`, so this is the exact probability of the draw.
        let total: f64 = self.weights.iter().map(|&weight| f64::from(weight)).sum();
        let drawn = rng.weighted(&self.weights);
        let probability = (f64::from(self.weights[drawn]) / total) as f32;
        // A small weight's share can underflow to 0 as f32; off-policy corrections divide by it.
        Choice { action: self.actions[drawn], probability: probability.max(f32::MIN_POSITIVE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn legal(actions: &[u32], len: usize) -> ActionMask {
        let mut mask = ActionMask::new(len);
        for &action in actions {
            mask.insert(Action(action));
        }
        mask
    }

    #[test]
    fn argmax_takes_the_best_legal_action_and_the_lowest_of_equals() {
        let mut rng = Rng::new(1, "test");
        let mut selector = Selector::default();
        let mut best = |logits: &[f32], actions: &[u32]| {
            let mask = legal(actions, logits.len());
            selector.choose(Selection::Argmax, logits, &mask, &mut rng)
        };
        let certain = |action| Choice { action: Action(action), probability: 1.0 };
        assert_eq!(best(&[0.0, 3.0, 9.0, 3.0], &[0, 1, 3]), certain(1));
        assert_eq!(best(&[-4.0, -4.0], &[0, 1]), certain(0));
        assert_eq!(best(&[-4.0, 7.0], &[0]), certain(0));
    }

    #[test]
    fn sampling_reports_the_masked_softmax_and_draws_by_it() {
        let logits = [1.0, 2.0, 50.0, -1.0];
        let mask = legal(&[0, 1, 3], 4);
        let temperature = 0.7;
        let weight = |logit: f64| (logit / f64::from(temperature)).exp();
        let total = weight(1.0) + weight(2.0) + weight(-1.0);
        let mut rng = Rng::new(2, "test");
        let mut selector = Selector::default();
        let mut counts = [0_u32; 4];
        let draws = 20_000_u32;
        for _ in 0..draws {
            let choice =
                selector.choose(Selection::Sample { temperature }, &logits, &mask, &mut rng);
            let expected = weight(f64::from(logits[choice.action.index()])) / total;
            assert!((f64::from(choice.probability) - expected).abs() < 1e-6, "{choice:?}");
            counts[choice.action.index()] += 1;
        }
        assert_eq!(counts[2], 0);
        for index in [0, 1, 3] {
            let share = weight(f64::from(logits[index])) / total;
            let sigma = (share * (1.0 - share) / f64::from(draws)).sqrt();
            let seen = f64::from(counts[index]) / f64::from(draws);
            assert!((seen - share).abs() < 5.0 * sigma, "{index}: {seen} {share}");
        }
    }

    #[test]
    fn a_mixture_leaves_every_legal_action_its_floor_and_reports_the_whole_probability() {
        let logits = [30.0, 0.0, 99.0, -30.0];
        let mask = legal(&[0, 1, 3], 4);
        let epsilon = 0.3;
        let mut rng = Rng::new(5, "test");
        let mut selector = Selector::default();
        let (mut counts, draws) = ([0_u32; 4], 20_000_u32);
        for _ in 0..draws {
            let choice = selector.choose(Selection::Mixture { epsilon }, &logits, &mask, &mut rng);
            let expected = if choice.action == Action(0) { 0.8 } else { 0.1 };
            assert!((choice.probability - expected).abs() < 1e-5, "{choice:?}");
            counts[choice.action.index()] += 1;
        }
        for (count, share) in counts.iter().zip([0.8, 0.1, 0.0, 0.1_f64]) {
            let sigma = (share * (1.0 - share) / f64::from(draws)).sqrt();
            assert!((f64::from(*count) / f64::from(draws) - share).abs() <= 5.0 * sigma);
        }
        // Without a floor it is the policy itself.
        let mut draw =
            |selection| selector.choose(selection, &logits, &mask, &mut Rng::new(6, "test"));
        let plain = draw(Selection::Sample { temperature: 1.0 });
        assert_eq!(draw(Selection::Mixture { epsilon: 0.0 }).action, plain.action);
    }

    #[test]
    fn logits_that_are_not_finite_mean_a_uniform_draw() {
        let mut rng = Rng::new(3, "test");
        let mut selector = Selector::default();
        let mixture = Selection::Mixture { epsilon: 0.2 };
        for selection in [Selection::Argmax, Selection::Sample { temperature: 1.0 }, mixture] {
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mask = legal(&[0, 1], 2);
                let choice = selector.choose(selection, &[bad, 0.0], &mask, &mut rng);
                assert_eq!(choice.probability, 0.5);
            }
        }
    }

    #[test]
    fn a_temperature_must_be_positive_and_finite() {
        for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(Selection::Sample { temperature: bad }.validate().is_err());
        }
        assert_eq!(Selection::Sample { temperature: 0.1 }.validate(), Ok(()));
        assert_eq!(Selection::Argmax.validate(), Ok(()));
        for bad in [-0.1, 1.1, f32::NAN] {
            assert!(Selection::Mixture { epsilon: bad }.validate().is_err());
        }
        assert_eq!(Selection::Mixture { epsilon: 1.0 }.validate(), Ok(()));
    }

    #[test]
    fn extreme_temperatures_stay_probabilities() {
        let mut rng = Rng::new(4, "test");
        let mut selector = Selector::default();
        let mask = legal(&[0, 1, 2], 3);
        for temperature in [f32::MIN_POSITIVE, 1e-30, 1e30, f32::MAX] {
            let choice = selector.choose(
                Selection::Sample { temperature },
                &[3e38, -3e38, 0.0],
                &mask,
                &mut rng,
            );
            assert!(choice.probability > 0.0 && choice.probability <= 1.0, "{choice:?}");
        }
    }
}
