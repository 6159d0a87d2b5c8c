//! What an arena is told at its start.

use std::net::SocketAddr;
use std::path::PathBuf;

use ouro_game::{Game, GameVisitor};
use ouro_players::Selection;
use ouro_service::server::Limits;
use serde::{Deserialize, Serialize};

use crate::gate::{GateConfig, GateConfigError};
use crate::store::Run;

/// How games are played.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MatchConfig {
    /// The rule of promotion.
    pub gate: GateConfig,
    /// Games of each candidate against `random`, an even number: they connect the ratings.
    pub anchor_games: u32,
    /// Games of each candidate against each of some pool members, an even number.
    pub pool_games: u32,
    /// How many pool members those are: the newest beside the champion.
    pub pool_opponents: usize,
    /// Plies after which a game is cut short and counts as it stands.
    pub max_plies: usize,
    /// Networks draw from softmax(logits / temperature): above 0, 1 is the policy itself.
    pub temperature: f32,
    /// Games in play at the same time, so that networks see batches.
    pub parallel: usize,
}

impl Default for MatchConfig {
    fn default() -> Self {
        Self {
            gate: GateConfig::default(),
            anchor_games: 20,
            pool_games: 10,
            pool_opponents: 2,
            max_plies: 1_000,
            temperature: 0.5,
            parallel: 64,
        }
    }
}

impl MatchConfig {
    /// How networks choose.
    pub fn selection(&self) -> Selection {
        Selection::Sample { temperature: self.temperature }
    }
}

/// Everything an arena is told.
#[derive(Clone, Debug)]
pub struct ArenaConfig {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
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
    /// An arena of `run` with its data in `data`, on a free loopback port.
    pub fn new(run: Run, data: impl Into<PathBuf>) -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            data: data.into(),
            run,
            matches: MatchConfig::default(),
            max_weights_bytes: ouro_proto::chunks::DEFAULT_MAX_WEIGHTS_BYTES,
            limits: Limits::default(),
        }
    }

    /// Checks everything that can be checked before a port or a file is opened.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let matches = &self.matches;
        matches.gate.validate()?;
        for (field, games) in
            [("anchor_games", matches.anchor_games), ("pool_games", matches.pool_games)]
        {
            if games % 2 == 1 {
                return Err(ConfigError::OddGames { field, games });
            }
        }
        if matches.max_plies == 0 || matches.parallel == 0 {
            return Err(ConfigError::Zero);
        }
        matches.selection().validate()?;
        let seats = self.run.game.visit(Seats)?;
        if seats == 2 { Ok(()) } else { Err(ConfigError::Seats(seats)) }
    }
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The gate's rule.
    #[error(transparent)]
    Gate(#[from] GateConfigError),
    /// Games come in pairs.
    #[error("{field} is {games}; write an even number, since games come in pairs")]
    OddGames {
        /// The field.
        field: &'static str,
        /// Its value.
        games: u32,
    },
    /// Nothing would be played.
    #[error("max_plies and parallel must be at least 1")]
    Zero,
    /// The temperature.
    #[error(transparent)]
    Selection(#[from] ouro_players::SelectionError),
    /// The game's own configuration.
    #[error(transparent)]
    Game(#[from] ouro_game::ConfigError),
    /// The arena compares two players.
    #[error("game has {0} seats; the arena plays games of two, such as a Battlesnake duel")]
    Seats(usize),
}

struct Seats;

impl GameVisitor for Seats {
    type Output = usize;

    fn visit<G: Game>(self, game: G) -> usize {
        game.players()
    }
}
