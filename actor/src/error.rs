//! What stops an actor.

/// Why an actor could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ActorError {
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] ouro_settings::SettingError),
    /// The search does not fit the game or its memory.
    #[error("actor config: {0}")]
    Play(#[source] crate::worker::WorkerError),
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
            Self::Setting(_) | Self::Play(_) | Self::File { .. } | Self::Game(_) => true,
            Self::Thread(_) | Self::Worker | Self::Refused(_) => false,
        }
    }
}
