//! Fields and helpers that all parts of the state share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ouro_net::RunId;
use ouro_service::{Clock, Conditions};
use tokio::sync::{broadcast, watch};

use crate::condition::Condition;
use crate::config::Checked;
use crate::event::ArenaEvent;
use crate::figures::Figures;
use crate::store::{Run, Store, StoreError};

/// Events that are buffered for a slow receiver before it loses the oldest: minutes of events at a
/// busy gate.
const EVENTS: usize = 1_024;

/// The run, its store, the clock and the outgoing events.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) run: Run,
    pub(super) id: RunId,
    pub(super) checked: Checked,
    pub(super) store: Box<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) events: broadcast::Sender<ArenaEvent>,
    pub(super) conditions: watch::Sender<Conditions<Condition>>,
    pub(super) figures: Arc<Figures>,
    /// Why the arena must end, if a call has found out.
    pub(super) end: Mutex<Option<StoreError>>,
}

impl Shared {
    pub(super) fn new(
        run: Run,
        id: RunId,
        checked: Checked,
        store: Box<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (events, conditions) = (broadcast::Sender::new(EVENTS), watch::Sender::default());
        let figures = Arc::default();
        Self { run, id, checked, store, clock, events, conditions, figures, end: Mutex::default() }
    }

    /// Emits an event to all receivers.
    pub(super) fn emit(&self, event: ArenaEvent) {
        // Sending fails only without receivers, which is no error.
        let _ = self.events.send(event);
    }

    /// Sets a condition, or clears it with `None`. Returns whether that changed anything.
    pub(super) fn set_condition(&self, condition: Condition, message: Option<String>) -> bool {
        self.conditions.send_if_modified(|conditions| conditions.set(condition, message))
    }

    /// Unix time, in seconds.
    pub(super) fn now(&self) -> f64 {
        self.clock.unix().as_secs_f64()
    }
}

/// Locks a mutex. A panic cannot leave its value half changed: every holder replaces it at once.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
