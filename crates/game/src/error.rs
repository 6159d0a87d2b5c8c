//! Errors of configurations and steps, and text from outside in messages.

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

/// Characters at the start and at the end of a text that [`brief`] keeps.
const KEPT: usize = 100;

/// A text from a file or a peer, for a message of one readable line. Control characters are escaped,
/// and a long text loses its middle.
pub fn brief(text: &str) -> String {
    let length = text.chars().count();
    if length <= 3 * KEPT {
        return one_line(text);
    }
    let start: String = text.chars().take(KEPT).collect();
    let end: String = text.chars().skip(length - KEPT).collect();
    format!("{} … {}", one_line(&start), one_line(&end))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_one_short_line() {
        assert_eq!(brief("plain text"), "plain text");
        assert_eq!(brief("two\nlines \u{1b}[31m"), "two\\nlines \\u{1b}[31m");
        let long = brief(&format!("a{}z", "é\n".repeat(100_000)));
        assert!(long.starts_with("aé") && long.ends_with("\\nz"), "{long}");
        assert!(long.chars().count() < 400, "{long}");
    }
}
