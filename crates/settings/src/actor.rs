//! How games are played for training.

use ouro_players::{OpponentShares, OpponentSharesError};
use ouro_search::SearchConfig;
use ouro_search::mcts::{Noise, SearchConfigError, Temperature};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::SettingError;
use crate::schema::check_ranges;

/// How games are played for training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PlayConfig {
    /// Games that each thread plays at once. Their moves share batches.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub games_per_thread: usize,
    /// Leaves of a full batch of one network. If there are more games, they take turns.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub batch: usize,
    /// Tree search that decides every move. Without a search, moves are drawn from the policy
    /// itself, as REINFORCE needs.
    pub search: Option<SearchConfig>,
    /// Chance that a learning seat moves uniformly at random, in play without a search. The
    /// recorded probability is that of the mixture.
    #[schemars(range(min = 0, max = 1))]
    pub epsilon: f32,
    /// Shares of self-play, of opponents from the pool preferred by how hard they are, and of
    /// opponents drawn uniformly.
    pub opponents: OpponentShares,
    /// Games against players by name, such as `minimax{depth=4}`, besides those of `opponents`.
    pub scripted: ScriptedConfig,
    /// Games between players by name, such as `minimax{depth=6}`, which the network learns to imitate.
    pub demonstrations: DemonstrationConfig,
    /// Searches every move with a new tree. Otherwise the subtree of the position is kept, and its
    /// visits, which were made without the noise of this move, are part of the policy target. KataGo's
    /// self-play searches with new trees.
    pub fresh_trees: bool,
    /// Consecutive games of a thread that share opponents, which keeps the batches of the
    /// opponents full. Left out: as many as the thread plays at once. With 1 every game draws its
    /// own opponents.
    #[schemars(range(min = 1))]
    pub cohort: Option<u64>,
    /// Largest number of random plies at the start of a game. The number is uniform. AlphaZero has no
    /// policy targets at these plies; REINFORCE learns from them with their importance ratios.
    pub opening_plies: u32,
    /// When learning seats change to new weights: between `games` or between `moves`.
    pub swap: Swap,
    /// Plies after which a game is cut short.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub max_plies: usize,
    /// Memory for the trees of all threads together, in MiB.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub tree_memory_mib: usize,
    /// Positions whose evaluation each thread keeps, so that games that reach the same position
    /// evaluate it once. Helps games that often repeat positions and costs others a little. The
    /// moves are the same. New weights start without kept evaluations, and games of older weights go
    /// on without them.
    #[schemars(range(min = 0, max = 16_777_216))]
    pub cached_evaluations: usize,
}

impl Default for PlayConfig {
    fn default() -> Self {
        Self {
            games_per_thread: 64,
            batch: 256,
            search: None,
            epsilon: 0.0,
            opponents: OpponentShares::default(),
            scripted: ScriptedConfig::default(),
            demonstrations: DemonstrationConfig::default(),
            fresh_trees: false,
            cohort: None,
            opening_plies: 0,
            swap: Swap::default(),
            max_plies: 400,
            tree_memory_mib: 1_024,
            cached_evaluations: 0,
        }
    }
}

impl PlayConfig {
    /// Checks every field.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_ranges("actor", self)?;
        if self.epsilon > 0.0 && self.search.is_some() {
            let remedy = "leave it out with a search, which explores by noise and temperature";
            return Err(SettingError::new("actor.epsilon", self.epsilon, remedy));
        }
        if self.opening_plies as usize >= self.max_plies {
            let remedy = "it must be less than actor.max_plies";
            return Err(SettingError::new("actor.opening_plies", self.opening_plies, remedy));
        }
        self.opponents.validate().map_err(|error| match error {
            OpponentSharesError::OutOfRange { field, value } => {
                let key = format!("actor.opponents.{field}");
                SettingError::new(key, value, "a share is finite and not below 0")
            }
            OpponentSharesError::AllZero => {
                let remedy = "one of self_play, prioritised and uniform must be above 0";
                SettingError::new("actor.opponents", "0 for every kind", remedy)
            }
        })?;
        if self.scripted.share > 0.0 && self.scripted.players.is_empty() {
            let remedy = "name players in actor.scripted.players, such as \"minimax{depth=4}\"";
            return Err(SettingError::new("actor.scripted.share", self.scripted.share, remedy));
        }
        self.demonstrations.validate()?;
        let Some(search) = &self.search else { return Ok(()) };
        search.validate().map_err(|error| match error {
            SearchConfigError::Range { field, value, expected } => {
                let key = format!("actor.search.{field}");
                SettingError::new(key, value, format_args!("it must be {expected}"))
            }
            SearchConfigError::Conflict { first, second } => {
                let remedy =
                    format!("it excludes actor.search.{second}; set one of them to \"off\"");
                SettingError::new(format!("actor.search.{first}"), "on", remedy)
            }
            error => SettingError::new("actor.search", "refused", error),
        })
    }
}

