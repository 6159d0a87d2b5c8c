//! Two planned paths, one ahead of each end of the snake, as ordered linked lists.
//!
//! Each list begins with the end of the snake itself, its *head*. Keys grow along a list, so that the
//! order of two cells of a list is known without a walk along it. Cells can be inserted, removed and
//! reversed in time proportional to the cells concerned.

use crate::field::NONE;

/// Distance between the keys of neighbours in a new list. Detours divide it by three, so it is large;
/// 2²⁵ cells can still be appended to a list.
const SPACING: u64 = 1 << 38;
/// Least spacing after keys ran out somewhere.
const LEAST_SPACING: u64 = 1 << 24;
/// Owner of a cell on no list.
pub(crate) const UNPLANNED: u8 = u8::MAX;
/// Lists 0 and 1 begin at the ends of the snake; the others are fragments.
pub(crate) const LISTS: usize = 24;

/// The lists.
pub(crate) struct Plan {
    next: Vec<u32>,
    prev: Vec<u32>,
    key: Vec<u64>,
    owner: Vec<u8>,
    heads: [u32; LISTS],
    tails: [u32; LISTS],
    lengths: [usize; LISTS],
    /// Buffer of a reversal.
    buffer: Vec<u32>,
    /// Cells that reversals, splits and joins have touched so far.
    work: u64,
}

impl Plan {
    /// Two empty lists on a board of `cells` cells.
    pub(crate) fn new(cells: usize) -> Self {
        Self {
            next: vec![NONE; cells],
            prev: vec![NONE; cells],
            key: vec![0; cells],
            owner: vec![UNPLANNED; cells],
            heads: [NONE; LISTS],
            tails: [NONE; LISTS],
            lengths: [0; LISTS],
            buffer: Vec::new(),
            work: 0,
        }
    }

    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    /// A list without cells, if there is one.
    pub(crate) fn unused(&self) -> Option<u8> {
        (2..LISTS).find(|&list| self.heads[list] == NONE).map(|list| list as u8)
    }

    /// The lists of both ends, the shorter one first.
    pub(crate) fn shorter_first(&self) -> [u8; 2] {
        if self.len(1) < self.len(0) { [1, 0] } else { [0, 1] }
    }

    /// Cells of all fragments, but for their first ones.
    pub(crate) fn fragment_cells(&self) -> usize {
        self.lengths[2..].iter().sum()
    }

    /// Moves the cells between two cells of a list, at least one, to another list, which is empty.
    pub(crate) fn take_out(&mut self, before: u32, after: u32, to: u8) {
        let (from, to) = (usize::from(self.owner(before)), usize::from(to));
        let first = self.next(before);
        let last = if after == NONE { self.tails[from] } else { self.prev(after) };
        if after == NONE {
            self.next[before as usize] = NONE;
            self.tails[from] = before;
        } else {
            self.link(before, after);
        }
        self.prev[first as usize] = NONE;
        self.next[last as usize] = NONE;
        (self.heads[to], self.tails[to]) = (first, last);
        let mut cell = first;
        let mut count = 0;
        while cell != NONE {
            self.owner[cell as usize] = to as u8;
            count += 1;
            cell = self.next(cell);
        }
        self.work += count as u64;
        self.lengths[from] -= count;
        self.lengths[to] = count - 1;
    }

    /// Appends the list `from` behind the tail of `to`, its tail first. `from` is then empty.
    pub(crate) fn join_reversed(&mut self, to: u8, from: u8) {
        let mut cell = self.tail(from);
        self.work += self.len(from) as u64;
        self.forget(from);
        while cell != NONE {
            let before = self.prev(cell);
            self.push(to, cell);
            cell = before;
        }
    }

    /// Removes the tail of a list that has more than its head.
    pub(crate) fn pop(&mut self, list: u8) {
        let tail = self.tail(list);
        let before = self.prev(tail);
        self.owner[tail as usize] = UNPLANNED;
        self.next[before as usize] = NONE;
        self.tails[usize::from(list)] = before;
        self.lengths[usize::from(list)] -= 1;
    }

    fn forget(&mut self, list: u8) {
        self.heads[usize::from(list)] = NONE;
        self.tails[usize::from(list)] = NONE;
        self.lengths[usize::from(list)] = 0;
    }

    /// Makes the last cell of a list its first.
    pub(crate) fn turn(&mut self, list: u8) {
        let (head, tail) = (self.head(list), self.tail(list));
        if head == tail {
            return;
        }
        self.reverse(head, tail);
        self.heads[usize::from(list)] = tail;
    }

    /// Removes the first cell of a fragment.
    pub(crate) fn drop_head(&mut self, list: u8) {
        let head = self.head(list);
        if self.next(head) == NONE {
            self.clear(list);
        } else {
            self.advance(list);
        }
    }

