//! Verification of a whole store: its tables against its log, and the weights files.

use ouro_net::Generation;
use ouro_proto::{Checkpoint, CheckpointStatus};

use super::error::StoreError;
use super::interface::Store;
use super::replay::{ReplayError, replay};
use super::weights::{WeightsError, WeightsStore};

/// What a sound store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The newest generation; `None` before the first.
    pub newest: Option<Generation>,
    /// Checkpoints of all generations.
    pub checkpoints: usize,
    /// Matches.
    pub matches: usize,
    /// Promotions.
    pub promotions: usize,
    /// Entries that damage destroyed.
    pub lost: u64,
    /// Weights that were read, each with the content hash in its name.
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
    /// Weights are missing or damaged.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// Replays the log of a store and compares the result with the tables. Reads all weights.
/// Those of the newest checkpoint and of every checkpoint that was not rejected must exist; after a
/// repair, an undecided candidate may lack them.
pub fn verify(store: &dyn Store, weights: &dyn WeightsStore) -> Result<Verified, VerifyError> {
    let (verified, missing) = verify_with_missing(store, weights)?;
    match missing.first() {
        Some(lost) => Err(WeightsError::Missing(lost.hash).into()),
        None => Ok(verified),
    }
}

/// Like [`verify`], but missing weights are no error. Also returns the checkpoints that need them, oldest
/// first.
pub fn verify_with_missing(
    store: &dyn Store,
    weights: &dyn WeightsStore,
) -> Result<(Verified, Vec<Checkpoint>), VerifyError> {
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
    let hashes = weights.hashes()?;
    for hash in &hashes {
        weights.read(*hash)?;
    }
    let newest = checkpoints.last().map(|row| row.hash);
    // A candidate whose rejection was lost has no weights any more; the next start drops it.
    let is_needed = |row: &&Checkpoint| match row.status {
        _ if Some(row.hash) == newest => true,
        CheckpointStatus::Rejected => false,
        CheckpointStatus::Candidate => replayed.lost == 0,
        _ => true,
    };
    let is_missing = |row: &&Checkpoint| !hashes.contains(&row.hash);
    let missing = checkpoints.iter().filter(is_needed).filter(is_missing).cloned().collect();
    let verified = Verified {
        newest: checkpoints.last().map(|row| row.generation),
        checkpoints: checkpoints.len(),
        matches: matches.len(),
        promotions: promotions.len(),
        lost: replayed.lost,
        weights: hashes.len(),
    };
    Ok((verified, missing))
}

#[cfg(test)]
mod tests {
    use ouro_game::GameConfig;
    use ouro_net::{ContentHash, Generation, RunId};
    use ouro_replay::testing::MemoryDisk;

    use super::super::error::SCHEMA_VERSION;
    use super::super::line_file::format_line;
    use super::super::rows::{LogEntry, Run, RunStarted};
    use super::super::{EmbeddedStore, LOG_FILE, WeightsFolder};
    use super::*;

    fn checkpoint(generation: u32, weights: &[u8]) -> LogEntry {
        LogEntry::CheckpointPublished(Checkpoint {
            hash: ContentHash::of(weights),
            generation: Generation(generation),
            step: 1,
            size_bytes: weights.len() as u64,
            status: CheckpointStatus::Candidate,
            published_at: 1.0,
            parent: None,
        })
    }

    #[test]
    fn a_candidate_may_lack_its_weights_only_after_a_repair() {
        let game = GameConfig::by_name("tic_tac_toe").unwrap();
        let run = Run { game, seed: 1 };
        let id = RunId::of(b"run");
        let started = LogEntry::RunStarted(RunStarted { version: SCHEMA_VERSION, id, run });
        let folder = tempfile::tempdir().unwrap();
        let weights = WeightsFolder::open(folder.path()).unwrap();
        weights.write(ContentHash::of(b"new"), b"new").unwrap();
        let lost = LogEntry::Lost { reason: "it was damaged".to_owned() };
        for (second, is_sound) in [(Some(lost), true), (None, false)] {
            let entries = [Some(started.clone()), Some(checkpoint(0, b"old")), second];
            let entries = entries.into_iter().chain([Some(checkpoint(1, b"new"))]).flatten();
            let lines = (0..).zip(entries).map(|(number, entry)| {
                format_line(number, &serde_json::to_string(&entry).unwrap())
            });
            let disk = MemoryDisk::new();
            disk.put(LOG_FILE, lines.collect::<String>().as_bytes());
            let store = EmbeddedStore::on(disk).unwrap();
            let verified = verify(&store, &weights);
            assert_eq!(verified.is_ok(), is_sound, "{verified:?}");
            let (_, missing) = verify_with_missing(&store, &weights).unwrap();
            let generations: Vec<u32> = missing.iter().map(|row| row.generation.0).collect();
            let expected: &[u32] = if is_sound { &[] } else { &[0] };
            assert_eq!(generations, expected);
        }
    }
}
