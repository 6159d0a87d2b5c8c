//! The thread that watches which workers are active.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::queue::arena::Presence;

/// Time between two looks, in steps after which a stop is noticed.
const LOOK: [Duration; 10] = [Duration::from_millis(100); 10];

/// Publishes the number of active workers until `stop` is cancelled. While the server cannot be
/// reached, no worker counts: the arena then plays alone.
pub(crate) fn watch_workers(
    mut presence: Presence,
    active: &watch::Sender<u32>,
    stop: &CancellationToken,
) {
    let mut known = BTreeSet::new();
    while !stop.is_cancelled() {
        let names = match presence.active() {
            Ok(names) => names.into_iter().collect(),
            Err(error) => {
                tracing::debug!(%error, "cannot look for workers");
                BTreeSet::new()
            }
        };
        report(&known, &names);
        known = names;
        let count = u32::try_from(known.len()).unwrap_or(u32::MAX);
        active.send_if_modified(|active| std::mem::replace(active, count) != count);
        for step in LOOK {
            if stop.is_cancelled() {
                return;
            }
            thread::sleep(step);
        }
    }
}

/// Logs who came and who left.
fn report(before: &BTreeSet<String>, now: &BTreeSet<String>) {
    let active = now.len();
    for worker in now.difference(before) {
        tracing::info!(worker, active, "a worker plays along");
    }
    for worker in before.difference(now) {
        tracing::info!(worker, active, "a worker is gone");
    }
}
