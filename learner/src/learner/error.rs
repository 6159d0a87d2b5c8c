//! Errors of a learner that cannot start or continue.

use ouro_net::{Generation, RunId};
use ouro_proto::arena_client::ArenaError;
use ouro_service::{BackgroundError, ExitStatus, ServiceError};
use ouro_settings::SettingError;

use crate::device::DeviceError;
use crate::error::TrainError;
use crate::journal_writer::JournalWriterError;
use crate::rules::UnpackError;
use crate::training_loop::TrainingLoopError;
use crate::training_state::{TrainingStateError, UnfitState};

/// Why a learner cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum LearnerError {
    /// A field is out of range.
    #[error(transparent)]
    Config(#[from] SettingError),
    /// The game's configuration is out of range.
    #[error(transparent)]
    Game(#[from] ouro_game::ConfigError),
    /// The weights to start with have no layer of the network.
    #[error(
        "no layer of the weights to start with fits the network: they have {got}, the run has {spec}; \
         name weights of such a network, or change net"
    )]
    ForeignWeights {
        /// What distinguishes the network of the weights from that of the run.
        got: String,
        /// What the network of the run has instead.
        spec: String,
    },
    /// The run in the folder has another game, network, algorithm or optimiser.
    #[error(
        "{what} is {asked}, but the run in {directory} has {what} {stored}; restore that setting, or choose another folder for a new run"
    )]
    OtherRun {
        /// The directory of the run.
        directory: String,
        /// `game`, `network`, `algorithm` or `train.optimizer.kind`.
        what: &'static str,
        /// Value in the run's folder.
        stored: String,
        /// Value in the configuration.
        asked: String,
    },
    /// The journal holds games, but there is no training state.
    #[error(
        "{directory} has a journal of {games} games but no training state: it was removed; put the \
         folder training-states back, or run `ouro repair` to continue from the newest weights"
    )]
    NoTrainingState {
        /// The directory of the learner.
        directory: String,
        /// Games in the journal.
        games: u64,
    },
    /// The arena belongs to another run.
    #[error(
        "{directory} belongs to run {stored}, and the arena to run {found}; put the folders of one \
         run together, or set the address of the other arena"
    )]
    OtherArena {
        /// The directory of the learner.
        directory: String,
        /// The run of the directory.
        stored: RunId,
        /// The run of the arena.
        found: RunId,
    },
    /// The directory is empty, but the arena holds generations that a learner trained.
    #[error(
        "{directory} is empty, but the arena holds {newest} of its run; put the folder back, or run \
         `ouro repair` to continue training from these weights"
    )]
    LearnerLost {
        /// The directory of the learner.
        directory: String,
        /// The newest generation of the arena.
        newest: Generation,
    },
    /// The arena lacks generations that it has acknowledged.
    #[error(
        "{directory} has trained {own}, but the arena's newest is {}: its folder is from an earlier \
         time; put a newer copy of results.log and weights back",
        newest.map_or_else(|| "none".to_owned(), |newest| newest.to_string())
    )]
    ArenaBehind {
        /// The directory of the learner.
        directory: String,
        /// The generation of the learner.
        own: Generation,
        /// The newest generation of the arena.
        newest: Option<Generation>,
    },
    /// A training state cannot be read or written.
    #[error(transparent)]
    TrainingState(#[from] TrainingStateError),
    /// The journal cannot be read or written.
    #[error(transparent)]
    JournalWriter(#[from] JournalWriterError),
    /// A game of the journal does not replay by the rules.
    #[error("game {number} of the journal: {error}")]
    Journalled {
        /// Number of the game in the journal.
        number: u64,
        /// Reason.
        error: UnpackError,
    },
    /// The position of the replay in the training state is not valid.
    #[error(transparent)]
    Replay(#[from] ouro_replay::StateError),
    /// The journal does not hold the games that the newest training state needs.
    #[error(transparent)]
    Unfit(#[from] UnfitState),
    /// The device is not available.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The arena's address is not usable, or the arena refused this run.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The port cannot be opened or served.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// Training failed.
    #[error(transparent)]
    Training(#[from] TrainingLoopError),
    /// A thread or task could not start or ended early.
    #[error(transparent)]
    Background(#[from] BackgroundError),
}

impl LearnerError {
    /// The exit status of a process that this error ends.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            Self::Config(_)
            | Self::Game(_)
            | Self::ForeignWeights { .. }
            | Self::OtherRun { .. }
            | Self::Training(TrainingLoopError::Train(TrainError::OtherState { .. })) => {
                ExitStatus::BadConfiguration
            }
            Self::Training(TrainingLoopError::Train(error)) if error.is_divergence() => {
                ExitStatus::BadConfiguration
            }
            Self::NoTrainingState { .. }
            | Self::OtherArena { .. }
            | Self::LearnerLost { .. }
            | Self::ArenaBehind { .. }
            | Self::TrainingState(_)
            | Self::JournalWriter(_)
            | Self::Journalled { .. }
            | Self::Replay(_)
            | Self::Unfit(_)
            | Self::Device(_)
            | Self::Arena(_)
            | Self::Service(_)
            | Self::Background(BackgroundError::Start { .. })
            | Self::Training(TrainingLoopError::TrainingState(_)) => ExitStatus::Unavailable,
            Self::Training(_) | Self::Background(BackgroundError::EndedEarly { .. }) => {
                ExitStatus::Bug
            }
        }
    }
}
