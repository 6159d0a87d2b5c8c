//! What a job says: everything that determines the games of one cluster.
//!
//! A worker plays a job only if it understands all of it, runs the version that issued it and is set
//! up for the same game. Otherwise it would play other games than the arena.

use std::fmt;
use std::str::FromStr;

use ouro_game::GameConfig;
use ouro_net::ContentHash;
use ouro_proto::text::brief;
use ouro_rating::ClusterShape;
use serde::{Deserialize, Serialize};

use crate::matches::{MatchGames, SeededCluster};
use crate::player_id::MatchKey;
use crate::store::StoredGame;

/// Version of the form of jobs and results that this code writes, and the only one it reads.
const FORM: u32 = 1;

/// The program. Two versions may choose other moves, so only equal versions play one match.
pub(super) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// Identifies a job: the match as it was opened for workers, and the cluster. It is the id of the
/// job in its stream, so it is never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobId {
    /// Counts how often a match was opened for workers.
    pub(crate) session: u64,
    pub(crate) cluster: u32,
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Number 0 is that of the session.
        write!(f, "{}-{}", self.session, u64::from(self.cluster) + 1)
    }
}

impl FromStr for JobId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (session, number) = text.split_once('-').ok_or(())?;
        let number: u64 = number.parse().map_err(drop)?;
        let cluster = number.checked_sub(1).and_then(|cluster| cluster.try_into().ok()).ok_or(())?;
        Ok(Self { session: session.parse().map_err(drop)?, cluster })
    }
}

/// One side of a match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum JobSide {
    /// A player that never changes, by name.
    Anchor(String),
    /// A network that plays as the named player.
    Network {
        player: String,
        /// Names the weights file.
        hash: ContentHash,
        size_bytes: u64,
    },
}

/// What all jobs of a match have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobHead {
    form: u32,
    program: String,
    /// Number of the match.
    pub(crate) number: u32,
    pub(crate) key: MatchKey,
    pub(crate) shape: ClusterShape,
    pub(crate) game: GameConfig,
    /// The first player, then the second.
    pub(crate) sides: [JobSide; 2],
    pub(crate) opening_plies: u32,
    pub(crate) max_plies: usize,
}

/// The version of a job, which can be read even if the rest cannot.
#[derive(Deserialize)]
struct JobVersion {
    head: HeadVersion,
}

#[derive(Deserialize)]
struct HeadVersion {
    form: u32,
    program: String,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    pub(crate) head: JobHead,
    pub(crate) cluster: u32,
    /// The seed of its games.
    pub(crate) seed: u64,
}

/// The games of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobResult {
    /// Number of the match.
    pub(crate) number: u32,
    pub(crate) cluster: u32,
    pub(crate) games: Vec<StoredGame>,
}

/// Why a worker does not play a job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    #[error("a job cannot be read: {0}; is deploy.store_name another run's?")]
    Unreadable(String),
    #[error(
        "the arena is version {program} (jobs of form {form}), this worker is version {PROGRAM} \
         (form {FORM}); run the same version"
    )]
    Version { program: String, form: u32 },
    #[error(
        "the arena plays {theirs}, the settings of this worker say {ours}; start it with the \
         arena's run.toml"
    )]
    Game { theirs: String, ours: String },
}

impl JobHead {
    pub(crate) fn new(
        games: MatchGames<'_>,
        sides: [JobSide; 2],
        opening_plies: u32,
        max_plies: usize,
    ) -> Self {
        Self {
            form: FORM,
            program: PROGRAM.to_owned(),
            number: games.number,
            key: games.key.clone(),
            shape: games.shape,
            game: games.config.clone(),
            sides,
            opening_plies,
            max_plies,
        }
    }

    pub(crate) fn games(&self) -> MatchGames<'_> {
        let Self { number, key, shape, game, .. } = self;
        MatchGames { config: game, key, number: *number, shape: *shape }
    }
}

impl Job {
    pub(crate) fn to_json(&self) -> String {
        // Plain data: numbers, names and a configuration that came from JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a job and checks that a worker that is set up for `game` plays it as the arena would.
    pub(crate) fn read(text: &[u8], game: &GameConfig) -> Result<Self, JobError> {
        let unreadable = |error: serde_json::Error| JobError::Unreadable(brief(&error.to_string()));
        let JobVersion { head: HeadVersion { form, program } } =
            serde_json::from_slice(text).map_err(unreadable)?;
        if form != FORM || program != PROGRAM {
            return Err(JobError::Version { program: brief(&program), form });
        }
        let job: Self = serde_json::from_slice(text).map_err(unreadable)?;
        if job.head.game != *game {
            let text = |game: &GameConfig| serde_json::to_string(game).unwrap_or_default();
            return Err(JobError::Game { theirs: text(&job.head.game), ours: text(game) });
        }
        Ok(job)
    }

    pub(crate) fn seeded(&self) -> SeededCluster {
        SeededCluster { cluster: self.cluster, seed: self.seed }
    }
}

#[cfg(test)]
pub(crate) mod tests;
