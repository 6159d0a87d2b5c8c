//! The game that is being shown, for watchers that come late.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ouro_game::Action;
use tokio::sync::broadcast;

use crate::showcase::{LiveEvent, LiveGame};

/// Moves that a slow watcher may be behind.
const MOVES: usize = 4_096;

/// Tells the moves of the game that is being shown. What a watcher hears first is the game so far.
#[derive(Debug)]
pub(crate) struct Live {
    shown: Mutex<Option<(LiveGame, Vec<Vec<Action>>)>>,
    events: broadcast::Sender<LiveEvent>,
}

impl Default for Live {
    fn default() -> Self {
        Self { shown: Mutex::default(), events: broadcast::Sender::new(MOVES) }
    }
}

impl Live {
    /// Takes what happened.
    pub(crate) fn tell(&self, event: LiveEvent) {
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
        // Told under the lock, so that who subscribes misses nothing. Nobody watching is no error.
        let _ = self.events.send(event);
    }

    /// Forgets a game that was broken off.
    pub(crate) fn clear(&self) {
        *self.shown() = None;
    }

    /// The game so far, and what follows.
    pub(crate) fn watch(&self) -> (Vec<LiveEvent>, broadcast::Receiver<LiveEvent>) {
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
