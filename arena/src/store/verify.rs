//! Verification of a whole store: its tables against its log, and the weights files.

use ouro_proto::{Checkpoint, CheckpointStatus};

use super::error::StoreError;
use super::interface::Store;
use super::replay::{ReplayError, replay};
use super::weights::{WeightsError, WeightsFolder};

/// What a sound store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Checkpoints of all generations.
    pub checkpoints: usize,
    /// Matches.
    pub matches: usize,
    /// Promotions.
    pub promotions: usize,
    /// Entries that damage destroyed.
    pub lost: u64,
    /// Weights files that were read, each with the content hash in its name.
    pub weights: usize,
}

/// Why a store is not sound.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The tables cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log contradicts itself.
    #[error("the log of results does not replay: {0}")]
    Replay(#[from] ReplayError),
    /// A table differs from the replay of the log.
    #[error("the table of {0} is not what the log of results leads to")]
    Table(&'static str),
    /// A weights file is missing or damaged.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// Replays the log of a store and compares the result with the tables. Reads all weights files.
/// Those of the newest checkpoint and of every checkpoint that was not rejected must exist.
pub fn verify(store: &dyn Store, folder: &WeightsFolder) -> Result<Verified, VerifyError> {
    let replayed = replay(store)?;
    let (checkpoints, matches) = (store.checkpoints()?, store.matches()?);
    let promotions = store.promotions()?;
    for (name, is_equal) in [
        ("checkpoints", replayed.checkpoints == checkpoints),
        ("decisions", replayed.decisions == store.decisions()?),
        ("promotions", replayed.promotions == promotions),
        ("matches", replayed.matches == matches),
    ] {
        if !is_equal {
            return Err(VerifyError::Table(name));
        }
    }
    let weights = folder.hashes()?;
    for hash in &weights {
        folder.read(*hash)?;
    }
    let newest = checkpoints.last().map(|row| row.hash);
    let is_needed =
        |row: &&Checkpoint| row.status != CheckpointStatus::Rejected || Some(row.hash) == newest;
    if let Some(lost) =
        checkpoints.iter().filter(is_needed).find(|row| !weights.contains(&row.hash))
    {
        return Err(WeightsError::Missing(lost.hash).into());
    }
    Ok(Verified {
        checkpoints: checkpoints.len(),
        matches: matches.len(),
        promotions: promotions.len(),
        lost: replayed.lost,
        weights: weights.len(),
    })
}
