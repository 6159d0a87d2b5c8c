//! What an actor can be told.

use std::path::PathBuf;
use std::time::Duration;

use ouro_game::GameConfig;
use ouro_players::Shares;
use ouro_proto::trajectory::MAX_ACTOR_NAME;
use ouro_search::SearchConfig;
use ouro_search::mcts::{Noise, Temperature};
use serde::{Deserialize, Serialize};

use crate::ActorError;
use crate::worker::{Swap, WorkerSettings};

/// Most positions that a thread can remember.
const MAX_REMEMBERED: usize = 1 << 24;

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
    /// Games that each thread plays at once, 64 unless given; their moves share batches.
    #[serde(default = "default_games_per_thread")]
    pub games_per_thread: usize,
    /// Leaves of a full batch of one network, 256 unless given. More games than leaves take
    /// turns.
    #[serde(default = "default_batch")]
    pub batch: usize,
    /// Tree search that decides every move. Without it moves are drawn from the policy itself,
    /// as REINFORCE needs. See [`exploring`] for a search that explores.
    #[serde(default)]
    pub search: Option<SearchConfig>,
    /// Chance that a learning seat moves uniformly at random, 0 to 1, where no search decides;
    /// 0 unless given. The probability recorded is that of the mixture.
    #[serde(default)]
    pub epsilon: f32,
    /// Shares of self-play, of opponents from the pool preferred by how hard they are, and of
    /// opponents drawn uniformly; 0.5, 0.4 and 0.1 unless given.
    #[serde(default)]
    pub opponents: Shares,
    /// Games in a row of one thread that meet the same opponents, if they meet any; as many as
    /// it plays at once unless given, so that the opponents, too, have batches worth evaluating.
    /// With 1 every game draws for itself.
    #[serde(default)]
    pub cohort: Option<u64>,
    /// A game begins with up to this many random plies, uniformly many, which are no policy
    /// targets; 0 unless given.
    #[serde(default)]
    pub opening_plies: u32,
    /// When learning seats change over to new weights: between `games`, which is the default,
    /// or between `moves`.
    #[serde(default)]
    pub swap: Swap,
    /// Plies after which a game is cut short, 400 unless given.
    #[serde(default = "default_max_plies")]
    pub max_plies: usize,
    /// Memory that the trees of all threads may take together, in MiB; 1024 unless given.
    #[serde(default = "default_tree_memory_mib")]
    pub tree_memory_mib: usize,
    /// Positions whose evaluation each thread remembers, so that games which meet the same one
    /// evaluate it once; 0, which is the default, remembers nothing. Games that often repeat
    /// positions gain, others lose a little; what is played is the same.
    #[serde(default)]
    pub remembered_positions: usize,
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

/// A search for self-play as in `AlphaZero`: Dirichlet noise at the root, moves drawn by visits
/// for the first `sampled` time steps and then the best, leaves looked at under random
/// symmetries.
pub fn exploring(simulations: u32, sampled: u32) -> SearchConfig {
    SearchConfig {
        simulations,
        noise: Some(Noise::default()),
        temperature: Temperature::Until { time: sampled, before: 1.0, after: 0.0 },
        random_symmetry: true,
        ..SearchConfig::default()
    }
}

fn default_name() -> String {
    "actor".to_owned()
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn default_games_per_thread() -> usize {
    64
}

fn default_batch() -> usize {
    256
}

fn default_max_plies() -> usize {
    400
}

fn default_tree_memory_mib() -> usize {
    1_024
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
            games_per_thread: default_games_per_thread(),
            batch: default_batch(),
            search: None,
            epsilon: 0.0,
            opponents: Shares::default(),
            cohort: None,
            opening_plies: 0,
            swap: Swap::default(),
            max_plies: default_max_plies(),
            tree_memory_mib: default_tree_memory_mib(),
            remembered_positions: 0,
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
        let at_least_one = [
            ("threads", self.threads),
            ("games_per_thread", self.games_per_thread),
            ("batch", self.batch),
            ("max_plies", self.max_plies),
            ("tree_memory_mib", self.tree_memory_mib),
            ("outbox_games", self.outbox_games),
        ];
        for (field, value) in at_least_one {
            check(field, value, value >= 1, "give at least 1")?;
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let holds = (1..=MAX_ACTOR_NAME).contains(&self.name.len()) && self.name.bytes().all(plain);
        let name: String = self.name.chars().take(MAX_ACTOR_NAME).collect();
        let remedy = "give 1 to 64 letters, digits, dots, underscores or dashes";
        check("name", format!("{name:?}"), holds, remedy)?;
        let cohort = self.cohort.unwrap_or(1);
        check("cohort", cohort, cohort >= 1, "give at least 1")?;
        let holds = self.remembered_positions <= MAX_REMEMBERED;
        let remedy = "give at most 16777216";
        check("remembered_positions", self.remembered_positions, holds, remedy)?;
        check("epsilon", self.epsilon, (0.0..=1.0).contains(&self.epsilon), "give 0 to 1")?;
        let is_fine = self.epsilon == 0.0 || self.search.is_none();
        let remedy = "leave it out with a search, which explores by noise and temperature";
        check("epsilon", self.epsilon, is_fine, remedy)?;
        let is_short = (self.opening_plies as usize) < self.max_plies;
        check("opening_plies", self.opening_plies, is_short, "give less than max_plies")?;
        let holds =
            self.drain.seconds.is_finite() && (0.0..=86_400.0).contains(&self.drain.seconds);
        check("drain.seconds", self.drain.seconds, holds, "give 0 to 86400")?;
        check("cache.mib", self.cache.mib, self.cache.mib >= 1, "give at least 1")?;
        self.opponents.validate().map_err(ActorError::Opponents)?;
        if let Some(search) = &self.search {
            search.validate().map_err(ActorError::Search)?;
        }
        Ok(())
    }

    /// What the thread of number `index` is told, its games seeded by `seed`.
    pub(crate) fn worker(&self, seed: u64, index: usize) -> WorkerSettings {
        WorkerSettings {
            games: self.games_per_thread,
            batch: self.batch,
            shares: self.opponents,
            cohort: self.cohort.unwrap_or(self.games_per_thread as u64),
            search: self.search.clone(),
            epsilon: self.epsilon,
            opening_plies: self.opening_plies,
            swap: self.swap,
            max_plies: self.max_plies,
            tree_bytes: self.tree_memory_mib.saturating_mul(1 << 20) / self.threads.max(1),
            remembered: self.remembered_positions,
            seed,
            index: index as u64,
        }
    }
}

fn check(
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
