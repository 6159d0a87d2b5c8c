//! The built-in games, by name.
//!
//! Settings, records and the wire carry a [`GameConfig`]. [`GameConfig::visit`] builds the concrete
//! rules and passes them to generic code, so no other file lists the games. To add a game, add a
//! module and a line in the list below.

use std::any::Any;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use crate::game::Game;
use crate::record::{GameRecord, Replay, ReplayError};
use crate::{battlesnake, connect_four, maze_dash, snake, snakgame, tic_tac_toe};

/// Generates the catalog from lines of `Variant: rules, "one sentence"`.
///
/// A game with rules in two size classes is written `rules [while test, else larger]`. The function
/// `test` decides by the configuration. The variant in `snake_case` must be the name of the game
/// ([`Game::NAME`]), which a test checks. The configuration must have a default, which the compiler
/// checks.
macro_rules! games {
    ($(
        $variant:ident: $rules:ty $([while $fits:path, else $larger:ty])?, $about:literal;
    )+) => {
        /// Configuration of any built-in game, tagged by the game's name.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "game", rename_all = "snake_case")]
        pub enum GameConfig {
            $(#[doc = $about] $variant(<$rules as Game>::Config),)+
        }

        /// Every built-in game, in the order of this file.
        pub const GAMES: &[GameInfo] = &[
            $(GameInfo { name: <$rules>::NAME, about: $about },)+
        ];

        impl GameConfig {
            /// The default configuration of the game with this name.
            pub fn by_name(name: &str) -> Result<Self, UnknownGame> {
                match name {
                    $(<$rules>::NAME => Ok(Self::$variant(Default::default())),)+
                    _ => Err(UnknownGame { name: name.to_owned() }),
                }
            }

            /// The game's name, [`Game::NAME`].
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => <$rules>::NAME,)+
                }
            }

            /// The same game between two players, if there is one: [`Game::duel`].
            pub fn duel(&self) -> Option<Self> {
                match self {
                    $(Self::$variant(config) => <$rules>::duel(config).map(Self::$variant),)+
                }
            }

            /// Builds the rules and runs `visitor` on them.
            pub fn visit<V: GameVisitor>(&self, visitor: V) -> Result<V::Output, ConfigError> {
                match self {
                    $(Self::$variant(config) => {
                        $(if !$fits(config) {
                            let larger = <$larger as Game>::new(config.clone())?;
                            return Ok(visitor.visit(larger));
                        })?
                        Ok(visitor.visit(<$rules as Game>::new(config.clone())?))
                    })+
                }
            }
        }

        /// Runs `visitor` on rules of any type in the catalog; `None` for rules of another type.
        pub fn visit_rules<V: RulesVisitor>(rules: &dyn Any, visitor: V) -> Option<V::Output> {
            $(
                if let Some(rules) = rules.downcast_ref::<$rules>() {
                    return Some(visitor.visit(rules));
                }
                $(if let Some(rules) = rules.downcast_ref::<$larger>() {
                    return Some(visitor.visit(rules));
                })?
            )+
            None
        }
    };
}

games! {
    TicTacToe: tic_tac_toe::TicTacToe,
        "Three in a row on 3x3; small enough to search every game.";
    ConnectFour: connect_four::ConnectFour,
        "Four in a row with gravity, 7x6 unless configured otherwise, with a perfect solver.";
    Snake: snake::Small [while snake::Small::fits, else snake::Large],
        "One snake alone with one apple on any n x n board, as in arXiv 2211.09622.";
    MazeDash: maze_dash::MazeDash,
        "One path over all free cells that turns only where it must, as in arXiv 2005.14156.";
    Snakgame: snakgame::Small [while snakgame::Small::fits, else snakgame::Large],
        "Two sides fill a grid with snakes, and long ones score most; against Chef or as a duel.";
    Battlesnake: battlesnake::Small [while battlesnake::Small::fits, else battlesnake::Large],
        "Last snake alive wins; all official rulesets, exact to the official engine.";
}

/// Name and description of a game in the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GameInfo {
    /// [`Game::NAME`].
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
}

/// The error for a name that is not in the catalog.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown game {name:?}; known are {}", known_names())]
pub struct UnknownGame {
    /// The unknown name.
    pub name: String,
}

fn known_names() -> String {
    GAMES.iter().map(|game| game.name).collect::<Vec<_>>().join(", ")
}

/// Generic code that runs on the rules of a game that is chosen at run time.
pub trait GameVisitor {
    /// The result of the visit.
    type Output;

    /// Runs on concrete rules.
    fn visit<G: Game>(self, game: G) -> Self::Output;
}

/// Generic code that runs on rules whose type was erased; see [`visit_rules`].
pub trait RulesVisitor {
    /// The result of the visit.
    type Output;

    /// Runs on concrete rules.
    fn visit<G: Game>(self, rules: &G) -> Self::Output;
}

/// Generic code that runs on a recorded game that is chosen at run time; see
/// [`GameRecord::replay`].
pub trait ReplayVisitor {
    /// The result of the visit.
    type Output;

    /// Runs on the recorded game, set up at ply 0.
    fn visit<G: Game>(self, game: &G, replay: Replay<'_, G>) -> Self::Output;
}

impl GameRecord<GameConfig> {
    /// Builds the recorded game's rules, sets up its first position and runs `visitor`.
    pub fn replay<V: ReplayVisitor>(&self, visitor: V) -> Result<V::Output, ReplayError> {
        struct Start<'a, V> {
            record: &'a GameRecord<GameConfig>,
            visitor: V,
        }
        impl<V: ReplayVisitor> GameVisitor for Start<'_, V> {
            type Output = Result<V::Output, ReplayError>;

            fn visit<G: Game>(self, game: G) -> Self::Output {
                let replay = Replay::new(&game, self.record)?;
                Ok(self.visitor.visit(&game, replay))
            }
        }
        self.config.visit(Start { record: self, visitor })?
    }

    /// Replays the whole game; the error is the first disagreement.
    pub fn verify(&self) -> Result<(), ReplayError> {
        struct ToTheEnd;
        impl ReplayVisitor for ToTheEnd {
            type Output = Result<(), ReplayError>;

            fn visit<G: Game>(self, _game: &G, replay: Replay<'_, G>) -> Self::Output {
                replay.finish().map(drop)
            }
        }
        self.replay(ToTheEnd)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name that the rules give themselves.
    struct NameOf;
    impl GameVisitor for NameOf {
        type Output = &'static str;
        fn visit<G: Game>(self, _game: G) -> &'static str {
            G::NAME
        }
    }

    #[test]
    fn every_game_has_one_name_in_the_catalog_in_json_and_in_its_rules() {
        for info in GAMES {
            let config = GameConfig::by_name(info.name).expect("it is listed");
            assert_eq!(config.name(), info.name);
            assert_eq!(config.visit(NameOf), Ok(info.name));
            let json = serde_json::to_value(&config).expect("configs serialise");
            assert_eq!(json["game"], info.name);
            assert_eq!(serde_json::from_value::<GameConfig>(json).expect("reads back"), config);
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = GameConfig::by_name("go").expect_err("not in the box").to_string();
        assert!(error.starts_with("unknown game \"go\"; known are tic_tac_toe, connect_four"));
    }

    #[test]
    fn a_configuration_out_of_range_is_refused_before_anything_runs() {
        let config: GameConfig =
            serde_json::from_str(r#"{"game":"connect_four","width":2}"#).expect("well-formed");
        let error = config.visit(NameOf).expect_err("too narrow");
        assert_eq!(error.field, "width");
    }
}
