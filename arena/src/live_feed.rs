//! The moves of the game that is shown live, including past moves for late subscribers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ouro_game::Action;
use tokio::sync::broadcast;

use crate::showcase::{LiveEvent, LiveGame};

/// Events that are buffered for a slow subscriber before it loses the oldest. Pages show games at
/// their own pace, so they fall behind by whole games.
const MOVES: usize = 4_096;

/// Publishes the moves of the game that is shown live. A subscriber first receives the game so far.
#[derive(Debug)]
pub(crate) struct LiveFeed {
    shown: Mutex<Option<(LiveGame, Vec<Vec<Action>>)>>,
    events: broadcast::Sender<LiveEvent>,
}

impl Default for LiveFeed {
    fn default() -> Self {
        Self { shown: Mutex::default(), events: broadcast::Sender::new(MOVES) }
    }
}

impl LiveFeed {
    /// Publishes an event of the shown game.
    pub(crate) fn publish(&self, event: LiveEvent) {
        let mut shown = self.shown();
        match &event {
            LiveEvent::Started(game) => *shown = Some((game.clone(), Vec::new())),
            LiveEvent::Moved { actions, .. } => {
                if let Some((_, plies)) = &mut *shown {
                    plies.push(actions.clone());
                }
            }
            LiveEvent::Ended { .. } => *shown = None,
        }
        // The event is sent under the lock, so that a new subscriber misses no event. Sending fails
        // only without subscribers, which is not an error.
        let _ = self.events.send(event);
    }

    /// Removes an interrupted game.
    pub(crate) fn clear(&self) {
        *self.shown() = None;
    }

    /// The game so far, and a receiver of the events that follow.
    pub(crate) fn subscribe(&self) -> (Vec<LiveEvent>, broadcast::Receiver<LiveEvent>) {
        let shown = self.shown();
        let mut events = Vec::new();
        if let Some((game, plies)) = &*shown {
            events.push(LiveEvent::Started(game.clone()));
            events.extend(plies.iter().enumerate().map(|(ply, actions)| LiveEvent::Moved {
                key: game.key,
                ply: ply as u32,
                actions: actions.clone(),
            }));
        }
        (events, self.events.subscribe())
    }

    fn shown(&self) -> MutexGuard<'_, Option<(LiveGame, Vec<Vec<Action>>)>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