/// Games in which one seat learns and players by name, such as `minimax`, have the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedConfig {
    /// Share of the games that are played against these players.
    #[schemars(range(min = 0, max = 1))]
    pub share: f64,
    /// The players, by name. Each seat draws one of them. They take neither `ms` nor `cache`, so that a
    /// game depends on its seed, and a depth or a number of simulations that such games can afford. Those
    /// with `weights=self` use the newest weights.
    pub players: Vec<String>,
}

/// Games between players by name, such as `minimax`. The network learns to choose as they do and to
/// predict how their games end (behavioural cloning), before it learns from its own searches or
/// instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DemonstrationConfig {
    /// The players, by name. Each seat draws one of them. They take neither `ms` nor `cache`, so that a
    /// game depends on its seed, and a depth or a number of simulations that such games can afford. Those
    /// with `weights=self` use the newest weights.
    pub players: Vec<String>,
    /// Share of the games that are demonstrations.
    #[schemars(range(min = 0, max = 1))]
    pub share: f64,
    /// First generation without demonstrations. Left out: they do not end.
    pub until_generation: Option<u32>,
    /// Chance that a seat makes a random viable move instead of the chosen one. The chosen one
    /// stays the policy target, so that the network sees positions after mistakes, but does not learn
    /// the mistakes.
    #[schemars(range(min = 0, max = 1))]
    pub random_moves: f64,
    /// Discount of the outcome per time step, for moves whose player does not estimate it. Not a
    /// setting of its own: training shares the discount of the run.
    #[serde(skip)]
    pub discount: f32,
}

impl Default for DemonstrationConfig {
    fn default() -> Self {
        let (players, until_generation) = (Vec::new(), None);
        Self { players, share: 0.0, until_generation, random_moves: 0.0, discount: 1.0 }
    }
}

impl DemonstrationConfig {
    /// Whether all games are demonstrations.
    pub fn is_everything(&self) -> bool {
        self.share == 1.0 && self.until_generation.is_none()
    }

    fn validate(&self) -> Result<(), SettingError> {
        if self.share > 0.0 && self.players.is_empty() {
            let remedy =
                "name players in actor.demonstrations.players, such as \"minimax{depth=4}\"";
            return Err(SettingError::new("actor.demonstrations.share", self.share, remedy));
        }
        Ok(())
    }
}

/// When learning seats change over to new weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Swap {
    /// When a game begins: a game is played by one set of weights from its first move to its
    /// last, and depends on nothing that happens meanwhile.
    #[default]
    Games,
    /// Before each move. Long games then use newer weights, in new trees; the generation
    /// recorded is that of the oldest weights that moved, so that a bound on staleness holds
    /// for the whole game.
    Moves,
}

/// A search for self-play as in `AlphaZero`, with Dirichlet noise at the root. For the first
/// `sampled` time steps, moves are drawn by visits; then the best move is played. Each leaf is
/// evaluated under a random symmetry.
pub fn exploring(simulations: u32, sampled: u32) -> SearchConfig {
    SearchConfig {
        simulations,
        noise: Some(Noise::default()),
        temperature: Temperature::Until { time: sampled, before: 1.0, after: 0.0 },
        random_symmetry: true,
        ..SearchConfig::default()
    }
}
