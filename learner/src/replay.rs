//! The replay as the threads of the learner share it.
//!
//! The journal writer inserts games, the feed threads draw batches, and status requests read the
//! figures.
//! A [`SharedReplay`] makes both sides of a [`Replay`] wait for each other: drawing waits for
//! games, and [`room`](SharedReplay::room) waits for drawing. Closing wakes both sides.
//!
//! The order of these waits depends on timing. A deterministic run therefore
//! [leads](SharedReplay::lead) the replay: it first collects enough games, then allows a number of
//! batches. At the end of a run the replay [accepts all games](SharedReplay::take_all).

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use ouro_net::Generation;
use ouro_replay::{Batch, EncodedTrajectory, Replay, ReplayState, Status, WindowError};
use tokio::sync::Notify;

use crate::game_traces;

/// A replay that the threads of the learner share: drawing waits for games, and room for drawing.
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
    /// Whether every game has room, regardless of the sample-to-insert ratio.
    takes_all: bool,
    /// Batches that a led replay may still draw; `None` if the replay is not led.
    allowed: Option<u64>,
    /// The reason if the last draw had to wait.
    waiting_for: Option<WindowError>,
}

/// The drawn positions of one batch.
#[derive(Debug)]
pub struct DrawnPositions {
    /// The positions.
    pub batch: Batch<EncodedTrajectory>,
    /// Batches drawn before this one since the start of the run.
    pub index: u64,
    /// State of the replay after the draw. A training state keeps it with the trained weights.
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
        // Poisoning is ignored, because every change of the state is complete before a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the replay [has room](Self::has_room).
    pub async fn room(&self, positions: u64, on_their_way: u64) {
        loop {
            let drawn = self.drawn.notified();
            tokio::pin!(drawn);
            // Registered before the check, so that no notification in between is missed.
            drawn.as_mut().enable();
            if self.has_room(positions, on_their_way) {
                return;
            }
            drawn.await;
        }
    }

    /// Makes this a led replay, for a deterministic run. From now on only batches that
    /// [`allow`](Self::allow) permits are drawn, and every game has room. The caller keeps the
    /// sample-to-insert ratio.
    pub fn lead(&self) {
        self.lock().allowed = Some(0);
        self.drawn.notify_waiters();
    }

    /// Gives every game room from now on, for the end of a run. Stopping actors would otherwise
    /// lose their last games while they wait for training.
    pub fn take_all(&self) {
        self.lock().takes_all = true;
        self.drawn.notify_waiters();
    }

    /// Whether the replay is [led](Self::lead).
    pub fn is_led(&self) -> bool {
        self.lock().allowed.is_some()
    }

    /// Whether `batches` batches of `count` positions can be drawn without another insertion.
    pub fn holds(&self, batches: u64, count: usize) -> bool {
        let mut state = self.lock();
        let newest = state.newest;
        state.replay.holds(batches, count, newest)
    }

    /// Permits `batches` more draws. No effect unless the replay is led.
    pub fn allow(&self, batches: u64) {
        if let Some(allowed) = &mut self.lock().allowed {
            *allowed = allowed.saturating_add(batches);
        }
        self.inserted.notify_all();
    }

    /// Whether `positions` may be inserted in addition to those `on_their_way`.
    ///
    /// A closed replay always has room, because nothing is drawn from it any more. So do a
    /// [led](Self::lead) replay and one that [takes all](Self::take_all) games.
    pub fn has_room(&self, positions: u64, on_their_way: u64) -> bool {
        let state = self.lock();
        let is_free = state.closed || state.takes_all || state.allowed.is_some();
        is_free || state.replay.may_insert(positions, on_their_way)
    }

    /// Inserts a game. `number` is its number in the journal.
    pub fn insert(&self, number: u64, game: EncodedTrajectory) -> Result<(), WindowError> {
        self.lock().replay.insert(number, game)?;
        self.inserted.notify_one();
        Ok(())
    }

    /// Draws `count` positions; `None` once the replay is closed. Blocks until they are available.
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
                    // An insertion wakes one thread. Another one may find enough positions as well.
                    self.inserted.notify_one();
                    let after = state.replay.state();
                    drop(state);
                    let numbers = batch.draws.iter().map(|draw| draw.number);
                    game_traces::drawn(after.cursor.batches, numbers);
                    return Some(DrawnPositions { batch, index, state: after });
                }
                Err(error) => state.waiting_for = Some(error),
            }
            // A queue may have dropped stale games, which makes room as well.
            self.drawn.notify_waiters();
            state = self.inserted.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    /// Raises the newest generation; an older one changes nothing.
    pub fn published(&self, generation: Generation) {
        let mut state = self.lock();
        state.newest = state.newest.max(generation);
    }

    /// Figures for status reports, and the reason if the last draw had to wait.
    pub fn status(&self) -> (Status, Option<String>) {
        let state = self.lock();
        let waiting_for = state.waiting_for.as_ref().map(ToString::to_string);
        (state.replay.status(), waiting_for)
    }

    /// Whether the last draw had to wait for games.
    pub(crate) fn is_starved(&self) -> bool {
        let state = self.lock();
        state.waiting_for.is_some() || state.allowed == Some(0)
    }

    /// Whether the replay was closed.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Closes the replay: draws return `None`, and every insertion has room.
    pub fn close(&self) {
        self.lock().closed = true;
        self.inserted.notify_all();
        self.drawn.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
