//! Returns weights to the arena that it has lost.
//!
//! The arena lists the checkpoints whose files are missing or damaged. The training states hold the
//! weights of the newest generations, as they were published.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ouro_proto::arena_client::{ArenaClient, ArenaError};
use ouro_proto::pool::PoolSnapshot;
use ouro_service::Backoff;

use crate::training_state::find_weights;

/// A stream that lasted longer resets the back-off to its first delay.
const STABLE_STREAM: Duration = Duration::from_secs(10);

/// Follows the pool until the future is dropped, and returns what is missing and found in
/// `directory`.
pub(crate) async fn return_copies(mut arena: ArenaClient, directory: PathBuf) {
    let mut backoff = Backoff::default();
    loop {
        let started = tokio::time::Instant::now();
        if let Err(error) = follow(&mut arena, &directory).await {
            tracing::debug!(%error, "lost the pool; trying again");
            if error.is_unauthenticated() {
                // The connection may carry a certificate that has expired since it was opened.
                arena.reconnect();
            }
        }
        if started.elapsed() > STABLE_STREAM {
            backoff.reset();
        }
        backoff.sleep().await;
    }
}

async fn follow(arena: &mut ArenaClient, directory: &Path) -> Result<(), ArenaError> {
    let mut snapshots = arena.watch_pool().await?;
    while let Some(PoolSnapshot { missing, .. }) = snapshots.next().await? {
        for checkpoint in missing {
            let (hash, generation) = (checkpoint.hash, checkpoint.generation.0);
            let directory = directory.to_owned();
            let found = tokio::task::spawn_blocking(move || find_weights(&directory, hash)).await;
            let Ok(Some(bytes)) = found else { continue };
            match arena.publish(checkpoint.generation, checkpoint.step, bytes.into()).await {
                Ok(_) => tracing::info!(generation, "returned lost weights to the arena"),
                Err(error) => {
                    tracing::warn!(generation, %error, "cannot return weights to the arena");
                }
            }
        }
    }
    Ok(())
}
