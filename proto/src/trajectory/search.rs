//! The wire form of the search targets of a game: flat lists.

use std::slice::Iter;

use ouro_game::Action;
use ouro_replay::SearchTarget;

use super::MessageError;
use crate::learner::v1 as wire;

/// The search targets of a message, one per action of the game.
pub(super) struct Targets<'a> {
    lengths: Iter<'a, u32>,
    actions: Iter<'a, u32>,
    probabilities: Iter<'a, f32>,
    values: Iter<'a, f32>,
    surprises: Iter<'a, f32>,
}

impl<'a> Targets<'a> {
    /// Reads the targets of a game with `actions` actions. Lists of the wrong length are errors.
    pub(super) fn new(
        message: &'a wire::SearchResults,
        actions: usize,
    ) -> Result<Self, MessageError> {
        let entries = message.policy_lengths.iter().map(|&length| u64::from(length)).sum();
        let lists = [
            ("policy_lengths", message.policy_lengths.len(), actions as u64),
            ("values", message.values.len(), actions as u64),
            ("surprises", message.surprises.len(), actions as u64),
            ("policy_actions", message.policy_actions.len(), entries),
            ("policy_probabilities", message.policy_probabilities.len(), entries),
        ];
        for (field, got, expected) in lists {
            if got as u64 != expected {
                return Err(MessageError::Search { field, got, expected });
            }
        }
        Ok(Self {
            lengths: message.policy_lengths.iter(),
            actions: message.policy_actions.iter(),
            probabilities: message.policy_probabilities.iter(),
            values: message.values.iter(),
            surprises: message.surprises.iter(),
        })
    }
}

impl Iterator for Targets<'_> {
    type Item = SearchTarget;

    fn next(&mut self) -> Option<SearchTarget> {
        let length = *self.lengths.next()? as usize;
        let (value, surprise) = (*self.values.next()?, *self.surprises.next()?);
        let entries = self.actions.by_ref().zip(self.probabilities.by_ref()).take(length);
        let policy = entries.map(|(&action, &share)| (Action(action), share)).collect();
        Some(SearchTarget { policy, value, surprise })
    }
}

/// The wire form of `count` targets, one per action of a game.
pub(super) fn fold<'a>(
    targets: impl Iterator<Item = &'a SearchTarget>,
    count: usize,
) -> wire::SearchResults {
    let mut message = wire::SearchResults {
        policy_lengths: Vec::with_capacity(count),
        values: Vec::with_capacity(count),
        surprises: Vec::with_capacity(count),
        ..wire::SearchResults::default()
    };
    for SearchTarget { policy, value, surprise } in targets {
        message.policy_lengths.push(policy.len() as u32);
        message.policy_actions.extend(policy.iter().map(|(action, _)| action.0));
        message.policy_probabilities.extend(policy.iter().map(|&(_, share)| share));
        message.values.push(*value);
        message.surprises.push(*surprise);
    }
    message
}
