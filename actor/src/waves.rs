//! Play in waves, for runs that must repeat bit for bit.
//!
//! Usually an actor plays on with whatever weights are newest, and the moment decides which those
//! are. In waves it plays when it is told to: games of given numbers, by one roster, from their
//! beginnings to their ends. They are handed over in the order of their numbers, which seed them.
//! So the games of a wave depend on the roster, the numbers and the settings alone, and a wave
//! that was broken off after some games can be gone on with.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::counters::ActorCounters;

/// Some games to play.
#[derive(Clone, Debug)]
pub(crate) struct Wave {
    /// Their numbers.
    pub(crate) numbers: Range<u64>,
    /// The arena's revision of the pool that they are played by.
    pub(crate) revision: u32,
}

/// The actor plays no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the actor has stopped")]
pub struct Stopped;

/// Tells an actor what to play; see [`Actor::in_waves`](crate::Actor::in_waves).
#[derive(Debug)]
pub struct Waves {
    orders: Sender<Wave>,
    counters: Arc<ActorCounters>,
    /// Games asked for so far.
    asked: u64,
}

impl Waves {
    pub(crate) fn new(counters: Arc<ActorCounters>) -> (Self, Receiver<Wave>) {
        let (orders, waves) = channel();
        (Self { orders, counters, asked: 0 }, waves)
    }

    /// Plays the games of these numbers by the roster of this revision of the pool, or of a
    /// later one, and waits until the learner has answered each. Does not return if the actor
    /// ends meanwhile.
    pub async fn play(&mut self, numbers: Range<u64>, revision: u32) -> Result<(), Stopped> {
        self.asked += numbers.end.saturating_sub(numbers.start);
        self.orders.send(Wave { numbers, revision }).map_err(|_| Stopped)?;
        self.counters.until_answered(self.asked).await;
        Ok(())
    }
}
