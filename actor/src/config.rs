//! What an actor can be told.

use std::path::PathBuf;
use std::time::Duration;

use ouro_game::GameConfig;
use ouro_proto::trajectory::MAX_ACTOR_NAME;
use serde::{Deserialize, Serialize};

use crate::ActorError;
use crate::worker::WorkerSettings;

mod play;

pub use play::{PlayConfig, exploring};

/// Settings of one actor process. Every key has a default except the game and the addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActorConfig {
    /// Name of this actor, unique in the run: 1 to 64 letters, digits, `.`, `_` or `-`.
    /// `actor` unless given.
    #[serde(default = "default_name")]
    pub name: String,
    /// The game to play; must be the learner's.
    pub game: GameConfig,
    /// Address of the arena, `http://host:port`.
    pub arena: String,
    /// Address of the learner, `http://host:port`.
    pub learner: String,
    /// Threads that play; one per core unless given.
    #[serde(default = "default_threads")]
    pub threads: usize,
    /// How games are played.
    #[serde(default)]
    pub play: PlayConfig,
    /// Finished games kept until the learner has acknowledged them, 256 unless given.
    #[serde(default = "default_outbox_games")]
    pub outbox_games: usize,
    /// What happens to weights that were fetched.
    #[serde(default)]
    pub cache: CacheConfig,
    /// How the actor stops.
    #[serde(default)]
    pub drain: DrainConfig,
    /// Games that the learner refused are appended to this file, one line of JSON each; not
    /// kept unless given.
    #[serde(default)]
    pub dead_letters: Option<PathBuf>,
    /// Most bytes of the file of refused games, in MiB; 64 unless given. What comes after is
    /// only logged.
    #[serde(default = "default_dead_letters_mib")]
    pub dead_letters_mib: u64,
    /// A line for each game sent or acknowledged is appended to this file: for checking that
    /// none is lost or doubled. Not written unless given.
    #[serde(default)]
    pub log_records: Option<PathBuf>,
    /// Seed of games and opponents, 0 unless given. Two actors of a run, and two starts of one,
    /// play different games all the same, unless `deterministic` is set.
    #[serde(default)]
    pub seed: u64,
    /// The seed alone decides which games are played, for runs that must repeat bit for bit;
    /// each start of a run then needs a seed of its own. Off unless given.
    #[serde(default)]
    pub deterministic: bool,
}

/// Weights on disk, by content hash, so that a restart fetches nothing twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheConfig {
    /// Folder, which several actors of a machine may share. Nothing is kept unless given.
    pub folder: Option<PathBuf>,
    /// Most bytes in it, in MiB; 1024 unless given. The least recently used files go first.
    pub mib: u64,
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self { folder: None, mib: 1_024 }
    }
}

/// How an actor stops, once it is told to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DrainConfig {
    /// Whether games in play are played to their end; else they are dropped. Off unless given.
    pub finish_games: bool,
    /// Most seconds for that, and for the learner to acknowledge what it was sent; 10 unless
    /// given.
    pub seconds: f64,
}

impl Default for DrainConfig {
    fn default() -> Self {
        Self { finish_games: false, seconds: 10.0 }
    }
}

impl DrainConfig {
    /// The time that stopping may take.
    pub fn grace(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }
}

fn default_name() -> String {
    "actor".to_owned()
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn default_outbox_games() -> usize {
    256
}

fn default_dead_letters_mib() -> u64 {
    64
}

impl ActorConfig {
    /// A configuration with every default, for a game and two addresses.
    pub fn new(game: GameConfig, arena: String, learner: String) -> Self {
        Self {
            name: default_name(),
            game,
            arena,
            learner,
            threads: default_threads(),
            play: PlayConfig::default(),
            outbox_games: default_outbox_games(),
            cache: CacheConfig::default(),
            drain: DrainConfig::default(),
            dead_letters: None,
            dead_letters_mib: default_dead_letters_mib(),
            log_records: None,
            seed: 0,
            deterministic: false,
        }
    }

    /// Refuses values that cannot work, naming the field.
    pub fn validate(&self) -> Result<(), ActorError> {
        check("threads", self.threads, self.threads >= 1, "give at least 1")?;
        check("outbox_games", self.outbox_games, self.outbox_games >= 1, "give at least 1")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let holds = (1..=MAX_ACTOR_NAME).contains(&self.name.len()) && self.name.bytes().all(plain);
        let name: String = self.name.chars().take(MAX_ACTOR_NAME).collect();
        let remedy = "give 1 to 64 letters, digits, dots, underscores or dashes";
        check("name", format!("{name:?}"), holds, remedy)?;
        let holds =
            self.drain.seconds.is_finite() && (0.0..=86_400.0).contains(&self.drain.seconds);
        check("drain.seconds", self.drain.seconds, holds, "give 0 to 86400")?;
        check("cache.mib", self.cache.mib, self.cache.mib >= 1, "give at least 1")?;
        self.play.validate()
    }

    /// What the thread of number `index` is told, its games seeded by `seed`.
    pub(crate) fn worker(&self, seed: u64, index: usize) -> WorkerSettings {
        self.play.worker(self.threads, seed, index)
    }
}

pub(crate) fn check(
    field: &'static str,
    value: impl ToString,
    holds: bool,
    remedy: &str,
) -> Result<(), ActorError> {
    if holds {
        return Ok(());
    }
    Err(ActorError::Config { field, value: value.to_string(), remedy: remedy.to_owned() })
}

#[cfg(test)]
mod tests;
