//! What a tree search said before each action of a game.

use ouro_game::Action;

use super::TrajectoryError;
use crate::learner::v1 as wire;

/// What the search said before one action.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Searched {
    /// The policy target: actions with a probability above 0, which add up to 1. Empty where the
    /// search is no target: it was a fast one, or its seat does not learn.
    pub policy: Vec<(Action, f32)>,
    /// Value of the root for whoever moved, -1 to 1.
    pub value: f32,
    /// Kullback-Leibler divergence of the target from the network's prior, in nats; 0 where
    /// there is no target.
    pub surprise: f32,
}

/// One entry per action of the game; refuses lists whose lengths disagree.
pub(super) fn unfold(
    message: &wire::SearchResults,
    actions: usize,
) -> Result<Vec<Searched>, TrajectoryError> {
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
            return Err(TrajectoryError::Search { field, got, expected });
        }
    }
    let mut policy = message.policy_actions.iter().zip(&message.policy_probabilities);
    let numbers = message.values.iter().zip(&message.surprises);
    let lengths = message.policy_lengths.iter().zip(numbers);
    let searched = lengths.map(|(&length, (&value, &surprise))| {
        let entry = |(&action, &probability): (&u32, &f32)| (Action(action), probability);
        let policy = policy.by_ref().take(length as usize).map(entry).collect();
        Searched { policy, value, surprise }
    });
    Ok(searched.collect())
}

/// The wire form of one entry per action.
pub(super) fn fold<'a>(searched: impl Iterator<Item = &'a Searched>) -> wire::SearchResults {
    let mut message = wire::SearchResults::default();
    for Searched { policy, value, surprise } in searched {
        message.policy_lengths.push(policy.len() as u32);
        message.policy_actions.extend(policy.iter().map(|(action, _)| action.0));
        message.policy_probabilities.extend(policy.iter().map(|&(_, probability)| probability));
        message.values.push(*value);
        message.surprises.push(*surprise);
    }
    message
}
