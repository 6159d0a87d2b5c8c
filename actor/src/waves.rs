//! Play in waves, for runs that must repeat bit for bit.
//!
//! An actor usually plays with the newest weights, and timing decides which weights those are. In a
//! wave it plays complete games with given numbers and one roster. The numbers seed the games and
//! fix the order in which they are sent. The games of a wave therefore depend only on the roster,
//! the numbers and the settings, and an interrupted wave can be resumed.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::counters::ActorCounters;

/// A set of games to play.
#[derive(Clone, Debug)]
pub(crate) struct Wave {
    /// Numbers of the games.
    pub(crate) numbers: Range<u64>,
    /// Minimum revision of the pool with which the games are played.
    pub(crate) revision: u32,
}

/// Error of a wave that was sent to a stopped actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the actor has stopped")]
pub struct Stopped;

/// Sends waves to an actor; see [`Actor::in_waves`](crate::Actor::in_waves).
#[derive(Debug)]
pub struct Waves {
    orders: Sender<Wave>,
    counters: Arc<ActorCounters>,
    /// Number of games requested so far.
    asked: u64,
}

impl Waves {
    pub(crate) fn new(counters: Arc<ActorCounters>) -> (Self, Receiver<Wave>) {
        let (orders, waves) = channel();
        (Self { orders, counters, asked: 0 }, waves)
    }

    /// Plays the games with these numbers and waits until the learner has answered each of them.
    ///
    /// The roster is that of `revision` of the pool or of a later revision. Does not return if the
    /// actor ends meanwhile.
    pub async fn play(&mut self, numbers: Range<u64>, revision: u32) -> Result<(), Stopped> {
        self.asked += numbers.end.saturating_sub(numbers.start);
        self.orders.send(Wave { numbers, revision }).map_err(|_| Stopped)?;
        self.counters.until_answered(self.asked).await;
        Ok(())
    }
}
