//! The window between many async streams and one training thread.
//!
//! Streams wait for room without holding anything but the one game they have in hand; the
//! training thread waits for a whole batch. Closing wakes both sides.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use ouro_proto::ActorId;
use tokio::sync::Notify;

use crate::samples::Samples;
use crate::window::{Inserted, Watermark, Window};

/// The learner no longer takes games in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the learner is shutting down")]
pub struct Closed;

/// A shared [`Window`].
#[derive(Debug)]
pub struct Queue {
    state: Mutex<State>,
    batch_ready: Condvar,
    room: Notify,
}

#[derive(Debug)]
struct State {
    window: Window,
    closed: bool,
}

impl Queue {
    /// Shares a window.
    pub fn new(window: Window) -> Self {
        let state = Mutex::new(State { window, closed: false });
        Self { state, batch_ready: Condvar::new(), room: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is whole before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Inserts an accepted game, waiting for room as long as it takes.
    pub async fn insert(
        &self,
        actor: &ActorId,
        sequence: u64,
        samples: Samples,
    ) -> Result<Inserted, Closed> {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Registered before the look, so that room made in between is not missed.
            room.as_mut().enable();
            {
                let mut state = self.lock();
                if state.closed {
                    return Err(Closed);
                }
                if state.window.has_room() {
                    let inserted = state.window.insert(actor, sequence, samples);
                    self.batch_ready.notify_one();
                    return Ok(inserted);
                }
            }
            room.await;
        }
    }

    /// Records that a game was refused; `false` if it was decided before.
    pub fn refuse(&self, actor: &ActorId, sequence: u64) -> bool {
        self.lock().window.decide(actor, sequence)
    }

    /// The life that an actor goes on with; see [`Window::begin`].
    pub fn begin(&self, name: &str, epoch: Option<u64>) -> Option<ActorId> {
        self.lock().window.begin(name, epoch)
    }

    /// Highest sequence number decided for an actor; 0 if none.
    pub fn watermark(&self, actor: &ActorId) -> u64 {
        self.lock().window.watermark(actor)
    }

    /// All watermarks, for a checkpoint.
    pub fn watermarks(&self) -> Vec<Watermark> {
        self.lock().window.watermarks()
    }

    /// The oldest `rows` moves, waiting for them; `None` once the queue is closed. Blocks.
    pub fn take(&self, rows: usize) -> Option<Samples> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(batch) = state.window.take(rows) {
                self.room.notify_waiters();
                return Some(batch);
            }
            state = self.batch_ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends both sides.
    pub fn close(&self) {
        self.lock().closed = true;
        self.batch_ready.notify_all();
        self.room.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::samples::RowShape;

    const SHAPE: RowShape = RowShape { planes: 1, actions: 1 };

    fn game(rows: usize) -> Samples {
        let mut samples = Samples::new(SHAPE);
        samples.planes.resize(rows, 0.0);
        samples.legal.resize(rows, true);
        samples.actions.resize(rows, 0);
        samples.behaviour.resize(rows, 1.0);
        samples.returns.resize(rows, 0.0);
        samples
    }

    fn actor() -> ActorId {
        ActorId { name: "a".into(), epoch: 1 }
    }

    #[tokio::test]
    async fn a_game_waits_until_a_batch_has_left_and_made_room() {
        let (actor, queue) = (actor(), Queue::new(Window::new(SHAPE, 4, &[])));
        queue.insert(&actor, 1, game(4)).await.unwrap();
        let second = queue.insert(&actor, 2, game(4));
        tokio::pin!(second);
        tokio::select! {
            biased;
            _ = &mut second => panic!("there is no room"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(queue.watermark(&actor), 1);
        assert_eq!(queue.take(4).map(|batch| batch.rows()), Some(4));
        assert_eq!(second.await, Ok(Inserted::New));
        assert_eq!(queue.watermark(&actor), 2);
    }

    #[tokio::test]
    async fn closing_wakes_both_sides() {
        let (actor, queue) = (actor(), Arc::new(Queue::new(Window::new(SHAPE, 4, &[]))));
        let other = Arc::clone(&queue);
        let trainer = std::thread::spawn(move || other.take(100).is_none());
        queue.insert(&actor, 1, game(4)).await.unwrap();
        let waiting = queue.insert(&actor, 2, game(1));
        tokio::pin!(waiting);
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("there is no room"),
            () = std::future::ready(()) => {}
        }
        queue.close();
        assert_eq!(waiting.await, Err(Closed));
        assert!(trainer.join().unwrap());
    }
}
