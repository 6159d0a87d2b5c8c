//! Children of joint actions at simultaneous moves.
//!
//! The number of joint actions is the product over the players, but few are ever visited. One
//! hash table per tree therefore holds the visited ones, with open addressing and linear probing.
//! A joint action is numbered in mixed radix over the movers' legal actions, so keys are exact.

use super::node_store::NONE;

/// Maps (node, number of the joint action) to the child.
#[derive(Clone, Debug, Default)]
pub(super) struct JointTable {
    /// Empty, or a power of two of entries with at most three quarters in use.
    entries: Vec<Entry>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    code: u64,
    node: u32,
    /// [`NONE`] marks an entry not in use.
    child: u32,
}

const EMPTY: Entry = Entry { code: 0, node: 0, child: NONE };

impl JointTable {
    /// Removes all entries and keeps the memory.
    pub(super) fn clear(&mut self) {
        if self.len > 0 {
            self.entries.fill(EMPTY);
            self.len = 0;
        }
    }

    /// Makes an empty table as large as `other`, from which entries are to be inserted in their
    /// [order](Self::iter). That is the order of their hashes. In a smaller table such entries fill a
    /// run without gaps, and probes become as long as the run.
    pub(super) fn reserve(&mut self, other: &Self) {
        debug_assert_eq!(self.len, 0, "only an empty table gets a new size");
        if self.entries.len() < other.entries.len() {
            self.entries.resize(other.entries.len(), EMPTY);
        }
    }

    /// The child, or [`NONE`].
    #[inline]
    pub(super) fn get(&self, node: u32, code: u64) -> u32 {
        if self.entries.is_empty() {
            return NONE;
        }
        let mask = self.entries.len() - 1;
        let mut index = hash(node, code) & mask;
        loop {
            let entry = &self.entries[index];
            if entry.child == NONE || (entry.node == node && entry.code == code) {
                return entry.child;
            }
            index = (index + 1) & mask;
        }
    }

    /// Adds a child that is not there yet.
    pub(super) fn insert(&mut self, node: u32, code: u64, child: u32) {
        if (self.len + 1) * 4 > self.entries.len() * 3 {
            self.grow();
        }
        self.put(Entry { code, node, child });
        self.len += 1;
    }

    /// Every (node, number, child), in arbitrary order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u64, u32)> + '_ {
        let used = self.entries.iter().filter(|entry| entry.child != NONE);
        used.map(|entry| (entry.node, entry.code, entry.child))
    }

    fn put(&mut self, entry: Entry) {
        let mask = self.entries.len() - 1;
        let mut index = hash(entry.node, entry.code) & mask;
        while self.entries[index].child != NONE {
            index = (index + 1) & mask;
        }
        self.entries[index] = entry;
    }

    fn grow(&mut self) {
        let len = (self.entries.len() * 2).max(64);
        let old = std::mem::replace(&mut self.entries, vec![EMPTY; len]);
        old.into_iter().filter(|entry| entry.child != NONE).for_each(|entry| self.put(entry));
    }
}

/// Spreads the key by the golden ratio (Knuth's multiplicative hashing), high bits last.
#[inline]
fn hash(node: u32, code: u64) -> usize {
    let key = (u64::from(node) << 20 ^ code).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (key >> 32) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ouro_game::Rng;

    use super::*;

    /// Steps from the place of an entry's hash to the entry, at most.
    fn longest_probe(table: &JointTable) -> usize {
        let mask = table.entries.len() - 1;
        let used = table.entries.iter().enumerate().filter(|(_, entry)| entry.child != NONE);
        let steps = used.map(|(at, entry)| at.wrapping_sub(hash(entry.node, entry.code)) & mask);
        steps.max().unwrap_or(0)
    }

    #[test]
    fn a_copy_in_the_order_of_a_table_has_short_probes() {
        let mut table = JointTable::default();
        for node in 0..11_000 {
            table.insert(node, 5, node);
        }
        let mut copy = JointTable::default();
        copy.reserve(&table);
        table.iter().for_each(|(node, code, child)| copy.insert(node, code, child));
        assert!(longest_probe(&copy) < 64, "{}", longest_probe(&copy));
    }

    #[test]
    fn the_table_holds_what_was_put_in_and_nothing_else() {
        let mut table = JointTable::default();
        let mut rng = Rng::new(1, "test");
        for round in 0..3 {
            let mut model = BTreeMap::new();
            for child in 0..5_000 {
                let key = (rng.below(700), u64::from(rng.below(256)) << (round * 20));
                assert_eq!(table.get(key.0, key.1), model.get(&key).copied().unwrap_or(NONE));
                if model.insert(key, child).is_none() {
                    table.insert(key.0, key.1, child);
                } else {
                    model.insert(key, table.get(key.0, key.1));
                }
            }
            let listed: BTreeMap<_, _> =
                table.iter().map(|(node, code, child)| ((node, code), child)).collect();
            assert_eq!(listed, model);
            table.clear();
            assert_eq!(table.iter().count(), 0);
            assert_eq!(table.get(0, 0), NONE);
        }
    }
}
