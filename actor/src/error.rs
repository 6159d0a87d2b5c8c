//! What stops an actor.

/// Why an actor could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ActorError {
    /// A configuration field is out of range.
    #[error("actor config: {field} is {value}; {remedy}")]
    Config {
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
        /// What would be accepted.
        remedy: String,
    },
    /// Nothing can be drawn by the shares of opponents.
    #[error("actor config: opponents: {0}")]
    Opponents(#[source] ouro_players::OpponentSharesError),
    /// A setting of the search is out of range.
    #[error("actor config: {0}")]
    Search(#[source] ouro_search::mcts::SearchConfigError),
    /// The search does not fit the game or its memory.
    #[error("actor config: {0}")]
    Play(#[source] crate::WorkerError),
    /// A file that was asked for cannot be written.
    #[error("actor config: {field} is {path}: {error}; give a path that can be written")]
    File {
        /// The field.
        field: &'static str,
        /// The file or folder.
        path: String,
        /// What the system says.
        #[source]
        error: std::io::Error,
    },
    /// The game's own configuration is out of range.
    #[error(transparent)]
    Game(#[from] ouro_game::ConfigError),
    /// A playing thread could not start or ended early.
    #[error(transparent)]
    Thread(#[from] ouro_service::BackgroundError),
    /// A playing thread met weights or a player that it cannot use; the log says which.
    #[error("a playing thread stopped; see the log line before this one")]
    Worker,
    /// The learner takes nothing from this actor any more.
    #[error("the learner refuses this actor: {0}")]
    Refused(String),
}

impl ActorError {
    /// Whether the configuration has to be changed before another start can go better.
    pub fn is_configuration(&self) -> bool {
        match self {
            Self::Config { .. }
            | Self::Opponents(_)
            | Self::Search(_)
            | Self::Play(_)
            | Self::File { .. }
            | Self::Game(_) => true,
            Self::Thread(_) | Self::Worker | Self::Refused(_) => false,
        }
    }
}
