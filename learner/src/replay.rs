//! The games that are learned from, shared by the journal writer that adds to them, the threads that
//! draw batches, and whoever asks how things stand.
//!
//! A [`SharedReplay`] makes both sides of a [`Replay`] wait for each other: drawing waits for
//! games, and [`room`](SharedReplay::room) waits for drawing. Closing wakes both sides.
//!
//! Who waits for whom depends on the moment. For runs that must repeat bit for bit somebody can
//! [`lead`](SharedReplay::lead): first games come, as many as it takes, then batches are drawn.
//! Before a run ends, it [takes whatever comes](SharedReplay::take_all).

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use ouro_net::Generation;
use ouro_replay::{Batch, EncodedTrajectory, Replay, ReplayState, Status, WindowError};
use tokio::sync::Notify;

/// A shared replay. See the [module](self).
#[derive(Debug)]
pub struct SharedReplay {
    state: Mutex<State>,
    inserted: Condvar,
    drawn: Notify,
}

#[derive(Debug)]
struct State {
    replay: Replay<EncodedTrajectory>,
    newest: Generation,
    closed: bool,
    /// Whether there is room for whatever comes.
    takes_all: bool,
    /// Batches that may be drawn; as many as there are where nobody leads.
    allowed: Option<u64>,
    /// Why the last draw has to wait.
    waiting_for: Option<WindowError>,
}

/// Positions to make a batch of.
#[derive(Debug)]
pub struct DrawnPositions {
    /// The positions.
    pub batch: Batch<EncodedTrajectory>,
    /// Batches drawn before this one since the start of the run.
    pub index: u64,
    /// Where the replay stands after it: what a checkpoint of weights trained on it keeps.
    pub state: ReplayState,
}

impl SharedReplay {
    /// Shares a replay; `newest` is the newest generation.
    pub fn new(replay: Replay<EncodedTrajectory>, newest: Generation) -> Self {
        let state = State {
            replay,
            newest,
            closed: false,
            takes_all: false,
            allowed: None,
            waiting_for: None,
        };
        Self { state: Mutex::new(state), inserted: Condvar::new(), drawn: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is whole before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until [`has_room`](Self::has_room).
    pub async fn room(&self, positions: u64, on_their_way: u64) {
        loop {
            let drawn = self.drawn.notified();
            tokio::pin!(drawn);
            // Registered before the look, so that room made in between is not missed.
            drawn.as_mut().enable();
            if self.has_room(positions, on_their_way) {
                return;
            }
            drawn.await;
        }
    }

    /// From now on nothing is drawn but what [`allow`](Self::allow) allows, and there is room for
    /// whatever comes: whoever leads keeps the ratio of the two.
    pub fn lead(&self) {
        self.lock().allowed = Some(0);
        self.drawn.notify_waiters();
    }

    /// From now on there is room for whatever comes: the last games of actors that stop, which
    /// would be lost if they had to wait until training has come so far.
    pub fn take_all(&self) {
        self.lock().takes_all = true;
        self.drawn.notify_waiters();
    }

    /// Whether somebody leads.
    pub fn is_led(&self) -> bool {
        self.lock().allowed.is_some()
    }

    /// Whether so many batches of `count` positions can be drawn with nothing inserted between.
    pub fn holds(&self, batches: u64, count: usize) -> bool {
        let mut state = self.lock();
        let newest = state.newest;
        state.replay.holds(batches, count, newest)
    }

    /// Lets so many more batches be drawn, where somebody leads.
    pub fn allow(&self, batches: u64) {
        if let Some(allowed) = &mut self.lock().allowed {
            *allowed = allowed.saturating_add(batches);
        }
        self.inserted.notify_all();
    }

    /// Whether so many positions may be inserted, beside those `on_their_way` already. A closed
    /// replay takes anything, since nobody draws any more, and so does one that somebody leads or
    /// that was told to.
    pub fn has_room(&self, positions: u64, on_their_way: u64) -> bool {
        let state = self.lock();
        let is_free = state.closed || state.takes_all || state.allowed.is_some();
        is_free || state.replay.may_insert(positions, on_their_way)
    }

    /// Inserts the game that the journal has under `number`.
    pub fn insert(&self, number: u64, game: EncodedTrajectory) -> Result<(), WindowError> {
        self.lock().replay.insert(number, game)?;
        self.inserted.notify_one();
        Ok(())
    }

    /// Draws `count` positions, waiting for them; `None` once the replay is closed. Blocks.
    pub fn draw(&self, count: usize) -> Option<DrawnPositions> {
        let mut state = self.lock();
        while !state.closed {
            if state.allowed == Some(0) {
                state = self.inserted.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let (newest, index) = (state.newest, state.replay.state().cursor.batches);
            match state.replay.batch(count, newest) {
                Ok(batch) => {
                    state.waiting_for = None;
                    if let Some(allowed) = &mut state.allowed {
                        *allowed -= 1;
                    }
                    self.drawn.notify_waiters();
                    // Another thread that draws may find enough as well.
                    self.inserted.notify_one();
                    return Some(DrawnPositions { batch, index, state: state.replay.state() });
                }
                Err(error) => state.waiting_for = Some(error),
            }
            // A queue may have dropped games that were too old, which makes room as well.
            self.drawn.notify_waiters();
            state = self.inserted.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    /// There are newer weights than before.
    pub fn published(&self, generation: Generation) {
        let mut state = self.lock();
        state.newest = state.newest.max(generation);
    }

    /// Figures for people, and why nothing could be drawn last, if so.
    pub fn status(&self) -> (Status, Option<String>) {
        let state = self.lock();
        let waiting_for = state.waiting_for.as_ref().map(ToString::to_string);
        (state.replay.status(), waiting_for)
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Ends both sides.
    pub fn close(&self) {
        self.lock().closed = true;
        self.inserted.notify_all();
        self.drawn.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
