//! Errors of configurations and steps.

use std::fmt::Display;

/// A text from outside, for a message of one line: control characters are escaped.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for one in text.chars() {
        if one.is_control() {
            line.extend(one.escape_default());
        } else {
            line.push(one);
        }
    }
    line
}

/// A configuration field that is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{game} config: {field} is {value}; {remedy}")]
pub struct ConfigError {
    /// The game's name.
    pub game: &'static str,
    /// Path of the field, as in the config file.
    pub field: &'static str,
    /// The rejected value.
    pub value: String,
    /// The accepted values, as a phrase for the message.
    pub remedy: String,
}

impl ConfigError {
    /// The error that `field` of `game` is `value`; `remedy` completes the message.
    pub(crate) fn new(
        game: &'static str,
        field: &'static str,
        value: &dyn Display,
        remedy: impl Into<String>,
    ) -> Self {
        Self { game, field, value: value.to_string(), remedy: remedy.into() }
    }
}

/// An action or a chance outcome that the rules do not allow. The state is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The game has ended.
    #[error("the game is over")]
    GameOver,
    /// The state is a chance node; actions are not allowed.
    #[error("the state is a chance node; apply a chance outcome, not actions")]
    ChancePending,
    /// The state is not a chance node.
    #[error("the state is not a chance node; apply actions, not a chance outcome")]
    NotAChanceNode,
    /// The number of actions differs from the number of players.
    #[error("{got} actions were given for {expected} players")]
    ActionCount {
        /// Actions given.
        got: usize,
        /// Players in the game.
        expected: usize,
    },
    /// An action outside the action space or not legal now.
    #[error("action {action} of player {player} is illegal")]
    IllegalAction {
        /// The player.
        player: usize,
        /// The rejected action.
        action: u32,
    },
    /// A chance outcome that cannot happen here.
    #[error("chance outcome {outcome} cannot happen here")]
    ImpossibleOutcome {
        /// The rejected outcome.
        outcome: u32,
    },
}
