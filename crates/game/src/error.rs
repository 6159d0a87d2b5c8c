//! What can be wrong with a configuration or a step.

/// A configuration field that is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{game} config: {field} is {value}; {remedy}")]
pub struct ConfigError {
    /// The game's name.
    pub game: &'static str,
    /// Path of the field, as in the config file.
    pub field: &'static str,
    /// The value that was given.
    pub value: String,
    /// What would be accepted.
    pub remedy: String,
}

/// An action or a chance outcome that the rules do not allow. The state is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The game has ended.
    #[error("the game is over")]
    GameOver,
    /// Nature is to move, not the players.
    #[error("the state waits for a chance outcome, not for actions")]
    ChancePending,
    /// The players are to move, not nature.
    #[error("the state waits for actions, not for a chance outcome")]
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
        /// Who tried.
        player: usize,
        /// What was tried.
        action: u32,
    },
    /// A chance outcome that cannot happen here.
    #[error("chance outcome {outcome} cannot happen here")]
    ImpossibleOutcome {
        /// The outcome that was given.
        outcome: u32,
    },
}
