//! Errors of player names.

use crate::net_fit::FitError;
use crate::registry::known_players;

/// Reason why no player can be built from a name. Every message is one line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NameError {
    /// The player is unknown.
    #[error("player {name:?} is unknown; {}", known_players(.name, .more))]
    Unknown {
        /// The name that was given.
        name: String,
        /// Players that the caller has besides those of the registry.
        more: &'static [&'static str],
    },
    /// Braces that do not enclose the options.
    #[error("player {name:?} has unbalanced braces; write {player}{{option=value,...}}")]
    Braces {
        /// The name that was given.
        name: String,
        /// The part before the braces.
        player: String,
    },
    /// The player has no such option.
    #[error("player {name:?}: option {option:?} is unknown; write {usage}")]
    UnknownOption {
        /// The name that was given.
        name: String,
        /// Key of the option.
        option: String,
        /// How the player is written.
        usage: String,
    },
    /// An option that is given twice.
    #[error("player {name:?}: option {option:?} is given twice; leave one out")]
    Repeated {
        /// The name that was given.
        name: String,
        /// Key of the option.
        option: String,
    },
    /// An option with an invalid value.
    #[error("player {name:?}: option {option} is {value:?}; {remedy}")]
    Value {
        /// The name that was given.
        name: String,
        /// Key of the option.
        option: &'static str,
        /// The rejected value.
        value: String,
        /// The accepted values.
        remedy: String,
    },
    /// A required option is missing.
    #[error("player {name:?}: {option} is missing; write {usage}")]
    Missing {
        /// The name that was given.
        name: String,
        /// The option, or several of which one is required.
        option: &'static str,
        /// How the player is written.
        usage: String,
    },
    /// Options that exclude each other.
    #[error("player {name:?}: options {first} and {second} exclude each other; leave one out")]
    Conflict {
        /// The name that was given.
        name: String,
        /// One option.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// The caller knows no weights of that name.
    #[error("player {name:?}: no weights are called {weights:?}; name weights that exist")]
    Weights {
        /// The name that was given.
        name: String,
        /// The unknown weights.
        weights: String,
    },
    /// The game is not in the catalog.
    #[error("player {name:?}: {game} is not in the catalog; add it there, or call by_name_for")]
    OutsideCatalog {
        /// The name that was given.
        name: String,
        /// The game to be played.
        game: &'static str,
    },
    /// The weights do not fit this game.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The player plays another game only.
    #[error("player {name:?} does not play {game}; it plays {plays} only")]
    Game {
        /// The name that was given.
        name: String,
        /// The game to be played.
        game: &'static str,
        /// The game that the player plays.
        plays: &'static str,
    },
    /// The player plays this game, but not with this configuration.
    #[error("player {name:?}: {problem}; {remedy}")]
    Unfit {
        /// The name that was given.
        name: String,
        /// The obstacle.
        problem: String,
        /// A configuration that works.
        remedy: &'static str,
    },
}
