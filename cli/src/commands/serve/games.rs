//! What the server remembers of games in progress.
//!
//! Contract: at most the given number of entries. The entry used longest ago makes room for a new
//! one, so games whose end was never reported need no other care.

use std::collections::HashMap;
use std::hash::Hash;

/// Entries by key, a bounded number.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    entries: HashMap<K, (u64, V)>,
    most: usize,
    /// Number of the last use.
    uses: u64,
}

impl<K: Clone + Eq + Hash, V: Clone> Recent<K, V> {
    /// Room for `most` entries, at least 1.
    pub(super) fn new(most: usize) -> Self {
        Self { entries: HashMap::new(), most: most.max(1), uses: 0 }
    }

    /// The value of `key`; that of `new` if there is none.
    pub(super) fn get_or_insert(&mut self, key: &K, new: impl FnOnce() -> V) -> V {
        self.uses += 1;
        if let Some((used, value)) = self.entries.get_mut(key) {
            *used = self.uses;
            return value.clone();
        }
        if self.entries.len() >= self.most {
            let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.entries.remove(&oldest);
            }
        }
        let value = new();
        self.entries.insert(key.clone(), (self.uses, value.clone()));
        value
    }

    /// Removes and returns the value of `key`.
    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        self.entries.remove(key).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_used_longest_ago_makes_room() {
        let mut recent = Recent::new(2);
        assert_eq!(recent.get_or_insert(&"a", || 1), 1);
        assert_eq!(recent.get_or_insert(&"b", || 2), 2);
        assert_eq!(recent.get_or_insert(&"a", || 9), 1);
        assert_eq!(recent.get_or_insert(&"c", || 3), 3);
        assert_eq!(recent.remove(&"b"), None);
        assert_eq!((recent.remove(&"a"), recent.remove(&"c")), (Some(1), Some(3)));
        assert_eq!(recent.get_or_insert(&"a", || 9), 9);
    }
}
