//! What an arena is told at its start.

use std::net::SocketAddr;
use std::path::PathBuf;

use ouro_rating::GateConfig;
use ouro_service::server::Limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::store::Run;

mod check;
mod web_address;

pub(crate) use check::Checked;
pub use check::ConfigError;
pub use web_address::{WebAddress, WebAddressError};

/// How games are played.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MatchConfig {
    /// How networks play: the name of a player whose weights are called `self`, such as
    /// `net{weights=self,temperature=0.5}` or `mcts{sims=32,weights=self}`.
    pub player: String,
    /// Players that never change and are always rated, by name. `random` is one of them whatever
    /// is written. Left out: `greedy` and `minimax` of depths 1 and 2, where the game has them.
    pub anchors: Option<Vec<String>>,
    /// Games of each candidate against each anchor.
    pub anchor_games: u32,
    /// Plies at the start of each game that are played at random, the same for all games of a
    /// seed. Left out: 2 or 3 in games that always start alike, else 0.
    pub opening_plies: Option<u32>,
    /// Plies after which a game is cut short and counts as it stands.
    pub max_plies: usize,
    /// Games in play at the same time, so that networks see batches.
    pub parallel: usize,
    /// Share of one processor that a match may take, above 0 to 1: less leaves more to whoever
    /// else runs here, and lets candidates wait longer.
    pub match_share: f64,
    /// Share of one processor that games without a candidate may take, 0 to 1: they go where the
    /// ratings are least certain.
    pub spare_share: f64,
    /// Games between two such decisions.
    pub spare_games: u32,
    /// Matches whose games are kept, the last ones; games of promotions are kept for ever.
    pub kept_matches: u32,
    /// The rule of promotion.
    pub gate: GateConfig,
}

impl Default for MatchConfig {
    fn default() -> Self {
        Self {
            player: "net{weights=self,temperature=0.5}".to_owned(),
            anchors: None,
            anchor_games: 8,
            opening_plies: None,
            max_plies: 1_000,
            parallel: 64,
            match_share: 1.0,
            spare_share: 0.1,
            spare_games: 8,
            kept_matches: 20,
            gate: GateConfig::default(),
        }
    }
}

/// Everything an arena is told.
#[derive(Clone, Debug)]
pub struct ArenaConfig {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// Where the web page listens, port 0 for a free one; `None` for no page.
    pub web: Option<SocketAddr>,
    /// Folder of the store and the weights; made if it is missing.
    pub data: PathBuf,
    /// Game and seed of the run.
    pub run: Run,
    /// How games are played.
    pub matches: MatchConfig,
    /// Largest weights file taken, in bytes.
    pub max_weights_bytes: u64,
    /// What a connection may cost.
    pub limits: Limits,
}

impl ArenaConfig {
    /// An arena of `run` with its data in `data`, on a free loopback port, without a web page.
    pub fn new(run: Run, data: impl Into<PathBuf>) -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            web: None,
            data: data.into(),
            run,
            matches: MatchConfig::default(),
            max_weights_bytes: ouro_proto::chunks::DEFAULT_MAX_WEIGHTS_BYTES,
            limits: Limits::default(),
        }
    }

    /// Checks everything that can be checked before a port or a file is opened.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.check().map(drop)
    }

    /// The same, with what follows from the game.
    pub(crate) fn check(&self) -> Result<Checked, ConfigError> {
        self.matches.check(&self.run.game)
    }
}