    /// Cells ahead of the head.
    pub(crate) fn len(&self, list: u8) -> usize {
        self.lengths[usize::from(list)]
    }

    pub(crate) fn head(&self, list: u8) -> u32 {
        self.heads[usize::from(list)]
    }

    pub(crate) fn tail(&self, list: u8) -> u32 {
        self.tails[usize::from(list)]
    }

    /// List of a cell, or [`UNPLANNED`].
    #[inline]
    pub(crate) fn owner(&self, cell: u32) -> u8 {
        self.owner[cell as usize]
    }

    #[inline]
    pub(crate) fn next(&self, cell: u32) -> u32 {
        self.next[cell as usize]
    }

    #[inline]
    pub(crate) fn prev(&self, cell: u32) -> u32 {
        self.prev[cell as usize]
    }

    /// Whether `first` comes before `second`, both of one list.
    #[inline]
    pub(crate) fn is_before(&self, first: u32, second: u32) -> bool {
        self.key[first as usize] < self.key[second as usize]
    }

    /// Grows with the number of cells between two cells of a list.
    pub(crate) fn key_distance(&self, first: u32, second: u32) -> u64 {
        self.key[second as usize].abs_diff(self.key[first as usize])
    }

    fn link(&mut self, first: u32, second: u32) {
        self.next[first as usize] = second;
        self.prev[second as usize] = first;
    }

    /// Empties a list and makes `head` the head of a list.
    pub(crate) fn start(&mut self, list: u8, head: u32) {
        self.clear(list);
        self.heads[usize::from(list)] = head;
        self.tails[usize::from(list)] = head;
        self.next[head as usize] = NONE;
        self.prev[head as usize] = NONE;
        self.key[head as usize] = 0;
        self.owner[head as usize] = list;
    }

    /// Empties a list; it then has no head.
    pub(crate) fn clear(&mut self, list: u8) {
        let mut cell = self.head(list);
        while cell != NONE {
            self.owner[cell as usize] = UNPLANNED;
            cell = self.next(cell);
        }
        self.forget(list);
    }

    /// Appends a cell behind the tail.
    pub(crate) fn push(&mut self, list: u8, cell: u32) {
        let tail = self.tail(list);
        self.link(tail, cell);
        self.next[cell as usize] = NONE;
        self.key[cell as usize] = self.key[tail as usize] + SPACING;
        self.owner[cell as usize] = list;
        self.tails[usize::from(list)] = cell;
        self.lengths[usize::from(list)] += 1;
    }

    /// The snake moves from the head to the next cell, which is returned.
    pub(crate) fn advance(&mut self, list: u8) -> Option<u32> {
        let head = self.head(list);
        let next = self.next(head);
        if next == NONE {
            return None;
        }
        self.owner[head as usize] = UNPLANNED;
        self.prev[next as usize] = NONE;
        self.heads[usize::from(list)] = next;
        self.lengths[usize::from(list)] -= 1;
        Some(next)
    }

    /// Inserts unplanned cells between `before` and its successor.
    pub(crate) fn insert(&mut self, before: u32, cells: &[u32]) {
        let list = self.owner(before);
        let after = self.next(before);
        debug_assert!(after != NONE, "cells are inserted between two cells");
        let count = cells.len() as u64 + 1;
        if (self.key[after as usize] - self.key[before as usize]) / count == 0 {
            self.number(before);
        }
        let base = self.key[before as usize];
        let spacing = (self.key[after as usize] - base) / count;
        let mut tip = before;
        for (&cell, place) in cells.iter().zip(1..) {
            self.link(tip, cell);
            self.owner[cell as usize] = list;
            self.key[cell as usize] = base + spacing * place;
            tip = cell;
        }
        self.link(tip, after);
        self.lengths[usize::from(list)] += cells.len();
    }

    /// Numbers the surroundings of a cell anew, with even spacing.
    ///
    /// The window doubles until its keys have room, as in order-maintenance lists (Dietz and
    /// Sleator 1987). The keys at its two ends stay, unless the end is the tail.
    fn number(&mut self, middle: u32) {
        let (mut first, mut last, mut count) = (middle, middle, 0);
        let mut window = 32;
        let spacing = loop {
            for _ in 0..window {
                if self.prev(first) != NONE {
                    first = self.prev(first);
                    count += 1;
                }
                if self.next(last) != NONE {
                    last = self.next(last);
                    count += 1;
                }
            }
            let spacing = (self.key[last as usize] - self.key[first as usize]) / count.max(1);
            if spacing >= LEAST_SPACING {
                break spacing;
            }
            if self.prev(first) == NONE && self.next(last) == NONE {
                break SPACING;
            }
            window *= 2;
        };
        let mut key = self.key[first as usize];
        while first != last {
            self.key[first as usize] = key;
            key += spacing;
            first = self.next(first);
        }
        self.key[last as usize] = self.key[last as usize].max(key);
    }

