//! Loads checkpoints as networks that are ready to play.
//!
//! Weights come from memory, from the [`Cache`] on disk, or from the arena, in this order. Each
//! file is validated once: its hash, its format, and the fit of its network to the game.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::{ContentHash, Engine, Weights};
use ouro_players::{FitError, NetEvaluator};
use ouro_proto::Checkpoint;
use ouro_proto::arena_client::{ArenaClient, ArenaError};
use ouro_service::blocking;
use tracing::warn;

use crate::cache::Cache;
use crate::roster::Entry;

/// Error that makes a checkpoint unplayable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Arena(#[from] ArenaError),
    #[error("checkpoint {hash} is not usable: {error}")]
    Weights { hash: ContentHash, error: ouro_net::WeightsError },
    #[error("checkpoint {hash} is not usable: {error}")]
    Fit { hash: ContentHash, error: FitError },
    #[error("the game's configuration is not valid: {0}")]
    Game(#[from] ouro_game::ConfigError),
    #[error("loading was cut off by the end of the process")]
    Cancelled,
}

/// The loaded networks, by content hash.
pub(crate) struct Loader {
    game: GameConfig,
    cache: Option<Arc<Cache>>,
    loaded: BTreeMap<ContentHash, Arc<Engine>>,
}

/// Checks that a network fits a game, by building an evaluator.
struct Fits(String, Arc<Engine>);

impl GameVisitor for Fits {
    type Output = Result<(), FitError>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        NetEvaluator::new(&self.0, self.1, &game).map(drop)
    }
}

impl Loader {
    /// A loader for a game, without any network yet.
    pub(crate) fn new(game: GameConfig, cache: Option<Arc<Cache>>) -> Self {
        Self { game, cache, loaded: BTreeMap::new() }
    }

    /// Drops all networks except these.
    pub(crate) fn keep(&mut self, hashes: &[ContentHash]) {
        self.loaded.retain(|hash, _| hashes.contains(hash));
    }

    /// Returns the network of a checkpoint, which is loaded if necessary.
    pub(crate) async fn entry(
        &mut self,
        arena: &mut ArenaClient,
        checkpoint: &Checkpoint,
    ) -> Result<Entry, LoadError> {
        let (hash, generation) = (checkpoint.hash, checkpoint.generation);
        if let Some(engine) = self.loaded.get(&hash) {
            return Ok(Entry { hash, generation, engine: Arc::clone(engine) });
        }
        let bytes = match self.cached(hash).await? {
            Some(bytes) => bytes,
            None => arena.fetch_weights(checkpoint).await?,
        };
        // Parsing, packing and writing would block an async thread for too long.
        let (game, cache) = (self.game.clone(), self.cache.clone());
        let built = blocking(move || {
            let weights = Weights::from_safetensors(&bytes)
                .map_err(|error| LoadError::Weights { hash, error })?;
            let engine = Arc::new(Engine::new(&weights));
            let fits = Fits(generation.to_string(), Arc::clone(&engine));
            game.visit(fits)?.map_err(|error| LoadError::Fit { hash, error })?;
            if let Some(cache) = cache
                && let Err(error) = cache.put(hash, &bytes, SystemTime::now())
            {
                warn!(%hash, %error, "cannot keep weights on disk; going on without");
            }
            Ok::<_, LoadError>(engine)
        });
        let engine = built.await.map_err(|_| LoadError::Cancelled)??;
        self.loaded.insert(hash, Arc::clone(&engine));
        Ok(Entry { hash, generation, engine })
    }

    /// The file with this hash from the cache on disk, if it is there.
    pub(crate) async fn cached(&self, hash: ContentHash) -> Result<Option<Vec<u8>>, LoadError> {
        let Some(cache) = self.cache.clone() else { return Ok(None) };
        let read = blocking(move || cache.get(hash, SystemTime::now()));
        read.await.map_err(|_| LoadError::Cancelled)
    }
}
