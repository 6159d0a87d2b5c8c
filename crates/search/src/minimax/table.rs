//! A transposition table: what was found out about positions earlier in the same search.

use ouro_game::Action;

/// What the stored value says about the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// It is the value.
    Exact,
    /// The value is at least this.
    Lower,
    /// The value is at most this.
    Upper,
}

/// What is known of a position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    key: u64,
    /// The search that wrote it; 0 for an empty place.
    search: u32,
    /// The first mover's best action.
    pub(super) action: Action,
    pub(super) value: f32,
    /// Depth of the pass that wrote it, in turns from the root.
    pub(super) turns: u16,
    pub(super) bound: Bound,
}

/// Entries by the low bits of their key; the last one written stays.
///
/// A value holds for one root, player and depth of pass, so entries of earlier searches count
/// as empty.
#[derive(Debug)]
pub(super) struct Table {
    entries: Vec<Entry>,
    search: u32,
}

const EMPTY: Entry =
    Entry { key: 0, search: 0, action: Action(0), value: 0.0, turns: 0, bound: Bound::Exact };

impl Table {
    /// An empty table of `2^bits` entries.
    pub(super) fn new(bits: u32) -> Self {
        Self { entries: vec![EMPTY; 1 << bits], search: 0 }
    }

    /// Forgets everything.
    pub(super) fn start_search(&mut self) {
        self.search = self.search.wrapping_add(1);
        if self.search == 0 {
            self.entries.fill(EMPTY);
            self.search = 1;
        }
    }

    fn place(&self, key: u64) -> usize {
        key as usize & (self.entries.len() - 1)
    }

    /// What is known of a position.
    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<Entry> {
        let entry = self.entries[self.place(key)];
        (entry.key == key && entry.search == self.search).then_some(entry)
    }

    /// Remembers a position.
    #[inline]
    pub(super) fn put(&mut self, key: u64, action: Action, value: f32, turns: u32, bound: Bound) {
        let place = self.place(key);
        let (search, turns) = (self.search, turns as u16);
        self.entries[place] = Entry { key, search, action, value, turns, bound };
    }
}

/// The key of a position that is `turns` from the root: the same position nearer to the root
/// has another value.
#[inline]
pub(super) fn key(digest: u64, turns: u32) -> u64 {
    // Odd constant of the golden ratio; a bijection of `turns` for every digest.
    digest ^ u64::from(turns + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_their_whole_key_until_the_next_search() {
        let mut table = Table::new(4);
        table.start_search();
        table.put(5, Action(3), 0.5, 7, Bound::Lower);
        let entry = table.get(5).expect("it was put");
        assert_eq!((entry.action, entry.turns, entry.bound), (Action(3), 7, Bound::Lower));
        assert!(table.get(5 + 16).is_none(), "same place, other key");
        table.put(5 + 16, Action(1), 0.0, 7, Bound::Exact);
        assert!(table.get(5).is_none(), "replaced");
        table.start_search();
        assert!(table.get(5 + 16).is_none(), "of an earlier search");
    }

    #[test]
    fn nothing_is_found_after_the_count_of_searches_has_wrapped() {
        let mut table = Table::new(4);
        table.start_search();
        table.put(5, Action(3), 0.5, 7, Bound::Exact);
        table.search = u32::MAX;
        table.start_search();
        assert_eq!(table.search, 1);
        assert!(table.get(5).is_none());
    }
}
