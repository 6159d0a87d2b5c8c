//! From logits to an action and the probability it had.

use ouro_game::{Action, ActionMask, Stream};

use crate::Choice;

/// How a policy becomes an action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Selection {
    /// Draw from softmax(logits / temperature) over the legal actions.
    Sample {
        /// Above 0 and finite; 1 is the policy itself, less is greedier.
        temperature: f32,
    },
    /// Take the legal action with the largest logit, the lowest of several equal ones.
    Argmax,
}

/// A temperature that is not a positive number.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("temperature is {0}; it must be finite and above 0, use argmax for greedy play")]
pub struct SelectionError(pub f32);

impl Selection {
    /// Checks the temperature.
    pub fn validate(self) -> Result<(), SelectionError> {
        match self {
            Self::Sample { temperature } if !(temperature.is_finite() && temperature > 0.0) => {
                Err(SelectionError(temperature))
            }
            Self::Sample { .. } | Self::Argmax => Ok(()),
        }
    }
}

/// Chooses by a [`Selection`]; owns the buffers that takes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    actions: Vec<Action>,
    weights: Vec<f32>,
}

impl Selector {
    /// One choice from the logits of a position, `[actions]`.
    ///
    /// If a legal logit is not finite (a network can overflow), the legal actions are drawn
    /// uniformly instead. Without a legal action the choice is action 0, which a table refuses.
    pub(crate) fn choose(
        &mut self,
        selection: Selection,
        logits: &[f32],
        legal: &ActionMask,
        rng: &mut Stream,
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
                    (above / f64::from(temperature)).exp() as f32
                }));
            }
            Selection::Argmax | Selection::Sample { .. } => {
                self.weights.resize(self.actions.len(), 1.0);
            }
        }
        // The sum is taken as `Stream::weighted` takes it, so this is the very probability
        // that the draw has.
        let total: f64 = self.weights.iter().map(|&weight| f64::from(weight)).sum();
        let drawn = rng.weighted(&self.weights);
        let probability = (f64::from(self.weights[drawn]) / total) as f32;
        // A weight can be so small that its share is 0 as f32; whoever divides by it must not
        // meet a 0.
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
        let mut rng = Stream::new(1, "test");
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
        let mut rng = Stream::new(2, "test");
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
    fn logits_that_are_not_finite_mean_a_uniform_draw() {
        let mut rng = Stream::new(3, "test");
        let mut selector = Selector::default();
        for selection in [Selection::Argmax, Selection::Sample { temperature: 1.0 }] {
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
    }

    #[test]
    fn extreme_temperatures_stay_probabilities() {
        let mut rng = Stream::new(4, "test");
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
