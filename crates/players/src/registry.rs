//! Players by name, as configs and command lines write them.
//!
//! A name is a player and, in braces, its options: `random`, `minimax{depth=3}`,
//! `net{weights=champion,temperature=0.5}`. What a weights name means is the caller's business:
//! it hands in a function from names to engines.
//!
//! # A new player
//!
//! A player is one file with two items: a [`PlayerSyntax`], which says what it is called and what
//! options it takes, and a function `build` from [`Options`] and a [`BuildContext`] to the player.
//! Declare the module in `lib.rs` and add it to the list below; everything that takes players
//! by name then knows it. A player of one game only goes through
//! [`build_for_game`](crate::game_specific::build_for_game).

mod error;
mod options;

use std::fmt;
use std::sync::Arc;

use ouro_game::Game;
use ouro_net::Engine;
use ouro_search::Clock;

use crate::Player;

pub use error::NameError;
pub use options::Options;

/// Makes [`KNOWN`] and the choice between the players from a list of modules.
macro_rules! players {
    ($($module:ident),+ $(,)?) => {
        /// Every player that [`by_name`] knows, in the order of the list in this file.
        pub const KNOWN: &[PlayerSyntax] = &[$(crate::$module::SYNTAX),+];

        fn build<G: Game>(
            options: Options<'_>,
            context: &mut BuildContext<'_, G>,
        ) -> Result<Box<dyn Player<G>>, NameError> {
            $(if options.player() == crate::$module::SYNTAX.name {
                options.check(&crate::$module::SYNTAX)?;
                return crate::$module::build(options, context);
            })+
            Err(NameError::Unknown { name: options.name().to_owned() })
        }
    };
}

players! {
    random,
    greedy,
    minimax,
    maxn,
    net_player,
    perfect,
    mcts,
    hamiltonian,
    snake_tree,
}

/// What a player is called and how its name is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayerSyntax {
    /// The part before the braces.
    pub name: &'static str,
    /// Keys of the options it takes.
    pub options: &'static [&'static str],
    /// Every way to write it, for people.
    pub usage: &'static [&'static str],
}

/// What a player may be built from.
pub struct BuildContext<'a, G: Game> {
    /// The rules that it will play by.
    pub game: &'a G,
    /// From a weights name to an engine; `None` for a name that means nothing.
    pub engines: &'a mut dyn FnMut(&str) -> Option<Arc<Engine>>,
    /// The time, for players that think against the clock.
    pub clock: Arc<dyn Clock>,
}

impl<G: Game> fmt::Debug for BuildContext<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuildContext").field("game", &self.game).finish_non_exhaustive()
    }
}

impl<G: Game> BuildContext<'_, G> {
    /// The engine that the player's option `weights` asks for.
    pub fn engine(
        &mut self,
        options: &Options<'_>,
        weights: &str,
    ) -> Result<Arc<Engine>, NameError> {
        (self.engines)(weights).ok_or_else(|| NameError::Weights {
            name: options.name().to_owned(),
            weights: weights.to_owned(),
        })
    }
}

/// Builds the player called `name`.
pub fn by_name<G: Game>(
    name: &str,
    context: &mut BuildContext<'_, G>,
) -> Result<Box<dyn Player<G>>, NameError> {
    build(Options::parse(name)?, context)
}

/// Every way to write a player, in one line.
pub(crate) fn known_syntax() -> String {
    KNOWN.iter().flat_map(|syntax| syntax.usage).copied().collect::<Vec<_>>().join(", ")
}
