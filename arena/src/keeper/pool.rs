//! The pool as actors see it.

use std::sync::Arc;

use ouro_proto::pool::{PoolMember, PoolSnapshot};
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_rating::Ratings;

use super::{Keeper, held};
use crate::store::StoreError;

impl Keeper {
    /// Shows the pool as it stands to whoever watches, if it has changed.
    pub(super) fn show_pool(&self) -> Result<(), StoreError> {
        let _showing = held(&self.showing);
        let checkpoints = self.store.checkpoints()?;
        let model = self.model();
        let newest = checkpoints.last().cloned();
        let known = newest.as_ref().and_then(|newest| rated_ancestor(&model, &checkpoints, newest));
        let is = |status| move |row: &&Checkpoint| row.status == status;
        let champion = checkpoints.iter().find(is(CheckpointStatus::Champion)).cloned();
        let members: Vec<PoolMember> = checkpoints
            .into_iter()
            .filter(|row| matches!(row.status, CheckpointStatus::Pool | CheckpointStatus::Champion))
            .map(|checkpoint| {
                let newest_wins = known.as_ref().and_then(|newest| {
                    let member = checkpoint.generation.to_string();
                    let rated = model.is_rated(&member);
                    rated.then(|| model.compare(newest, &member)).flatten().map(|one| one.share)
                });
                PoolMember { checkpoint, newest_wins }
            })
            .collect();
        self.snapshots.send_if_modified(|shown| {
            let revision = shown.revision;
            let mut snapshot = PoolSnapshot { revision, newest, champion, members };
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

/// The newest weights if they have a game that counts, else the nearest ancestor that has one: what
/// is best known of weights that have just arrived is how strong those were that they came from.
fn rated_ancestor(
    model: &Ratings,
    checkpoints: &[Checkpoint],
    newest: &Checkpoint,
) -> Option<String> {
    let mut row = newest;
    loop {
        let name = row.generation.to_string();
        if model.is_rated(&name) {
            return Some(name);
        }
        // A parent has a lower number, so this ends.
        let parent = row.parent.filter(|&parent| parent < row.generation)?;
        row = checkpoints.iter().find(|row| row.generation == parent)?;
    }
}
