//! The games in the box, by name.
//!
//! A [`GameConfig`] is what configs, records and the wire carry; [`GameConfig::visit`] turns
//! it into concrete rules and hands them to generic code, so that nothing outside this file
//! lists the games.

use serde::{Deserialize, Serialize};

use crate::{ConfigError, Game, tic_tac_toe};

/// Configuration of any game in the box, tagged by the game's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "game", rename_all = "snake_case")]
pub enum GameConfig {
    /// Tic-tac-toe.
    TicTacToe(tic_tac_toe::Config),
}

/// Generic code to run on the rules of a game known only at run time.
pub trait GameVisitor {
    /// What it returns.
    type Output;

    /// Runs on concrete rules.
    fn visit<G: Game>(self, game: G) -> Self::Output;
}

impl GameConfig {
    /// Builds the rules and runs `visitor` on them.
    pub fn visit<V: GameVisitor>(&self, visitor: V) -> Result<V::Output, ConfigError> {
        match self {
            Self::TicTacToe(config) => Ok(visitor.visit(tic_tac_toe::TicTacToe::new(*config)?)),
        }
    }
}
