//! A match that the arena shares with its workers.
//!
//! The arena plays along: it issues clusters as jobs, plays some of them itself, and plays what
//! workers leave unfinished. Workers can therefore only shorten a match. The order of the results
//! comes from the [`JobTable`].

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ouro_game::GameConfig;
use tokio::sync::watch;

use super::job::{Job, JobHead, JobId};
use super::job_table::JobTable;
use super::queue::arena::{ArenaQueue, Arrived};
use super::verify::{ResultError, VerifyCluster};
use crate::matches::{PlayedCluster, SeededCluster};
use crate::store::StoreError;

/// Clusters in play or waiting, in multiples of what all players together play at the same time. A
/// waiting one costs nothing, and no worker runs out of jobs while the arena plays a slow ply.
const WINDOW: usize = 3;

/// Most clusters between the first that is missing and the last that was issued. Results of workers
/// are held in memory until the results before them have arrived.
const LARGEST_WINDOW: usize = 4_096;

/// Time between two looks at the queue while the arena plays: short beside a match, long beside the
/// round trip of a look.
const LOOK: Duration = Duration::from_millis(10);

/// Time between two looks for lost jobs while the arena has nothing to play.
const SEARCH: Duration = Duration::from_secs(1);

/// Time after which the arena plays a cluster that it issued, if it has nothing else to do. A worker
/// that dies loses its lease much earlier; this is for one that renews its lease and delivers
/// nothing.
const OVERDUE: Duration = Duration::from_secs(120);

/// Time after which the arena issues jobs although no worker is active. Workers that are started on
/// demand are started because jobs wait.
const DEMAND: Duration = Duration::from_secs(5);

/// Workers whose wrong results are remembered.
const BANNED: usize = 1_000;

/// The arena's access to its workers.
#[derive(Debug)]
pub(crate) struct Workers {
    queue: Mutex<ArenaQueue>,
    active: watch::Receiver<u32>,
    /// Workers that sent a wrong result. Their results are dropped.
    banned: Mutex<BTreeSet<String>>,
}

impl Workers {
    /// Access by `queue` while `active` workers are there.
    pub(crate) fn new(queue: ArenaQueue, active: watch::Receiver<u32>) -> Self {
        Self { queue: Mutex::new(queue), active, banned: Mutex::default() }
    }

    fn active(&self) -> usize {
        *self.active.borrow() as usize
    }

    fn queue(&self) -> MutexGuard<'_, ArenaQueue> {
        // A step of the queue is one command, so a panic leaves nothing half done.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn banned(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.banned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A match that workers may help to play. See the [module](self).
#[derive(Debug)]
pub(crate) struct SharedMatch<'a> {
    workers: &'a Workers,
    head: JobHead,
    run_seed: u64,
    game: &'a GameConfig,
    /// Clusters that one process plays at the same time.
    capacity: usize,
    state: Sharing,
    /// The time of the first look.
    started: Option<Duration>,
    next_look: Duration,
    /// The time of the next look for lost jobs.
    next_search: Duration,
    /// Whether the last call of [`exchange`](Self::exchange) looked at the queue.
    has_looked: bool,
    /// Clusters that workers have played.
    helped: u32,
}

/// Whether a match is shared.
#[derive(Debug)]
enum Sharing {
    /// There was no worker yet, and the match is young.
    Alone,
    /// Jobs are issued under this session number.
    Open(u64),
    /// The queue failed, so the arena plays the rest of the match alone.
    Failed,
}

impl<'a> SharedMatch<'a> {
    /// A match of the run with seed `run_seed`, of whose games `parallel` are played at the same
    /// time.
    pub(crate) fn new(
        workers: &'a Workers,
        head: JobHead,
        game: &'a GameConfig,
        run_seed: u64,
        parallel: usize,
    ) -> Self {
        let capacity = parallel.max(1).div_ceil(head.shape.games() as usize);
        Self {
            workers,
            head,
            run_seed,
            game,
            capacity,
            state: Sharing::Alone,
            started: None,
            next_look: Duration::ZERO,
            next_search: Duration::ZERO,
            has_looked: false,
            helped: 0,
        }
    }

    /// Reads results and issues jobs, at most once per [`LOOK`] unless the arena `is_idle`.
    pub(crate) fn exchange(
        &mut self,
        table: &mut JobTable<PlayedCluster>,
        now: Duration,
        is_idle: bool,
    ) {
        self.has_looked = now >= self.next_look || is_idle;
        if !self.has_looked {
            return;
        }
        self.next_look = now + LOOK;
        if let Err(error) = self.try_exchange(table, now) {
            self.fail(table, &error);
        }
    }

    fn try_exchange(
        &mut self,
        table: &mut JobTable<PlayedCluster>,
        now: Duration,
    ) -> Result<(), StoreError> {
        let active = self.workers.active();
        let started = *self.started.get_or_insert(now);
        let is_wanted = active > 0 || now >= started + DEMAND;
        let session = match self.state {
            Sharing::Open(session) => session,
            Sharing::Alone if is_wanted => {
                let session = self.workers.queue().open()?;
                self.state = Sharing::Open(session);
                session
            }
            Sharing::Alone | Sharing::Failed => return Ok(()),
        };
        self.read(table, session)?;
        if !is_wanted {
            return Ok(());
        }
        let window = WINDOW.saturating_mul(self.capacity).saturating_mul(active + 1);
        let jobs: Vec<(JobId, String)> = table
            .issue(window.min(LARGEST_WINDOW), now)
            .map(|cluster| {
                let SeededCluster { cluster, seed } = self.seeded(cluster);
                let job = Job { head: self.head.clone(), cluster, seed };
                (JobId { session, cluster }, job.to_json())
            })
            .collect();
        self.workers.queue().issue(&jobs)
    }

