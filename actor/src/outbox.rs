//! The queue of finished games that the learner has not answered yet.
//!
//! An [`Outbox`] is pure. It numbers new items, returns the next item to send and drops answered
//! items. After a reconnect it resumes after the learner's watermark. It is bounded: a full outbox
//! accepts no item until the learner answers.

use std::collections::VecDeque;

/// A bounded queue of numbered items; the first ones may already be sent.
#[derive(Debug)]
pub struct Outbox<T> {
    capacity: usize,
    /// Unanswered items, oldest first; sequence numbers are consecutive.
    pending: VecDeque<T>,
    /// Sequence number of the first pending item.
    first: u64,
    /// Number of pending items that were sent on this connection.
    sent: usize,
}

impl<T> Outbox<T> {
    /// An empty outbox for at most `capacity` items; sequence numbers start at 1.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, pending: VecDeque::with_capacity(capacity), first: 1, sent: 0 }
    }

    /// Whether [`push`](Self::push) would fail.
    pub fn is_full(&self) -> bool {
        self.pending.len() >= self.capacity
    }

    /// Whether every item was answered.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Number of unanswered items.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Sequence number of the last answered item; 0 without one.
    pub fn answered(&self) -> u64 {
        self.first - 1
    }

    /// Adds an item, or returns it as the error if the outbox is full.
    pub fn push(&mut self, item: T) -> Result<(), T> {
        if self.is_full() {
            return Err(item);
        }
        self.pending.push_back(item);
        Ok(())
    }

    /// The next item to send with its sequence number.
    pub fn unsent(&self) -> Option<(u64, &T)> {
        self.pending.get(self.sent).map(|item| (self.first.saturating_add(self.sent as u64), item))
    }

    /// Marks the item of [`unsent`](Self::unsent) as sent.
    pub fn mark_sent(&mut self) {
        self.sent = (self.sent + 1).min(self.pending.len());
    }

    /// Removes and returns all items up to `sequence`, because the learner answers in order. Items
    /// that were never sent stay.
    pub fn settle(&mut self, sequence: u64) -> Vec<(u64, T)> {
        let last_sent = (self.first - 1).saturating_add(self.sent as u64);
        self.take_through(sequence.min(last_sent))
    }

    /// Resumes on a new connection after the learner's watermark. Removes and returns the items up
    /// to it. Later items get numbers above the watermark, even if it exceeds every number so far.
    pub fn reconnect(&mut self, watermark: u64) -> Vec<(u64, T)> {
        let decided = self.take_through(watermark);
        self.first = self.first.max(watermark.saturating_add(1));
        self.sent = 0;
        decided
    }

    fn take_through(&mut self, sequence: u64) -> Vec<(u64, T)> {
        let mut taken = Vec::new();
        while self.first <= sequence
            && let Some(item) = self.pending.pop_front()
        {
            taken.push((self.first, item));
            self.first = self.first.saturating_add(1);
            self.sent = self.sent.saturating_sub(1);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send_all(outbox: &mut Outbox<char>) -> Vec<(u64, char)> {
        let mut sent = Vec::new();
        while let Some((sequence, &item)) = outbox.unsent() {
            sent.push((sequence, item));
            outbox.mark_sent();
        }
        sent
    }

    #[test]
    fn a_full_outbox_takes_nothing_until_the_learner_answers() {
        let mut outbox = Outbox::new(2);
        assert_eq!(outbox.push('a'), Ok(()));
        assert_eq!(outbox.push('b'), Ok(()));
        assert_eq!(outbox.push('c'), Err('c'));
        assert_eq!(send_all(&mut outbox), [(1, 'a'), (2, 'b')]);
        assert_eq!(outbox.settle(1), [(1, 'a')]);
        assert_eq!(outbox.push('c'), Ok(()));
        assert_eq!(send_all(&mut outbox), [(3, 'c')]);
    }

    #[test]
    fn after_a_reconnect_only_undecided_items_are_sent_again_under_their_numbers() {
        let mut outbox = Outbox::new(8);
        for item in ['a', 'b', 'c', 'd'] {
            assert_eq!(outbox.push(item), Ok(()));
        }
        send_all(&mut outbox);
        outbox.settle(1);
        assert_eq!(outbox.reconnect(2), [(2, 'b')]);
        assert_eq!(send_all(&mut outbox), [(3, 'c'), (4, 'd')]);
        outbox.settle(4);
        assert!(outbox.is_empty());
    }

    #[test]
    fn numbers_go_on_above_a_watermark_beyond_everything_pending() {
        let mut outbox = Outbox::new(8);
        assert_eq!(outbox.push('a'), Ok(()));
        outbox.reconnect(9);
        assert!(outbox.is_empty());
        assert_eq!(outbox.push('b'), Ok(()));
        assert_eq!(send_all(&mut outbox), [(10, 'b')]);
        // An invalid watermark must not overflow the numbers.
        outbox.reconnect(u64::MAX);
        assert_eq!(outbox.push('c'), Ok(()));
        assert_eq!(outbox.push('d'), Ok(()));
        assert_eq!(send_all(&mut outbox).len(), 2);
        outbox.settle(u64::MAX);
    }

    #[test]
    fn an_answer_to_something_never_sent_loses_nothing() {
        let mut outbox = Outbox::new(8);
        assert_eq!(outbox.push('a'), Ok(()));
        outbox.settle(99);
        assert_eq!(outbox.len(), 1);
        assert_eq!(send_all(&mut outbox), [(1, 'a')]);
    }
}
