//! What arena and workers send each other, read as its receiver reads it. For fuzz targets.

use ouro_game::GameConfig;
use ouro_rating::{ClusterResult, ClusterShape};

use super::job::{Job, JobId};
use super::verify::VerifyCluster;
use crate::matches::{MatchGames, PlayedCluster, SeededCluster};
use crate::player_id::MatchKey;
use crate::store::StoredGame;

/// The version that a job must name.
pub const PROGRAM: &str = super::job::PROGRAM;

/// Reads a job as a worker does that is set up for `game`, and writes it again. The error is the
/// refusal.
pub fn read_job(text: &[u8], game: &GameConfig) -> Result<String, String> {
    Job::read(text, game).map(|job| job.to_json()).map_err(|error| error.to_string())
}

/// Reads the id of a job and writes it again; `None` if it is refused.
pub fn read_id(text: &str) -> Option<String> {
    text.parse().ok().map(|id: JobId| id.to_string())
}

/// Cluster 0 of match 0, whose result a worker sends.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    /// The run's game.
    pub game: &'a GameConfig,
    /// The match.
    pub key: &'a MatchKey,
    /// Size of a cluster.
    pub shape: ClusterShape,
    /// The seed of the games.
    pub seed: u64,
    /// Plies after which a game is truncated.
    pub max_plies: usize,
}

impl Cluster<'_> {
    /// Reads and verifies a result as the arena does. The error is the refusal.
    pub fn read(&self, text: &[u8]) -> Result<(ClusterResult, Vec<StoredGame>), String> {
        let Self { game, key, shape, seed, max_plies } = *self;
        let games = MatchGames { config: game, key, number: 0, shape };
        let cluster = SeededCluster { cluster: 0, seed };
        let read = game.visit(VerifyCluster { games, cluster, max_plies, text });
        let verified = read.map_err(|error| error.to_string())?;
        let PlayedCluster { result, games } = verified.map_err(|error| error.to_string())?;
        Ok((result, games))
    }
}
