//! The pool as actors see it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use ouro_proto::pool::{PoolMember, PoolSnapshot};
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_rating::Ratings;
use ouro_rating::comparison::expected_share;
use tokio::sync::watch;

use super::WeightsState;
use super::shared::{Shared, lock};
use crate::store::StoreError;

/// The snapshot of the pool that subscribers receive.
#[derive(Debug)]
pub(crate) struct PoolState {
    shared: Arc<Shared>,
    snapshots: watch::Sender<Arc<PoolSnapshot>>,
    /// Held from reading the store to publishing, so that an older snapshot never replaces a newer
    /// one.
    refreshing: Mutex<()>,
}

impl PoolState {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, snapshots: watch::Sender::default(), refreshing: Mutex::default() }
    }

    /// Subscribes to snapshots of the pool.
    pub(crate) fn snapshots(&self) -> watch::Receiver<Arc<PoolSnapshot>> {
        self.snapshots.subscribe()
    }

    /// Publishes the pool if it has changed.
    pub(super) fn refresh(
        &self,
        ratings: impl FnOnce() -> Arc<Ratings>,
        weights: &WeightsState,
    ) -> Result<(), StoreError> {
        let _refreshing = lock(&self.refreshing);
        let checkpoints = self.shared.store.checkpoints()?;
        let ratings = ratings();
        let unreadable = weights.unreadable();
        let run = Some(self.shared.id);
        let newest = checkpoints.last().cloned();
        // Actors play the newest weights, whatever their status. Other rejected weights are unused.
        let is_used = |row: &&Checkpoint| {
            row.status != CheckpointStatus::Rejected || newest.as_ref() == Some(*row)
        };
        // A member may be set aside without a known problem: the answer of the store was lost, or its
        // weights were out of reach at the start. It needs a copy as well.
        let is_missing = |row: &&Checkpoint| {
            row.status == CheckpointStatus::SetAside || unreadable.contains_key(&row.generation)
        };
        let missing: Vec<Checkpoint> =
            checkpoints.iter().filter(is_missing).filter(is_used).cloned().collect();
        let known =
            newest.as_ref().and_then(|newest| rated_ancestor(&ratings, &checkpoints, newest));
        let is = |status| move |row: &&Checkpoint| row.status == status;
        let candidates = checkpoints.iter().filter(is(CheckpointStatus::Candidate)).count();
        self.shared.figures.candidates.store(candidates as u64, Ordering::Relaxed);
        let champion = checkpoints.iter().find(is(CheckpointStatus::Champion)).cloned();
        let members: Vec<PoolMember> = checkpoints
            .into_iter()
            .filter(|row| matches!(row.status, CheckpointStatus::Pool | CheckpointStatus::Champion))
            .map(|checkpoint| {
                let newest_wins = known.as_ref().and_then(|newest| {
                    let member = checkpoint.generation.to_string();
                    if !ratings.is_rated(&member) {
                        return None;
                    }
                    // The share in games that rank the two: with more than two seats, players that
                    // share the last place were not ranked. Without its interval, the estimate needs
                    // no sparse solve per member.
                    Some(expected_share(ratings.elo(newest)? - ratings.elo(&member)?))
                });
                PoolMember { checkpoint, newest_wins }
            })
            .collect();
        self.snapshots.send_if_modified(move |shown| {
            let revision = shown.revision;
            let mut snapshot = PoolSnapshot { revision, newest, champion, members, run, missing };
            // Revision 0 is the default before the first snapshot, which is published even if
            // empty.
            if **shown == snapshot && revision > 0 {
                return false;
            }
            snapshot.revision += 1;
            *shown = Arc::new(snapshot);
            true
        });
        Ok(())
    }
}

/// The newest checkpoint if it has a game that counts, else its nearest ancestor that has one.
///
/// Weights without games are best estimated by the strength of the weights from which they were
/// trained.
fn rated_ancestor(
    ratings: &Ratings,
    checkpoints: &[Checkpoint],
    newest: &Checkpoint,
) -> Option<String> {
    let mut row = newest;
    loop {
        let name = row.generation.to_string();
        if ratings.is_rated(&name) {
            return Some(name);
        }
        // A parent has a lower number, so the loop ends.
        let parent = row.parent.filter(|&parent| parent < row.generation)?;
        row = checkpoints.iter().find(|row| row.generation == parent)?;
    }
}
