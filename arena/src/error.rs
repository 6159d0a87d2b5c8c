//! Errors of the arena and their mapping to gRPC codes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ouro_net::{Generation, HashError};
use ouro_players::opponents::OpponentSharesError;
use ouro_proto::chunks::ChunkError;
use ouro_service::{ExitStatus, IntoStatus, ServiceError};
use tonic::{Code, Status};

use crate::config::ConfigError;
use crate::matches::PlayError;
use crate::store::{StoreError, WeightsError};

/// Error that stops the arena.
#[derive(Debug, thiserror::Error)]
pub enum ArenaError {
    /// The configuration is invalid.
    #[error("arena configuration: {0}")]
    Config(#[from] ConfigError),
    /// The data folder cannot be created.
    #[error("data folder {}: {source}", path.display())]
    Data {
        /// The folder.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The store is missing, but weights of a run exist.
    #[error(
        "{} is missing or empty, but {} holds weights of a run; put the store back, or move the \
         weights away to start without ratings",
        path.display(),
        weights.display()
    )]
    StoreLost {
        /// The file of the store.
        path: PathBuf,
        /// The folder of weights.
        weights: PathBuf,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store of weights cannot be opened.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The weights of a pool member cannot be read.
    #[error("{generation} cannot play: {reason}")]
    Unplayable {
        /// The member.
        generation: Generation,
        /// The problem with its weights.
        reason: String,
    },
    /// A match failed.
    #[error("match failed: {0}")]
    Play(#[from] PlayError),
    /// The port or the server failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The web page cannot be served: its port is taken, its address is not local, or the server
    /// failed.
    #[error(
        "the web page cannot be served on {address}: {source}; choose another address for it, or `off`"
    )]
    Web {
        /// The configured address.
        address: SocketAddr,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A thread could not start or ended early.
    #[error(transparent)]
    Thread(#[from] ouro_service::BackgroundError),
}

impl ArenaError {
    /// The exit status of a process that ends with this error.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            Self::Config(_)
            | Self::Store(StoreError::OtherRun { .. } | StoreError::Schema { .. })
            | Self::Weights(WeightsError::OtherRun { .. } | WeightsError::NotBuilt { .. }) => {
                ExitStatus::BadConfiguration
            }
            Self::Data { .. }
            | Self::StoreLost { .. }
            | Self::Service(_)
            | Self::Web { .. }
            | Self::Weights(_)
            | Self::Unplayable { .. }
            | Self::Store(
                StoreError::Locked { .. }
                | StoreError::Io { .. }
                | StoreError::Damaged { .. }
                | StoreError::Nameless { .. }
                | StoreError::Contradiction { .. }
                | StoreError::Exhausted { .. }
                | StoreError::Unreachable { .. }
                | StoreError::Server { .. }
                | StoreError::Fenced { .. }
                | StoreError::DamagedEntry { .. }
                | StoreError::LostEntry { .. },
            ) => ExitStatus::Unavailable,
            Self::Store(_) | Self::Play(_) | Self::Thread(_) => ExitStatus::Bug,
        }
    }
}

