//! A transposition table: bounds of positions from earlier in the same search.

use ouro_game::Action;

use super::query::UNDECIDED;

/// How a stored value bounds the true value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// The true value equals the stored value.
    Exact,
    /// The true value is at least the stored value.
    Lower,
    /// The true value is at most the stored value.
    Upper,
}

/// The stored result of a position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    key: u64,
    /// Number of the search that wrote the entry; 0 for an empty entry.
    search: u32,
    /// The first mover's best action.
    pub(super) action: Action,
    pub(super) value: f32,
    /// Turns from the root at which positions below were evaluated.
    pub(super) horizon: u16,
    pub(super) bound: Bound,
    /// Whether a position below was cut off at the horizon.
    pub(super) is_cut_off: bool,
}

impl Entry {
    /// Whether the stored bound is that of a won or a lost game. It holds for every horizon.
    pub(super) fn is_decided(&self) -> bool {
        match self.bound {
            Bound::Exact => self.value.abs() > UNDECIDED,
            Bound::Lower => self.value > UNDECIDED,
            Bound::Upper => self.value < -UNDECIDED,
        }
    }
}

/// Entries indexed by the low bits of their key; a new entry always replaces the old one.
///
/// A value holds for one root and player, so entries of earlier searches count as empty.
#[derive(Debug)]
pub(super) struct Table {
    entries: Vec<Entry>,
    search: u32,
}

const EMPTY: Entry = Entry {
    key: 0,
    search: 0,
    action: Action(0),
    value: 0.0,
    horizon: 0,
    bound: Bound::Exact,
    is_cut_off: false,
};

impl Table {
    /// An empty table of `2^bits` entries.
    pub(super) fn new(bits: u32) -> Self {
        Self { entries: vec![EMPTY; 1 << bits], search: 0 }
    }

    /// Invalidates all entries by a new search number, without touching them.
    pub(super) fn start_search(&mut self) {
        self.search = self.search.wrapping_add(1);
        if self.search == 0 {
            self.entries.fill(EMPTY);
            self.search = 1;
        }
    }

    fn slot(&self, key: u64) -> usize {
        key as usize & (self.entries.len() - 1)
    }

    /// The entry of a position, if this search has stored one.
    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<Entry> {
        let entry = self.entries[self.slot(key)];
        (entry.key == key && entry.search == self.search).then_some(entry)
    }

    /// Stores a position. `horizon` is at most [`Limits::DEEPEST`](super::Limits::DEEPEST).
    #[inline]
    pub(super) fn put(
        &mut self,
        key: u64,
        action: Action,
        (value, bound): (f32, Bound),
        horizon: u32,
        is_cut_off: bool,
    ) {
        let slot = self.slot(key);
        let (search, horizon) = (self.search, horizon as u16);
        self.entries[slot] = Entry { key, search, action, value, horizon, bound, is_cut_off };
    }
}

/// The key of a position `turns` from the root. The same position at another depth has another
/// value, so the depth enters the key.
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
        table.put(5, Action(3), (0.5, Bound::Lower), 7, true);
        let entry = table.get(5).expect("it was put");
        assert_eq!((entry.action, entry.horizon, entry.bound), (Action(3), 7, Bound::Lower));
        assert!(table.get(5 + 16).is_none(), "same slot, other key");
        table.put(5 + 16, Action(1), (0.0, Bound::Exact), 7, true);
        assert!(table.get(5).is_none(), "replaced");
        table.start_search();
        assert!(table.get(5 + 16).is_none(), "of an earlier search");
    }

    #[test]
    fn nothing_is_found_after_the_count_of_searches_has_wrapped() {
        let mut table = Table::new(4);
        table.start_search();
        table.put(5, Action(3), (0.5, Bound::Exact), 7, true);
        table.search = u32::MAX;
        table.start_search();
        assert_eq!(table.search, 1);
        assert!(table.get(5).is_none());
    }
}