    /// Removes the cells strictly between `before` and `after`; `NONE` removes to the tail.
    ///
    /// The removed cells are appended to `removed`.
    pub(crate) fn cut(&mut self, before: u32, after: u32, removed: &mut Vec<u32>) {
        let list = usize::from(self.owner(before));
        let mut cell = self.next(before);
        while cell != after {
            self.owner[cell as usize] = UNPLANNED;
            removed.push(cell);
            self.lengths[list] -= 1;
            cell = self.next(cell);
        }
        if after == NONE {
            self.next[before as usize] = NONE;
            self.tails[list] = before;
        } else {
            self.link(before, after);
        }
    }

    /// Reverses the cells from `first` to `last`, which may be the head and the tail.
    pub(crate) fn reverse(&mut self, first: u32, last: u32) {
        let (before, after) = (self.prev(first), self.next(last));
        let mut cells = std::mem::take(&mut self.buffer);
        cells.clear();
        let mut cell = first;
        while cell != after {
            cells.push(cell);
            cell = self.next(cell);
        }
        self.work += cells.len() as u64;
        // The keys stay in place.
        let (mut low, mut high) = (0, cells.len() - 1);
        while low < high {
            self.key.swap(cells[low] as usize, cells[high] as usize);
            (low, high) = (low + 1, high - 1);
        }
        let mut previous = before;
        for &cell in cells.iter().rev() {
            if previous == NONE {
                self.prev[cell as usize] = NONE;
            } else {
                self.link(previous, cell);
            }
            previous = cell;
        }
        if after == NONE {
            self.next[previous as usize] = NONE;
            self.tails[usize::from(self.owner[previous as usize])] = previous;
        } else {
            self.link(previous, after);
        }
        self.buffer = cells;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(plan: &Plan, list: u8) -> Vec<u32> {
        let mut cells = vec![plan.head(list)];
        while plan.next(cells[cells.len() - 1]) != NONE {
            let cell = cells[cells.len() - 1];
            assert_eq!(plan.prev(plan.next(cell)), cell);
            assert!(plan.is_before(cell, plan.next(cell)));
            assert_eq!(plan.owner(cell), list);
            cells.push(plan.next(cell));
        }
        assert_eq!(plan.tail(list), cells[cells.len() - 1]);
        assert_eq!(plan.len(list), cells.len() - 1);
        cells
    }

    fn counted(cells: u32) -> Plan {
        let mut plan = Plan::new(1_000);
        plan.start(0, 0);
        (1..cells).for_each(|cell| plan.push(0, cell));
        plan
    }

    #[test]
    fn cells_are_inserted_cut_reversed_split_and_joined() {
        let mut plan = counted(6);
        plan.insert(2, &[10, 11]);
        assert_eq!(list(&plan, 0), [0, 1, 2, 10, 11, 3, 4, 5]);
        plan.reverse(2, 11);
        assert_eq!(list(&plan, 0), [0, 1, 11, 10, 2, 3, 4, 5]);
        let mut removed = Vec::new();
        plan.cut(10, 4, &mut removed);
        assert_eq!(removed, [2, 3]);
        plan.reverse(4, 5);
        assert_eq!(list(&plan, 0), [0, 1, 11, 10, 5, 4]);
        plan.take_out(11, NONE, 7);
        assert_eq!((list(&plan, 0), list(&plan, 7)), (vec![0, 1, 11], vec![10, 5, 4]));
        plan.turn(7);
        assert_eq!(list(&plan, 7), [4, 5, 10]);
        plan.join_reversed(0, 7);
        assert_eq!(list(&plan, 0), [0, 1, 11, 10, 5, 4]);
        assert_eq!((plan.head(7), plan.unused()), (NONE, Some(2)));
        assert_eq!(plan.advance(0), Some(1));
        plan.pop(0);
        assert_eq!(list(&plan, 0), [1, 11, 10, 5]);
        assert_eq!(plan.owner(0), UNPLANNED);
    }

    #[test]
    fn keys_keep_their_order_when_many_cells_are_inserted_at_one_place() {
        let mut plan = counted(3);
        for pair in 2..490 {
            plan.insert(1, &[pair * 2, pair * 2 + 1]);
        }
        let cells = list(&plan, 0);
        assert!(cells.len() > 900 && cells[..2] == [0, 1] && cells[cells.len() - 1] == 2);
    }
}
