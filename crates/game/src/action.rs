//! Actions and sets of legal actions.

use serde::{Deserialize, Serialize};

/// An index into a game's action space.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Action(pub u32);

impl Action {
    /// The index, for slices.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of actions, one bit each.
///
/// Callers reuse one mask, so that listing the legal actions does not allocate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionMask {
    words: Vec<u64>,
    len: usize,
}

impl ActionMask {
    /// An empty set over `len` actions.
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)], len }
    }

    /// Empties the set and sizes it for `len` actions.
    pub fn reset(&mut self, len: usize) {
        self.words.clear();
        self.words.resize(len.div_ceil(64), 0);
        self.len = len;
    }

    /// Adds an action; one outside the action space is ignored.
    pub fn insert(&mut self, action: Action) {
        if action.index() < self.len {
            self.words[action.index() / 64] |= 1 << (action.index() % 64);
        }
    }

    /// Adds the actions whose bits are set in `words`, action 0 lowest. No bit may lie beyond the
    /// action space.
    pub(crate) fn insert_words(&mut self, words: &[u64]) {
        for (own, new) in self.words.iter_mut().zip(words) {
            *own |= new;
        }
    }

    /// Whether the action is in the set.
    pub fn contains(&self, action: Action) -> bool {
        action.index() < self.len
            && self.words[action.index() / 64] >> (action.index() % 64) & 1 == 1
    }

    /// Number of actions in the set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Size of the action space.
    pub fn capacity(&self) -> usize {
        self.len
    }

    /// The actions in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Action> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            std::iter::successors((word != 0).then_some(word), |rest| {
                let rest = rest & (rest - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |rest| Action((index * 64) as u32 + rest.trailing_zeros()))
        })
    }

    /// The `n`-th action of the set in ascending order.
    pub fn nth(&self, n: usize) -> Option<Action> {
        self.iter().nth(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_lists_what_was_inserted_and_ignores_what_is_out_of_range() {
        let mut mask = ActionMask::new(130);
        for index in [0, 63, 64, 129, 130, 4000] {
            mask.insert(Action(index));
        }
        let listed: Vec<u32> = mask.iter().map(|action| action.0).collect();
        assert_eq!(listed, [0, 63, 64, 129]);
        assert_eq!(mask.count(), 4);
        assert_eq!(mask.nth(2), Some(Action(64)));
        assert!(!mask.contains(Action(130)));
        mask.reset(4);
        assert_eq!(mask.count(), 0);
    }
}