/// Error of a call, returned as a gRPC status.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The first message of a publication is not its header.
    #[error("the first message must be the header")]
    HeaderMissing,
    /// A publication has a second header.
    #[error("a second header arrived; send one header, then chunks")]
    HeaderRepeated,
    /// A message without content, perhaps from a newer protocol.
    #[error("a message holds neither header nor chunk")]
    Empty,
    /// The hash is malformed.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// The chunks do not form the announced file.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// The client paused too long during an upload.
    #[error("no chunk arrived for {0:?}; publish again")]
    Idle(Duration),
    /// The client paused too long during a download.
    #[error("no chunk was read for {0:?}; fetch again")]
    Unread(Duration),
    /// Too many uploads are queued for a slot, or the slot did not become free in time.
    #[error("up to {0} uploads wait for a slot; publish again later")]
    Busy(usize),
    /// The transfer as a whole took too long.
    #[error("the transfer took longer than {0:?}; try again")]
    Slow(Duration),
    /// The client's stream failed.
    #[error("upload failed: {}", .0.message())]
    Broken(Status),
    /// The file is not a valid weights file.
    #[error(transparent)]
    Weights(#[from] ouro_net::WeightsError),
    /// Header and file disagree.
    #[error("header says {field} {header}, the weights say {file}")]
    HeaderMismatch {
        /// The field.
        field: &'static str,
        /// In the header.
        header: u64,
        /// In the file.
        file: u64,
    },
    /// The parent is not older than its child.
    #[error("header says parent {parent} of {generation}; a parent has a lower number")]
    Parent {
        /// In the header.
        parent: Generation,
        /// Generation of the weights.
        generation: Generation,
    },
    /// The weights are for another game.
    #[error("weights were trained on {theirs}, this arena plays {ours}")]
    ForeignGame {
        /// The game of the file.
        theirs: String,
        /// The game of the run.
        ours: String,
    },
    /// The sizes of the network do not match the game.
    #[error("network does not fit the game: {0}")]
    ForeignSpec(String),
    /// An actor offers weights that the arena has never had.
    #[error("an actor may only return weights that the arena lost; candidates come from a learner")]
    NewWeights,
    /// The weights folder failed.
    #[error(transparent)]
    Folder(#[from] WeightsError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The number of draws is out of range.
    #[error("count is {got}; draw 1 to {most} opponents at once")]
    DrawCount {
        /// Requested number of draws.
        got: u32,
        /// Maximum number of draws.
        most: u32,
    },
    /// The request has no shares.
    #[error("shares are missing; set self_play, prioritised and uniform")]
    SharesMissing,
    /// The shares are invalid.
    #[error(transparent)]
    Shares(#[from] OpponentSharesError),
    /// No checkpoint has been published.
    #[error("no checkpoint was published yet; publish one first")]
    NothingPublished,
    /// The match does not exist.
    #[error("match {0} does not exist; ListMatches lists all matches")]
    NoMatch(u32),
    /// The game does not exist or is no longer kept.
    #[error(
        "game {game} of cluster {cluster} of match {number} is not kept; GetMatch lists the kept games"
    )]
    NoGame {
        /// Number of the match.
        number: u32,
        /// Cluster.
        cluster: u32,
        /// Game.
        game: u32,
    },
    /// The record of the game does not follow the rules.
    #[error("game {game} of cluster {cluster} of match {number} does not replay: {reason}")]
    Unreadable {
        /// Number of the match.
        number: u32,
        /// Cluster.
        cluster: u32,
        /// Game.
        game: u32,
        /// Where record and rules disagree.
        reason: String,
    },
    /// The gate has neither a match nor a decision to report.
    #[error("{0}")]
    NoGate(String),
    /// The player does not exist.
    #[error("player {0:?} is not in the ratings; GetRatings lists all rated players")]
    NoPlayer(String),
    /// A required field is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// The arena is stopping.
    #[error("the arena is stopping; try again later")]
    Stopping,
}

impl CallError {
    /// Whether the call failed only because a disk is full, or a store cannot be reached.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Store(error) => error.is_passing(),
            Self::Folder(error) => error.is_passing(),
            _ => false,
        }
    }

    /// The error of a store after which the same call can succeed later; any other error as it is.
    pub(crate) fn passing(self) -> Result<StoreError, Self> {
        match self {
            Self::Store(error) if error.is_passing() => Ok(error),
            Self::Folder(WeightsError::Exhausted { folder, source }) => {
                Ok(StoreError::Exhausted { path: folder.display().to_string(), source })
            }
            Self::Folder(WeightsError::Unreachable { store, problem }) => {
                Ok(StoreError::Unreachable { store: format!("weights in {store}"), problem })
            }
            error => Err(error),
        }
    }
}

