//! The networks of a worker: fetched from the arena by hash, verified, and kept in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use ouro_net::{ContentHash, Engine, Weights};
use ouro_proto::ArenaClient;
use ouro_proto::arena_client::ArenaError;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::job::JobSide;
use crate::side::Side;

/// Networks that are kept. A candidate and the players around it are used again and again.
const KEPT: usize = 8;

/// Why a side cannot play.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    #[error(transparent)]
    Arena(#[from] ArenaError),
    #[error("weights {hash} cannot be used: {error}")]
    Weights { hash: ContentHash, error: ouro_net::WeightsError },
    #[error("the worker stops")]
    Stopped,
}

/// Networks by hash, each with the time of its last use.
pub(crate) struct Engines {
    arena: ArenaClient,
    runtime: Handle,
    stop: CancellationToken,
    kept: BTreeMap<ContentHash, (u64, Arc<Engine>)>,
    uses: u64,
}

impl Engines {
    /// Networks of `arena`, fetched on `runtime` until `stop` is cancelled.
    pub(crate) fn new(arena: ArenaClient, runtime: Handle, stop: CancellationToken) -> Self {
        Self { arena, runtime, stop, kept: BTreeMap::new(), uses: 0 }
    }

    /// The side that a job describes. Blocks while weights are fetched.
    pub(crate) fn side(&mut self, side: &JobSide) -> Result<Side, EngineError> {
        match side {
            JobSide::Anchor(name) => Ok(Side::Anchor(name.as_str().into())),
            JobSide::Network { player, hash, size_bytes } => {
                let engine = self.engine(*hash, *size_bytes)?;
                Ok(Side::Network { player: player.as_str().into(), engine })
            }
        }
    }

    fn engine(&mut self, hash: ContentHash, bytes: u64) -> Result<Arc<Engine>, EngineError> {
        self.uses += 1;
        if let Some((used, engine)) = self.kept.get_mut(&hash) {
            *used = self.uses;
            return Ok(Arc::clone(engine));
        }
        let (arena, stop) = (&mut self.arena, &self.stop);
        let file = self.runtime.block_on(async {
            let fetched = tokio::select! {
                file = arena.fetch_file(hash, bytes) => file,
                () = stop.cancelled() => return Err(EngineError::Stopped),
            };
            // The connection may carry a certificate that has expired since it was opened.
            if fetched.as_ref().is_err_and(ArenaError::is_unauthenticated) {
                arena.reconnect();
            }
            Ok(fetched?)
        })?;
        let weights = Weights::from_safetensors(&file);
        let weights = weights.map_err(|error| EngineError::Weights { hash, error })?;
        let engine = Arc::new(Engine::new(&weights));
        if self.kept.len() >= KEPT
            && let Some(oldest) =
                self.kept.iter().min_by_key(|(_, (used, _))| *used).map(|(hash, _)| *hash)
        {
            self.kept.remove(&oldest);
        }
        self.kept.insert(hash, (self.uses, Arc::clone(&engine)));
        Ok(engine)
    }
}
