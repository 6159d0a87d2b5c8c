//! Players by name, as written in settings and on command lines.
//!
//! A name is a player and, in braces, its options: `random`, `minimax{depth=3}`,
//! `net{weights=champion,temperature=0.5}`. The caller provides a function that maps the names of
//! weights to engines.
//!
//! # A new player
//!
//! A player is a module with two items: a [`PlayerSyntax`] with its name and options, and a
//! function `build` that creates the player from [`Options`] and a [`BuildContext`]. Declare the
//! module in `lib.rs` and add it to the list below. Every command and setting that takes players by
//! name then accepts it. Describe its options in `docs/players.md`. A player for a single game uses
//! [`build_for_game`](crate::game_specific::build_for_game).

mod error;
mod options;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use ouro_game::Game;
use ouro_game::catalog::{RulesVisitor, visit_rules};
use ouro_net::Engine;
use ouro_search::Clock;

use crate::nearest::nearest;
use crate::player::Player;

pub use error::NameError;
pub use options::Options;

/// Generates [`KNOWN`] and the dispatch to `build` from a list of modules.
macro_rules! players {
    ($($($module:ident)::+),+ $(,)?) => {
        /// Every player that [`by_name`] knows, in the order of this file.
        pub const KNOWN: &[PlayerSyntax] = &[$(crate::$($module::)+SYNTAX),+];

        fn build<G: Game>(
            options: Options<'_>,
            context: &mut BuildContext<'_, G>,
        ) -> Result<Box<dyn Player<G>>, NameError> {
            $(if options.player() == crate::$($module::)+SYNTAX.name {
                options.check(&crate::$($module::)+SYNTAX)?;
                return crate::$($module::)+build(options, context);
            })+
            Err(NameError::Unknown { name: options.name().to_owned(), more: &[] })
        }
    };
}

players! {
    random,
    greedy,
    minimax,
    minimax::maxn,
    net_player,
    perfect,
    mcts,
    hamiltonian,
    snake_tree,
    snakgame_strategy,
}

/// The syntax of a player's name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayerSyntax {
    /// The part before the braces.
    pub name: &'static str,
    /// Keys of its options.
    pub options: &'static [&'static str],
    /// Options that are numbers and may be tuned, with the value that they have when left out.
    pub defaults: &'static [(&'static str, f64)],
    /// All forms of the name, for messages. `docs/players.md` describes the options.
    pub usage: &'static [&'static str],
}

/// Resources that players are built from.
pub struct BuildContext<'a, G: Game> {
    /// The rules of the game.
    pub game: &'a G,
    /// Maps the name of weights to an engine; `None` for an unknown name.
    pub engines: &'a mut dyn FnMut(&str) -> Option<Arc<Engine>>,
    /// The clock of players with a time limit.
    pub clock: Arc<dyn Clock>,
}

impl<G: Game> fmt::Debug for BuildContext<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuildContext").field("game", &self.game).finish_non_exhaustive()
    }
}

impl<G: Game> BuildContext<'_, G> {
    /// The engine that the player's option `weights` names.
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

/// Builds the player called `name` for a game of the catalog.
pub fn by_name<G: Game>(
    name: &str,
    context: &mut BuildContext<'_, G>,
) -> Result<Box<dyn Player<G>>, NameError> {
    let BuildContext { game, engines, clock } = context;
    let built = build_erased(name, *game, engines, Arc::clone(clock))?;
    let built = built.and_then(|player| player.downcast::<Box<dyn Player<G>>>().ok());
    built
        .map(|player| *player)
        .ok_or_else(|| NameError::OutsideCatalog { name: name.to_owned(), game: G::NAME })
}

/// Builds the player called `name` for any game, including games outside the catalog. The calling
/// crate compiles all players for that game.
pub fn by_name_for<G: Game>(
    name: &str,
    context: &mut BuildContext<'_, G>,
) -> Result<Box<dyn Player<G>>, NameError> {
    build(Options::parse(name)?, context)
}

/// Builds a type-erased `Box<dyn Player<G>>` for `rules` of type `G`; `None` if the type is not in
/// the catalog.
///
/// The function is not generic, so all searches are compiled once, in this crate, and not in each
/// crate that uses it.
fn build_erased(
    name: &str,
    rules: &dyn Any,
    engines: &mut dyn FnMut(&str) -> Option<Arc<Engine>>,
    clock: Arc<dyn Clock>,
) -> Result<Option<Box<dyn Any>>, NameError> {
    visit_rules(rules, Erased { name, engines, clock }).transpose()
}

struct Erased<'a> {
    name: &'a str,
    engines: &'a mut dyn FnMut(&str) -> Option<Arc<Engine>>,
    clock: Arc<dyn Clock>,
}

impl RulesVisitor for Erased<'_> {
    type Output = Result<Box<dyn Any>, NameError>;

    fn visit<G: Game>(self, game: &G) -> Self::Output {
        let Self { name, engines, clock } = self;
        let player = by_name_for(name, &mut BuildContext { game, engines, clock })?;
        Ok(Box::new(player))
    }
}

/// Checks that a name is well-formed and that its player is known: one of [`KNOWN`], or of `more`, which
/// the caller builds. The options are checked when the player is built.
///
/// # Errors
///
/// [`NameError::Braces`], [`NameError::Repeated`] or [`NameError::Unknown`].
pub fn check_known(name: &str, more: &'static [&'static str]) -> Result<(), NameError> {
    let options = Options::parse(name)?;
    let mut known = KNOWN.iter().map(|syntax| syntax.name).chain(more.iter().copied());
    if known.any(|known| known == options.player()) {
        return Ok(());
    }
    Err(NameError::Unknown { name: name.to_owned(), more })
}

/// The remedy for an unknown name: the player that is nearest to it, if one is near, and all players.
pub(crate) fn known_players(name: &str, more: &[&str]) -> String {
    let player = name.split('{').next().unwrap_or_default().to_lowercase();
    let known: Vec<&str> =
        KNOWN.iter().map(|syntax| syntax.name).chain(more.iter().copied()).collect();
    let hint = match nearest(&player, known.iter().copied()) {
        Some(nearest) => format!("did you mean {nearest}? "),
        None => String::new(),
    };
    format!("{hint}known are {}; docs/players.md has their options", known.join(", "))
}
