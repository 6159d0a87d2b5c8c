//! The clusters of a match that are in play, as a state machine.
//!
//! A job is one cluster. Jobs are issued to workers or played by the arena itself, and end in any
//! order, several times or never. [`JobTable::fold`] returns each result once and in the order of
//! the clusters, so a match does not depend on who played which cluster, or when. A table starts
//! from the first cluster that is not stored, so a restart issues the unfinished jobs again.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// The jobs of a match. `R` is the result of a job.
#[derive(Debug)]
pub(crate) struct JobTable<R> {
    /// The first cluster that was not folded.
    next: u32,
    /// The first cluster that was not given to anybody.
    frontier: u32,
    end: u32,
    /// No cluster from here on is given to anybody yet.
    limit: u32,
    /// The clusters between the two.
    open: BTreeMap<u32, JobState<R>>,
}

#[derive(Debug)]
enum JobState<R> {
    /// The arena plays it.
    Own,
    /// Workers may play it, since this time.
    Issued(Duration),
    /// The arena has to play it: its result was refused, its job was lost, or the queue of jobs failed.
    Returned,
    Done(R),
}

impl<R> JobTable<R> {
    /// A table of these clusters.
    pub(crate) fn new(clusters: Range<u32>) -> Self {
        let Range { start, end } = clusters;
        Self { next: start, frontier: start, end, limit: end, open: BTreeMap::new() }
    }

    /// Whether every result was folded.
    pub(crate) fn is_complete(&self) -> bool {
        self.next >= self.end
    }

    /// Gives away only as many clusters as are missing for a ruling. Otherwise games would be played
    /// that cannot count any more.
    pub(crate) fn set_missing(&mut self, missing: u32) {
        self.limit = self.next.saturating_add(missing).min(self.end);
    }

    /// The clusters to issue to workers, so that at most `window` clusters are between the first
    /// that is missing and the last that was given away. The limit bounds what is wasted when the
    /// match is decided early.
    pub(crate) fn issue(&mut self, window: usize, now: Duration) -> Range<u32> {
        let room = window.saturating_sub(self.open.len());
        self.advance(room, || JobState::Issued(now))
    }

    /// Takes clusters for the arena: first those that were returned, then new ones.
    pub(crate) fn take(&mut self, room: usize) -> Vec<u32> {
        let mut taken = self.take_returned(room);
        let new = self.advance(room - taken.len(), || JobState::Own);
        taken.extend(new);
        taken
    }

    /// Takes clusters that were returned for the arena.
    pub(crate) fn take_returned(&mut self, room: usize) -> Vec<u32> {
        self.own(room, |state| matches!(state, JobState::Returned))
    }

    /// Clusters that were issued at `limit` or earlier, for the arena. The first result counts.
    pub(crate) fn take_overdue(&mut self, room: usize, limit: Duration) -> Vec<u32> {
        self.own(room, |state| matches!(state, JobState::Issued(since) if *since <= limit))
    }

    /// Marks clusters that the arena has withdrawn from the workers. Returns those that it has to
    /// play; others have ended meanwhile.
    pub(crate) fn withdraw(&mut self, clusters: &[u32]) -> Vec<u32> {
        let mut own = Vec::with_capacity(clusters.len());
        for &cluster in clusters {
            if let Some(state @ JobState::Issued(_)) = self.open.get_mut(&cluster) {
                *state = JobState::Own;
                own.push(cluster);
            }
        }
        own
    }

    /// Returns all issued clusters to the arena, because workers cannot be reached.
    pub(crate) fn recall(&mut self) {
        for state in self.open.values_mut().filter(|state| matches!(state, JobState::Issued(_))) {
            *state = JobState::Returned;
        }
    }

    /// The clusters that workers may play.
    pub(crate) fn issued(&self) -> Vec<u32> {
        let issued = self.open.iter().filter(|(_, state)| matches!(state, JobState::Issued(_)));
        issued.map(|(cluster, _)| *cluster).collect()
    }

    /// Returns an issued cluster to the arena, because a worker sent a wrong result or its job was
    /// lost.
    pub(crate) fn refuse(&mut self, cluster: u32) {
        if let Some(state @ JobState::Issued(_)) = self.open.get_mut(&cluster) {
            *state = JobState::Returned;
        }
    }

    /// Whether the result of a cluster is missing.
    pub(crate) fn is_open(&self, cluster: u32) -> bool {
        self.open.get(&cluster).is_some_and(|state| !matches!(state, JobState::Done(_)))
    }

    /// Adds a result. The first result of a cluster counts; returns `false` for others.
    pub(crate) fn finish(&mut self, cluster: u32, result: R) -> bool {
        let is_open = self.is_open(cluster);
        if is_open {
            self.open.insert(cluster, JobState::Done(result));
        }
        is_open
    }

    /// Removes the results that have no gap before them, in the order of the clusters.
    pub(crate) fn fold(&mut self) -> Vec<R> {
        let mut results = Vec::new();
        while let Some(first) = self.open.first_entry() {
            if *first.key() != self.next || !matches!(first.get(), JobState::Done(_)) {
                break;
            }
            if let JobState::Done(result) = first.remove() {
                results.push(result);
            }
            self.next += 1;
        }
        results
    }

    /// Opens the next clusters, at most `room`.
    fn advance(&mut self, room: usize, state: impl Fn() -> JobState<R>) -> Range<u32> {
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        // A limit that was lowered takes nothing back.
        let limit = self.limit.max(self.frontier);
        let new = self.frontier..self.frontier.saturating_add(room).min(limit);
        self.open.extend(new.clone().map(|cluster| (cluster, state())));
        self.frontier = new.end;
        new
    }

    /// Gives clusters in some state to the arena, first ones first.
    fn own(&mut self, room: usize, is_wanted: impl Fn(&JobState<R>) -> bool) -> Vec<u32> {
        let wanted = self.open.iter_mut().filter(|(_, state)| is_wanted(state)).take(room);
        wanted
            .map(|(cluster, state)| {
                *state = JobState::Own;
                *cluster
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
