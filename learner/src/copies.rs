//! Returns weights to the arena that it has lost.
//!
//! The arena lists the checkpoints whose files are missing or damaged. The training states hold the
//! weights of the newest generations, as they were published.

use std::path::Path;

use ouro_proto::Checkpoint;
use ouro_proto::arena_client::ArenaClient;

use crate::training_state::find_weights;

/// Returns those of the `missing` checkpoints that are found in `directory`.
pub(crate) async fn return_copies(
    arena: &mut ArenaClient,
    directory: &Path,
    missing: Vec<Checkpoint>,
) {
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
