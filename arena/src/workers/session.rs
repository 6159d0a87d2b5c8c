//! The jobs of one match that a worker plays.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::job::{Job, JobHead, JobId, JobResult};
use super::leases::Leases;
use super::queue::worker::{Taken, WorkerQueue};
use super::worker::Stop;
use crate::matches::{ClusterSource, PlayedCluster, SeededCluster};
use crate::store::StoreError;

/// Time between two looks for more jobs: short beside a cluster, long beside the round trip.
const LOOK: Duration = Duration::from_millis(10);

/// Time between two looks while the server cannot be reached.
const RETRY: Duration = Duration::from_secs(1);

/// Plays jobs of one match until there are no more, they are withdrawn, or the worker stops.
pub(crate) struct Session<'a> {
    pub(crate) head: &'a JobHead,
    pub(crate) queue: &'a mut WorkerQueue,
    pub(crate) leases: &'a Leases,
    pub(crate) stop: &'a Stop,
    /// Jobs that are taken and not started. A job of another match ends the session.
    pub(crate) waiting: &'a mut VecDeque<Taken>,
    /// Job of each cluster that is started.
    pub(crate) held: BTreeMap<u32, JobId>,
    pub(crate) next_look: Option<Instant>,
    /// Clusters that were delivered.
    pub(crate) played: u32,
    pub(crate) failed: Option<StoreError>,
}

impl Session<'_> {
    /// Delivers clusters. Repeats it while the server cannot be reached.
    fn deliver(&mut self, ended: Vec<PlayedCluster>) -> ControlFlow<()> {
        let mut results = Vec::with_capacity(ended.len());
        for PlayedCluster { result, games } in ended {
            let cluster = result.cluster;
            let Some(id) = self.held.remove(&cluster) else { continue };
            let result = JobResult { number: self.head.number, cluster, games };
            // Plain data, as in the arena's store.
            results.push((id, serde_json::to_string(&result).unwrap_or_default()));
        }
        if results.is_empty() {
            return ControlFlow::Continue(());
        }
        let mut has_warned = false;
        while let Err(error) = self.queue.deliver(&results) {
            match error {
                StoreError::Unreachable { store, problem } if !self.stop.is_over() => {
                    if !has_warned {
                        tracing::warn!(problem, "{store} cannot be reached: results wait for it");
                        has_warned = true;
                    }
                }
                error => {
                    self.failed = Some(error);
                    return ControlFlow::Break(());
                }
            }
        }
        self.played += results.len() as u32;
        results.iter().for_each(|(id, _)| self.leases.remove(*id));
        ControlFlow::Continue(())
    }

    /// Takes jobs into `waiting`.
    fn look(&mut self, room: usize) {
        let is_early = self.next_look.is_some_and(|next| Instant::now() < next);
        if is_early || self.stop.is_asked() {
            return;
        }
        self.next_look = Some(Instant::now() + LOOK);
        match self.queue.take(room) {
            Ok(jobs) => {
                jobs.iter().for_each(|(id, _)| self.leases.add(*id));
                self.waiting.extend(jobs);
            }
            // The games in play go on. Their delivery waits for the server.
            Err(StoreError::Unreachable { .. }) => self.next_look = Some(Instant::now() + RETRY),
            Err(error) => self.failed = Some(error),
        }
    }

    /// The next waiting job, if it is of this match.
    fn next(&mut self) -> Option<(JobId, SeededCluster)> {
        let (id, text) = self.waiting.front()?;
        let job = Job::read(text, &self.head.game).ok().filter(|job| job.head == *self.head)?;
        let id = *id;
        self.waiting.pop_front();
        Some((id, job.seeded()))
    }
}

impl ClusterSource for Session<'_> {
    fn report(&mut self, ended: Vec<PlayedCluster>) -> ControlFlow<()> {
        self.deliver(ended)?;
        if self.leases.are_lost(self.held.values()) || self.failed.is_some() || self.stop.is_over()
        {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn take(&mut self, room: usize) -> Vec<SeededCluster> {
        if self.waiting.len() < room {
            self.look(room - self.waiting.len());
        }
        let mut taken = Vec::new();
        while !self.stop.is_asked()
            && taken.len() < room
            && let Some((id, cluster)) = self.next()
        {
            // The same cluster under a new number replaces its job: the games are equal.
            match self.held.insert(cluster.cluster, id) {
                None => taken.push(cluster),
                // Its lease ran out, and this worker took it again: the new lease stays.
                Some(old) if old == id => {}
                Some(old) => self.leases.remove(old),
            }
        }
        taken
    }

    fn wait(&mut self) -> ControlFlow<()> {
        let is_over = self.failed.is_some() || self.stop.is_asked() || !self.waiting.is_empty();
        if is_over {
            return ControlFlow::Break(());
        }
        // The arena issues more jobs of the match as results come in.
        match self.queue.wait() {
            Ok(Some(job)) => {
                self.leases.add(job.0);
                self.waiting.push_back(job);
                ControlFlow::Continue(())
            }
            Ok(None) => ControlFlow::Break(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
