//! Why a name gives no player.

use crate::FitError;
use crate::registry::known_syntax;

/// Why a name gives no player. Every message is one line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NameError {
    /// No player is called that.
    #[error("player {name:?} is unknown; known are {}", known_syntax())]
    Unknown {
        /// The name that was given.
        name: String,
    },
    /// Braces that do not enclose the options.
    #[error("player {name:?} has unbalanced braces; write {player}{{option=value,...}}")]
    Braces {
        /// The name that was given.
        name: String,
        /// The part before the braces.
        player: String,
    },
    /// An option that the player does not take.
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
    /// An option whose value cannot be.
    #[error("player {name:?}: option {option} is {value:?}; {remedy}")]
    Value {
        /// The name that was given.
        name: String,
        /// Key of the option.
        option: &'static str,
        /// What it was set to.
        value: String,
        /// What would be accepted.
        remedy: String,
    },
    /// An option without which the player cannot be.
    #[error("player {name:?}: {option} is missing; write {usage}")]
    Missing {
        /// The name that was given.
        name: String,
        /// The option, or several of which one is needed.
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
    #[error("player {name:?}: no weights are called {weights:?}")]
    Weights {
        /// The name that was given.
        name: String,
        /// The weights it asks for.
        weights: String,
    },
    /// The weights are not for this game.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The player knows another game only.
    #[error("player {name:?} does not play {game}; it plays {plays} only")]
    Game {
        /// The name that was given.
        name: String,
        /// The game it was asked to play.
        game: &'static str,
        /// The game it plays.
        plays: &'static str,
    },
    /// The player plays this game, but not on this board.
    #[error("player {name:?}: {problem}; {remedy}")]
    Unfit {
        /// The name that was given.
        name: String,
        /// What is in the way.
        problem: String,
        /// What would do.
        remedy: &'static str,
    },
}
