//! The traced games of the outbox, with their times.

use std::collections::VecDeque;

use ouro_traces::{IS_BUILT, Time, span, trace_of};

use crate::worker::PlayTime;

/// The times of the games in the outbox, in its order.
#[derive(Debug, Default)]
pub(crate) struct GameTraces {
    pending: VecDeque<Pending>,
}

#[derive(Debug)]
struct Pending {
    play: PlayTime,
    /// Set when the game is sent. A game that is sent again counts from the last time.
    sent: Option<Time>,
}

impl GameTraces {
    /// Adds a game that the outbox has taken.
    pub(crate) fn taken(&mut self, play: PlayTime) {
        if IS_BUILT {
            self.pending.push_back(Pending { play, sent: None });
        }
    }

    /// Notes that a game is sent. `index` is its place in the outbox.
    pub(crate) fn sent(&mut self, index: u64) {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        if let Some(pending) = self.pending.get_mut(index) {
            pending.sent = Some(Time::now());
        }
    }

    /// Removes the oldest game, which is answered, and sends its spans if it is traced.
    pub(crate) fn answered(&mut self, actor: &str, epoch: u64, sequence: u64, plies: usize) {
        let Some(Pending { play, sent }) = self.pending.pop_front() else { return };
        let Some(trace) = trace_of(actor, epoch, sequence) else { return };
        let now = Time::now();
        let sent = sent.unwrap_or(now);
        let plies = plies as u64;
        let facts = [("epoch", epoch), ("sequence", sequence), ("plies", plies)];
        trace.send(span::GAME, play.start, now, &facts);
        trace.send(span::PLAY, play.start, play.end, &[]);
        trace.send(span::OUTBOX, play.end, sent, &[]);
        trace.send(span::PUSH, sent, now, &[]);
    }
}
