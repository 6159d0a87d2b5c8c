//! The leases of a worker, renewed by a thread of their own.
//!
//! A ply of a slow search may take longer than a lease, so the thread that plays cannot renew it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::job::JobId;
use super::queue::worker::WorkerQueue;

/// Time between two looks whether jobs were withdrawn, as they are when a match is decided.
const LOOK: Duration = Duration::from_millis(200);

/// Time between two renewals, less than a third of a lease.
const RENEW: Duration = Duration::from_secs(3);

/// The jobs that a worker holds, each with whether it was lost.
#[derive(Debug, Default)]
pub(crate) struct Leases(Mutex<BTreeMap<JobId, bool>>);

impl Leases {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<JobId, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, job: JobId) {
        self.lock().insert(job, false);
    }

    pub(crate) fn remove(&self, job: JobId) {
        self.lock().remove(&job);
    }

    /// Whether all these jobs were lost, and there is one.
    pub(crate) fn are_lost<'a>(&self, mut jobs: impl Iterator<Item = &'a JobId>) -> bool {
        let held = self.lock();
        let is_lost = |job: &JobId| held.get(job).is_none_or(|is_lost| *is_lost);
        jobs.next().is_some_and(is_lost) && jobs.all(is_lost)
    }

    /// Removes a job if it was lost. Returns whether it was.
    pub(crate) fn drop_lost(&self, job: JobId) -> bool {
        let mut held = self.lock();
        let is_lost = held.get(&job).is_none_or(|is_lost| *is_lost);
        if is_lost {
            held.remove(&job);
        }
        is_lost
    }

    /// Removes all jobs and returns those that were not lost.
    pub(crate) fn clear(&self) -> Vec<JobId> {
        let jobs = std::mem::take(&mut *self.lock());
        jobs.into_iter().filter(|(_, is_lost)| !is_lost).map(|(job, _)| job).collect()
    }

    /// Renews the leases until `stop` is cancelled, then leaves the list of active workers. A failure
    /// is no loss: the queue decides at the delivery.
    pub(crate) fn keep(&self, mut queue: WorkerQueue, stop: &CancellationToken) {
        let mut renewed: Option<Instant> = None;
        while !stop.is_cancelled() {
            let held: Vec<JobId> = {
                let jobs = self.lock();
                jobs.iter().filter(|(_, is_lost)| !**is_lost).map(|(job, _)| *job).collect()
            };
            let is_due = renewed.is_none_or(|renewed| renewed.elapsed() >= RENEW);
            if is_due || !held.is_empty() {
                match queue.renew(&held, is_due) {
                    Ok(lost) => {
                        if is_due {
                            renewed = Some(Instant::now());
                        }
                        let mut jobs = self.lock();
                        for job in lost {
                            jobs.entry(job).and_modify(|is_lost| *is_lost = true);
                        }
                    }
                    // The thread that plays reports it.
                    Err(error) => tracing::debug!(%error, "leases were not renewed"),
                }
            }
            std::thread::sleep(LOOK);
        }
        // Here, because a renewal after it would count as a sign.
        if let Err(error) = queue.leave() {
            tracing::debug!(%error, "the arena will miss the worker later");
        }
    }
}
