//! The traced games of a learner: on their way to the journal, in the replay, and in a batch.
//!
//! The trace of a game follows from its name, but the journal and the replay know games by their
//! numbers. This registry connects both. It belongs to the process, like the export itself.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ouro_net::Generation;
use ouro_traces::{IS_BUILT, Time, Trace, span, trace_of};

/// Most traced games that wait for their first draw. The oldest are forgotten: the window has dropped
/// them, or will draw others first.
const MOST: usize = 4_096;

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { waiting: BTreeMap::new(), drawn: BTreeMap::new() });

/// Entries of the registry, so that draws without any take no lock.
static ENTRIES: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
struct Registry {
    /// By number: games that are appended or in the replay, since when.
    waiting: BTreeMap<u64, (Trace, Time)>,
    /// By batch: games whose first draw it has.
    drawn: BTreeMap<u64, Vec<Trace>>,
}

/// Changes the registry if `is_wanted` holds for its number of entries.
fn with(is_wanted: impl Fn(usize) -> bool, change: impl FnOnce(&mut Registry)) {
    if !IS_BUILT || !is_wanted(ENTRIES.load(Ordering::Acquire)) {
        return;
    }
    let mut registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    change(&mut registry);
    ENTRIES.store(registry.waiting.len() + registry.drawn.len(), Ordering::Release);
}

/// A game is appended to the journal under this number.
pub(crate) fn appended(actor: &str, epoch: u64, sequence: u64, number: u64) {
    let Some(trace) = trace_of(actor, epoch, sequence) else { return };
    with(
        |_| true,
        |registry| {
            registry.waiting.insert(number, (trace, Time::now()));
            if registry.waiting.len() > MOST {
                registry.waiting.pop_first();
            }
        },
    );
}

/// A game is on disk and enters the replay.
pub(crate) fn committed(number: u64) {
    with(
        |entries| entries > 0,
        |registry| {
            if let Some((trace, since)) = registry.waiting.get_mut(&number) {
                let now = Time::now();
                trace.send(span::JOURNAL, *since, now, &[("game", number)]);
                *since = now;
            }
        },
    );
}

/// A batch is drawn; `batches` counts the batches up to it.
pub(crate) fn drawn(batches: u64, numbers: impl Iterator<Item = u64>) {
    with(
        |entries| entries > 0,
        |registry| {
            let now = Time::now();
            for number in numbers {
                if let Some((trace, since)) = registry.waiting.remove(&number) {
                    trace.send(span::REPLAY, since, now, &[("game", number)]);
                    registry.drawn.entry(batches).or_default().push(trace);
                }
            }
        },
    );
}

/// The batch was trained on.
pub(crate) fn trained(batches: u64, start: Time, step: u64, generation: Generation) {
    with(
        |entries| entries > 0,
        |registry| {
            let now = Time::now();
            for trace in registry.drawn.remove(&batches).unwrap_or_default() {
                let generation = generation.0.into();
                trace.send(span::TRAIN, start, now, &[("step", step), ("generation", generation)]);
            }
        },
    );
}
