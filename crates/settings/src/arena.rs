//! How candidates are matched and rated.

use ouro_rating::GateConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::SettingError;
use crate::schema::check_ranges;

/// How candidates are matched and rated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MatchConfig {
    /// How networks play: a player by name, with weights called `self`, such as
    /// `net{weights=self,temperature=0.5}` or `mcts{sims=32,weights=self}`.
    pub player: String,
    /// Fixed players that are always rated, by name. `random` is always one of them. Left out:
    /// `greedy`, and `minimax` of depth 1, 2 and 4 as far as its tree has at most 262,144 positions.
    pub anchors: Option<Vec<String>>,
    /// Games of each candidate after its verdict, against the champion that it met at the gate. They
    /// rate it: games at the gate end by their results, which would stretch ratings. Those of a
    /// rejected candidate end when another one arrives.
    #[schemars(range(min = 0, max = 10_000))]
    pub champion_games: u32,
    /// Games of each candidate against each anchor.
    #[schemars(range(min = 0, max = 10_000))]
    pub anchor_games: u32,
    /// Random plies at the start of each game, the same for all games of a seed. Left out: 2 or 3
    /// in games that always have the same start, else 0.
    pub opening_plies: Option<u32>,
    /// Plies after which a game is cut short and scored by its position; more than its opening plies.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub max_plies: usize,
    /// Games in play at the same time, so that networks evaluate batches. With fewer, the first
    /// pair counts earlier and a decided match drops less; the CPU engine is nearly as fast.
    #[schemars(range(min = 1, max = 16_384))]
    pub parallel: usize,
    /// Share of one processor that a match may take, in CPU time. Less leaves more to other
    /// processes, and candidates wait longer.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1))]
    pub match_share: f64,
    /// Share of one processor to which that of a match at the gate grows while newer candidates
    /// wait: from `match_share` with one of them to this with four. Without effect if it is not
    /// above `match_share`.
    #[schemars(range(min = 0, max = 1))]
    pub catch_up_share: f64,
    /// Share of one processor for games without a candidate, in CPU time. They are played where
    /// differences to the champion are least certain.
    #[schemars(range(min = 0, max = 1))]
    pub spare_share: f64,
    /// Games without a candidate between two choices of players.
    #[schemars(range(min = 1, max = 10_000))]
    pub spare_games: u32,
    /// Last matches whose games are kept. Games of promotions are always kept.
    pub kept_matches: u32,
    /// The rule of promotion.
    pub gate: GateConfig,
}

impl Default for MatchConfig {
    fn default() -> Self {
        Self {
            player: "net{weights=self,temperature=0.5}".to_owned(),
            anchors: None,
            champion_games: 32,
            anchor_games: 8,
            opening_plies: None,
            max_plies: 1_000,
            parallel: 4,
            match_share: 1.0,
            catch_up_share: 0.5,
            spare_share: 0.1,
            spare_games: 8,
            kept_matches: 20,
            gate: GateConfig::default(),
        }
    }
}

impl MatchConfig {
    /// Checks every field that can be checked without the game.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_ranges("arena", self)?;
        match self.opening_plies {
            Some(plies) if plies as usize >= self.max_plies => {
                let remedy = "it must be less than arena.max_plies; or leave it out";
                Err(SettingError::new("arena.opening_plies", plies, remedy))
            }
            _ => Ok(()),
        }
    }
}
