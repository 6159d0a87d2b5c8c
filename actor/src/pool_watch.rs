//! Keeps the roster up to date: polls the arena, fetches and loads weights that are new.
//!
//! Without the newest weights there is no roster. A member of the pool that cannot be had is
//! left out, and asked for again at each poll.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ouro_net::{Engine, Weights};
use ouro_proto::arena_client::{ArenaClient, ArenaError, Pool};
use ouro_proto::{Checkpoint, ContentHash};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::ActorCounters;
use crate::roster::{Entry, Member, Roster};

/// Time between two questions to the arena.
const POLL: Duration = Duration::from_millis(500);

/// Longest pause after failures.
const MAX_BACKOFF: Duration = Duration::from_secs(10);

/// Why a checkpoint of the roster is not playable.
#[derive(Debug, thiserror::Error)]
enum LoadError {
    #[error(transparent)]
    Arena(#[from] ArenaError),
    #[error("checkpoint {hash} is not usable: {error}")]
    Weights { hash: ContentHash, error: ouro_net::WeightsError },
    #[error("loading was cut off by the end of the process")]
    Cancelled,
}

/// Networks that are loaded, by content hash.
#[derive(Default)]
struct Loaded(BTreeMap<ContentHash, Arc<Engine>>);

/// Polls until `stop`, sending each changed roster.
pub(crate) async fn watch_pool(
    mut arena: ArenaClient,
    rosters: watch::Sender<Option<Arc<Roster>>>,
    counters: Arc<ActorCounters>,
    stop: CancellationToken,
) {
    let mut loaded = Loaded::default();
    let mut last = None;
    let mut pause = POLL;
    loop {
        let refreshed = tokio::select! {
            () = stop.cancelled() => return,
            refreshed = refresh(&mut arena, &mut loaded, &mut last) => refreshed,
        };
        let whole = match refreshed {
            Ok(Refreshed { roster, missing }) => {
                if let Some(roster) = roster {
                    let (generation, pool) = (roster.newest.generation, roster.pool.len());
                    info!(generation, pool, missing, "new roster");
                    counters.set_newest(generation);
                    rosters.send_replace(Some(Arc::new(roster)));
                }
                missing == 0
            }
            Err(error) => {
                warn!(%error, "cannot refresh the roster; trying again");
                false
            }
        };
        pause = if whole { POLL } else { (pause * 2).min(MAX_BACKOFF) };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// What a question to the arena came to.
#[derive(Debug)]
struct Refreshed {
    /// The roster, if it is not the `last` one.
    roster: Option<Roster>,
    /// Members of the pool that could not be loaded.
    missing: usize,
}

/// Asks for the roster. `last` holds the hashes of the last one: the newest, then the pool.
async fn refresh(
    arena: &mut ArenaClient,
    loaded: &mut Loaded,
    last: &mut Option<Vec<ContentHash>>,
) -> Result<Refreshed, LoadError> {
    let Pool { newest, pool, champion: _ } = arena.get_pool().await?;
    let Some(newest) = newest else { return Ok(Refreshed { roster: None, missing: 0 }) };
    let newest = loaded.entry(arena, &newest).await?;
    let mut entries = Vec::with_capacity(pool.len());
    for checkpoint in &pool {
        match loaded.entry(arena, checkpoint).await {
            Ok(entry) => entries.push(entry),
            Err(error) => {
                let generation = checkpoint.generation.0;
                warn!(generation, %error, "a member of the pool is left out");
            }
        }
    }
    let missing = pool.len() - entries.len();
    let hashes: Vec<ContentHash> =
        std::iter::once(&newest).chain(&entries).map(|entry| entry.hash).collect();
    loaded.0.retain(|hash, _| hashes.contains(hash));
    if last.as_ref() == Some(&hashes) {
        return Ok(Refreshed { roster: None, missing });
    }
    *last = Some(hashes);
    let pool = entries.into_iter().map(|entry| Member { entry, newest_wins: None }).collect();
    Ok(Refreshed { roster: Some(Roster { newest, pool }), missing })
}

impl Loaded {
    async fn entry(
        &mut self,
        arena: &mut ArenaClient,
        checkpoint: &Checkpoint,
    ) -> Result<Entry, LoadError> {
        let hash = checkpoint.hash;
        let generation = checkpoint.generation.0;
        if let Some(engine) = self.0.get(&hash) {
            return Ok(Entry { hash, generation, engine: Arc::clone(engine) });
        }
        let bytes = arena.fetch_weights(checkpoint).await?;
        // Parsing and packing take longer than an async worker should be held.
        let built = tokio::task::spawn_blocking(move || {
            Weights::from_safetensors(&bytes).map(|weights| Arc::new(Engine::new(&weights)))
        });
        let engine = built
            .await
            .map_err(|_| LoadError::Cancelled)?
            .map_err(|error| LoadError::Weights { hash, error })?;
        self.0.insert(hash, Arc::clone(&engine));
        Ok(Entry { hash, generation, engine })
    }
}

#[cfg(test)]
mod tests;