impl IntoStatus for CallError {
    fn code(&self) -> Code {
        match self {
            Self::HeaderMissing
            | Self::HeaderRepeated
            | Self::Empty
            | Self::Hash(_)
            | Self::Weights(_)
            | Self::HeaderMismatch { .. }
            | Self::Parent { .. }
            | Self::SharesMissing
            | Self::Missing(_)
            | Self::Shares(_) => Code::InvalidArgument,
            Self::DrawCount { .. } => Code::OutOfRange,
            Self::NewWeights => Code::PermissionDenied,
            Self::NothingPublished => Code::FailedPrecondition,
            Self::NoMatch(_) | Self::NoGame { .. } | Self::NoGate(_) | Self::NoPlayer(_) => {
                Code::NotFound
            }
            Self::Unreadable { .. } => Code::DataLoss,
            Self::Chunk(error) => match error {
                ChunkError::TooLarge { .. } | ChunkError::ChunkTooLarge { .. } => Code::OutOfRange,
                ChunkError::Empty
                | ChunkError::TooMany { .. }
                | ChunkError::TooFew { .. }
                | ChunkError::Hash { .. } => Code::InvalidArgument,
            },
            Self::Idle(_) | Self::Unread(_) | Self::Slow(_) => Code::DeadlineExceeded,
            Self::Busy(_) => Code::ResourceExhausted,
            Self::Broken(status) => status.code(),
            Self::ForeignGame { .. } | Self::ForeignSpec(_) => Code::FailedPrecondition,
            Self::Folder(error) => match error {
                WeightsError::Missing(_) => Code::NotFound,
                WeightsError::Damaged { .. } => Code::DataLoss,
                WeightsError::Exhausted { .. } => Code::ResourceExhausted,
                WeightsError::Unreachable { .. } => Code::Unavailable,
                WeightsError::Io { .. }
                | WeightsError::Unusable { .. }
                | WeightsError::OtherRun { .. }
                | WeightsError::NotBuilt { .. } => Code::Internal,
            },
            Self::Store(error) => match error {
                StoreError::GenerationTaken { .. } => Code::AlreadyExists,
                StoreError::Unknown(_) | StoreError::UnknownMatch(_) => Code::NotFound,
                StoreError::Decided(_)
                | StoreError::NotInPool(_)
                | StoreError::ChampionChanged { .. } => Code::FailedPrecondition,
                StoreError::Exhausted { .. } => Code::ResourceExhausted,
                StoreError::Unreachable { .. } => Code::Unavailable,
                StoreError::Damaged { .. }
                | StoreError::Nameless { .. }
                | StoreError::DamagedEntry { .. }
                | StoreError::LostEntry { .. } => Code::DataLoss,
                StoreError::Locked { .. }
                | StoreError::Io { .. }
                | StoreError::Contradiction { .. }
                | StoreError::Schema { .. }
                | StoreError::Server { .. }
                | StoreError::Fenced { .. }
                | StoreError::OtherRun { .. } => Code::Internal,
            },
            Self::Stopping => Code::Unavailable,
        }
    }
}

#[cfg(test)]
mod tests {
    use ouro_net::ContentHash;

    use super::*;
    use crate::player_id::PlayerId;

