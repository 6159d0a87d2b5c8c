//! Errors that stop an actor.

use ouro_net::RunId;
use ouro_service::ExitStatus;

/// Error that stops an actor.
#[derive(Debug, thiserror::Error)]
pub enum ActorError {
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] ouro_settings::SettingError),
    /// The search does not fit the game or its memory.
    #[error("actor config: {0}")]
    Play(#[source] crate::worker::WorkerError),
    /// A configured file cannot be written.
    #[error("actor config: {field} is {path}: {error}; give a path that can be written")]
    File {
        /// The field.
        field: &'static str,
        /// The file or folder.
        path: String,
        /// Error of the operating system.
        #[source]
        error: std::io::Error,
    },
    /// The game's own configuration is out of range.
    #[error(transparent)]
    Game(#[from] ouro_game::ConfigError),
    /// A playing thread could not start or ended early.
    #[error(transparent)]
    Thread(#[from] ouro_service::BackgroundError),
    /// A playing thread stopped with an error; the log has the cause.
    #[error("a playing thread stopped; see the log line before this one")]
    Worker,
    /// The own token cannot be read.
    #[error("{0}")]
    Token(String),
    /// A service permanently refuses this actor.
    #[error("the {service} refuses this actor: {message}")]
    Refused {
        /// The service: the arena or the learner.
        service: &'static str,
        /// The message of the service.
        message: String,
    },
    /// The arena at the address belongs to another run than at the start.
    #[error(
        "the arena belongs to run {found}, and this actor has played for run {first}; start it again to \
         play for the other run"
    )]
    OtherRun {
        /// The run at the start.
        first: RunId,
        /// The run now.
        found: RunId,
    },
}

impl ActorError {
    /// The exit code of a process that this error ends.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            Self::Setting(_) | Self::Play(_) | Self::File { .. } | Self::Game(_) => {
                ExitStatus::BadConfiguration
            }
            Self::Token(_) | Self::Refused { .. } | Self::OtherRun { .. } => {
                ExitStatus::Unavailable
            }
            Self::Thread(_) | Self::Worker => ExitStatus::Bug,
        }
    }
}
