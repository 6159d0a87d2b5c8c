//! How an actor plays, whoever it plays for.

use ouro_players::OpponentShares;
use ouro_search::SearchConfig;
use ouro_search::mcts::{Noise, Temperature};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check;
use crate::ActorError;
use crate::worker::{Swap, WorkerSettings};

/// Most positions that a thread can remember.
const MAX_REMEMBERED: usize = 1 << 24;

/// How games are played for training. Every key has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PlayConfig {
    /// Games that each thread plays at once, 64 unless given; their moves share batches.
    pub games_per_thread: usize,
    /// Leaves of a full batch of one network, 256 unless given. More games than leaves take
    /// turns.
    pub batch: usize,
    /// Tree search that decides every move. Without it moves are drawn from the policy itself,
    /// as REINFORCE needs. See [`exploring`] for a search that explores.
    pub search: Option<SearchConfig>,
    /// Chance that a learning seat moves uniformly at random, 0 to 1, where no search decides;
    /// 0 unless given. The probability recorded is that of the mixture.
    pub epsilon: f32,
    /// Shares of self-play, of opponents from the pool preferred by how hard they are, and of
    /// opponents drawn uniformly; 0.5, 0.4 and 0.1 unless given.
    pub opponents: OpponentShares,
    /// Games in a row of one thread that meet the same opponents, if they meet any; as many as
    /// it plays at once unless given, so that the opponents, too, have batches worth evaluating.
    /// With 1 every game draws for itself.
    pub cohort: Option<u64>,
    /// A game begins with up to this many random plies, uniformly many, which are no policy
    /// targets; 0 unless given.
    pub opening_plies: u32,
    /// When learning seats change over to new weights: between `games`, which is the default,
    /// or between `moves`.
    pub swap: Swap,
    /// Plies after which a game is cut short, 400 unless given.
    pub max_plies: usize,
    /// Memory that the trees of all threads may take together, in MiB; 1024 unless given.
    pub tree_memory_mib: usize,
    /// Positions whose evaluation each thread remembers, so that games which meet the same one
    /// evaluate it once; 0, which is the default, remembers nothing. Games that often repeat
    /// positions gain, others lose a little; what is played is the same.
    pub remembered_positions: usize,
}

impl Default for PlayConfig {
    fn default() -> Self {
        Self {
            games_per_thread: 64,
            batch: 256,
            search: None,
            epsilon: 0.0,
            opponents: OpponentShares::default(),
            cohort: None,
            opening_plies: 0,
            swap: Swap::default(),
            max_plies: 400,
            tree_memory_mib: 1_024,
            remembered_positions: 0,
        }
    }
}

impl PlayConfig {
    /// Refuses values that cannot work, naming the field.
    pub fn validate(&self) -> Result<(), ActorError> {
        let at_least_one = [
            ("games_per_thread", self.games_per_thread),
            ("batch", self.batch),
            ("max_plies", self.max_plies),
            ("tree_memory_mib", self.tree_memory_mib),
        ];
        for (field, value) in at_least_one {
            check(field, value, value >= 1, "give at least 1")?;
        }
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
        self.opponents.validate().map_err(ActorError::Opponents)?;
        if let Some(search) = &self.search {
            search.validate().map_err(ActorError::Search)?;
        }
        Ok(())
    }

    /// What the thread of number `index` of `threads` is told, its games seeded by `seed`.
    pub(super) fn worker(&self, threads: usize, seed: u64, index: usize) -> WorkerSettings {
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
            tree_bytes: self.tree_memory_mib.saturating_mul(1 << 20) / threads.max(1),
            remembered: self.remembered_positions,
            seed,
            index: index as u64,
        }
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