    /// Adds the next results to the table. Returns how many have arrived.
    fn read(
        &mut self,
        table: &mut JobTable<PlayedCluster>,
        session: u64,
    ) -> Result<usize, StoreError> {
        let arrived = self.workers.queue().read()?;
        let count = arrived.len();
        for result in arrived {
            self.receive(table, session, result);
        }
        Ok(count)
    }

    /// Returns to the arena the clusters whose jobs are neither in the queue nor delivered: the answer
    /// to their withdrawal was lost.
    fn return_lost(
        &mut self,
        table: &mut JobTable<PlayedCluster>,
        session: u64,
    ) -> Result<(), StoreError> {
        let issued = table.issued().into_iter().map(|cluster| JobId { session, cluster });
        let missing = self.workers.queue().missing(&issued.collect::<Vec<_>>())?;
        // A delivery adds its result before it removes the job.
        while self.read(table, session)? > 0 {}
        missing.iter().for_each(|job| table.refuse(job.cluster));
        Ok(())
    }

    /// Verifies a result and adds it to the table. A cluster with a wrong result is played by the
    /// arena. Results of other sessions are dropped.
    fn receive(&mut self, table: &mut JobTable<PlayedCluster>, session: u64, arrived: Arrived) {
        let Arrived { job, worker, games } = arrived;
        let job = job.filter(|job| job.session == session && table.is_open(job.cluster));
        let Some(JobId { cluster, .. }) = job else { return };
        let verified = match self.workers.banned().contains(&worker) {
            true => None,
            false => Some(self.verify(cluster, &games)),
        };
        match verified {
            Some(Ok(played)) => {
                self.helped += u32::from(table.finish(cluster, played));
            }
            // It costs as much as a job that never comes back, and the worker may be honest.
            Some(Err(error @ ResultError::OtherMatch(_))) => {
                let number = self.head.number;
                tracing::warn!(
                    worker, %error, "old result for match {number}, cluster {cluster}: the arena \
                    plays the cluster"
                );
                table.refuse(cluster);
            }
            Some(Err(error)) => {
                let number = self.head.number;
                tracing::error!(
                    worker, %error, "wrong result of match {number}, cluster {cluster}: \
                    results of this worker are ignored until the arena restarts"
                );
                let mut banned = self.workers.banned();
                if banned.len() < BANNED {
                    banned.insert(worker);
                }
                table.refuse(cluster);
            }
            None => table.refuse(cluster),
        }
    }

    fn verify(&self, cluster: u32, games: &[u8]) -> Result<PlayedCluster, ResultError> {
        let visitor = VerifyCluster {
            games: self.head.games(),
            cluster: self.seeded(cluster),
            max_plies: self.head.max_plies,
            text: games,
        };
        self.game.visit(visitor).unwrap_or_else(|error| Err(ResultError::Rules(error.to_string())))
    }

    /// The clusters that the arena starts now, of which it has room for `room`.
    pub(crate) fn take(
        &mut self,
        table: &mut JobTable<PlayedCluster>,
        now: Duration,
        room: usize,
        is_idle: bool,
    ) -> Vec<u32> {
        let Sharing::Open(session) = self.state else { return table.take(room) };
        let mut taken = table.take_returned(room);
        let room = room - taken.len();
        // An empty batch is filled at once, a part of one at the next look.
        if room > 0 && (self.has_looked || room >= self.capacity) {
            let withdrawn = self.workers.queue().withdraw(room);
            match withdrawn {
                Ok(jobs) => {
                    let clusters: Vec<u32> = jobs.iter().map(|job| job.cluster).collect();
                    taken.extend(table.withdraw(&clusters));
                }
                Err(error) => {
                    self.fail(table, &error);
                    taken.extend(table.take(room));
                }
            }
        }
        if taken.is_empty() && self.workers.active() == 0 {
            taken = table.take(room);
        }
        if taken.is_empty() && is_idle && now >= self.next_search {
            self.next_search = now + SEARCH;
            if let Err(error) = self.return_lost(table, session) {
                self.fail(table, &error);
            }
            taken = table.take_returned(room);
        }
        if taken.is_empty() && is_idle && now > OVERDUE {
            taken = table.take_overdue(room, now - OVERDUE);
        }
        taken
    }

    /// The cluster with the seed of its games.
    pub(crate) fn seeded(&self, cluster: u32) -> SeededCluster {
        SeededCluster { cluster, seed: self.head.key.seed(self.run_seed, cluster) }
    }

    fn fail(&mut self, table: &mut JobTable<PlayedCluster>, error: &StoreError) {
        tracing::warn!(
            number = self.head.number, %error, "workers cannot be reached: the arena plays alone"
        );
        table.recall();
        self.state = Sharing::Failed;
    }

    /// Withdraws everything from the workers, which then drop what they play.
    pub(crate) fn close(self) {
        if !matches!(self.state, Sharing::Open(_)) {
            return;
        }
        let number = self.head.number;
        tracing::info!(number, clusters = self.helped, "workers have helped with a match");
        if let Err(error) = self.workers.queue().open() {
            // The next match that is shared clears the queue.
            tracing::warn!(%error, "jobs of an ended match stay in the queue");
        }
    }
}

#[cfg(test)]
mod tests;