    #[test]
    fn every_refusal_has_its_code() {
        let hash = ContentHash::of(b"");
        let path = PathBuf::from("weights");
        let io = || std::io::Error::other("disk");
        let folder = |error| CallError::Folder(error);
        let store = |error| CallError::Store(error);
        let chunk = |error| CallError::Chunk(error);
        let generation = Generation(3);
        let table = [
            (CallError::HeaderMissing, Code::InvalidArgument),
            (CallError::HeaderRepeated, Code::InvalidArgument),
            (CallError::Empty, Code::InvalidArgument),
            (CallError::Hash("x".parse::<ContentHash>().unwrap_err()), Code::InvalidArgument),
            (chunk(ChunkError::TooLarge { size: 2, limit: 1 }), Code::OutOfRange),
            (chunk(ChunkError::ChunkTooLarge { size: 2 }), Code::OutOfRange),
            (chunk(ChunkError::Empty), Code::InvalidArgument),
            (chunk(ChunkError::TooMany { announced: 1 }), Code::InvalidArgument),
            (chunk(ChunkError::TooFew { got: 0, announced: 1 }), Code::InvalidArgument),
            (chunk(ChunkError::Hash { got: hash, announced: hash }), Code::InvalidArgument),
            (CallError::Idle(Duration::from_secs(1)), Code::DeadlineExceeded),
            (CallError::Unread(Duration::from_secs(1)), Code::DeadlineExceeded),
            (CallError::Slow(Duration::from_secs(1)), Code::DeadlineExceeded),
            (CallError::Busy(16), Code::ResourceExhausted),
            (CallError::Broken(Status::cancelled("gone")), Code::Cancelled),
            (
                CallError::Weights(ouro_net::WeightsError::Malformed("short".into())),
                Code::InvalidArgument,
            ),
            (
                CallError::HeaderMismatch { field: "step", header: 1, file: 2 },
                Code::InvalidArgument,
            ),
            (CallError::Parent { parent: generation, generation }, Code::InvalidArgument),
            (
                CallError::ForeignGame { theirs: "a".into(), ours: "b".into() },
                Code::FailedPrecondition,
            ),
            (CallError::ForeignSpec("3 actions".into()), Code::FailedPrecondition),
            (folder(WeightsError::Missing(hash)), Code::NotFound),
            (folder(WeightsError::Damaged { path: path.clone(), found: hash }), Code::DataLoss),
            (folder(WeightsError::Io { path: path.clone(), source: io() }), Code::Internal),
            (
                folder(WeightsError::Unreachable { store: "s3".into(), problem: "down".into() }),
                Code::Unavailable,
            ),
            (
                folder(WeightsError::Exhausted { folder: path.clone(), source: io() }),
                Code::ResourceExhausted,
            ),
            (
                store(StoreError::Exhausted { path: "a".into(), source: io() }),
                Code::ResourceExhausted,
            ),
            (store(StoreError::GenerationTaken { generation, stored: hash }), Code::AlreadyExists),
            (store(StoreError::Unknown(generation)), Code::NotFound),
            (store(StoreError::Decided(generation)), Code::FailedPrecondition),
            (
                store(StoreError::ChampionChanged {
                    actual: PlayerId::random(),
                    expected: PlayerId::random(),
                }),
                Code::FailedPrecondition,
            ),
            (store(StoreError::Locked { path: "a".into() }), Code::Internal),
            (
                store(StoreError::Io { action: "read", path: "a".into(), source: io() }),
                Code::Internal,
            ),
            (store(StoreError::Damaged { path: "a".into(), entry: 1, offset: 2 }), Code::DataLoss),
            (store(StoreError::NotInPool(generation)), Code::FailedPrecondition),
            (store(StoreError::Schema { found: 9 }), Code::Internal),
            (store(StoreError::OtherRun { stored: "a".into(), asked: "b".into() }), Code::Internal),
            (
                store(StoreError::Contradiction {
                    path: "a".into(),
                    entry: 1,
                    problem: "twice".into(),
                }),
                Code::Internal,
            ),
            (CallError::DrawCount { got: 0, most: 9 }, Code::OutOfRange),
            (CallError::SharesMissing, Code::InvalidArgument),
            (CallError::Shares(OpponentSharesError::AllZero), Code::InvalidArgument),
            (CallError::NothingPublished, Code::FailedPrecondition),
            (CallError::NoMatch(1), Code::NotFound),
            (CallError::NoGame { number: 1, cluster: 2, game: 0 }, Code::NotFound),
            (CallError::NoGate("nobody".into()), Code::NotFound),
            (CallError::NoPlayer("nobody".into()), Code::NotFound),
            (CallError::Missing("id"), Code::InvalidArgument),
            (store(StoreError::UnknownMatch(1)), Code::NotFound),
            (CallError::Stopping, Code::Unavailable),
        ];
        for (error, code) in table {
            assert_eq!(error.code(), code, "{error}");
            let status = error.status();
            assert!(!status.message().is_empty() && !status.message().contains('\n'));
        }
    }
}
