//! Requests to the journal writer.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ouro_replay::{AcceptedGame, RefusalReason};
use tokio::sync::{oneshot, watch};

use super::refusals::Refusals;

/// The verdict on a game.
#[derive(Debug)]
pub(crate) enum Decision {
    /// The game is trained on.
    Accept(Box<AcceptedGame>),
    /// The game is refused, with the reason as a code for counters and in words.
    Refuse(RefusalReason, String),
}

/// One epoch of an actor, as its connection sees it.
#[derive(Debug)]
pub(crate) struct PushSession {
    /// The actor's name.
    pub actor: Arc<str>,
    /// Number of the epoch.
    pub epoch: u64,
    /// The highest sequence number whose decision is on disk. Closed when another connection
    /// takes over the name.
    pub watermark: watch::Receiver<u64>,
    /// The refusals of this epoch, from all its connections.
    pub refusals: Refusals,
    /// Whether the connection that took over the name has another epoch. Set before the watermark is
    /// closed.
    pub is_fenced: Arc<AtomicBool>,
}

/// Why a session is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotOpened {
    /// The claimed epoch is not the actor's last one.
    Fenced,
    /// The journal remembers as many actors as it can, and the longest silent one is connected.
    Full,
}

/// Receives the session that an actor requested.
pub(super) type SessionReply = oneshot::Sender<Result<PushSession, NotOpened>>;

/// An actor connects. Not a [`Command`]: a game that waits for room in the replay blocks all commands
/// behind it, but no session.
#[derive(Debug)]
pub(super) struct OpenRequest {
    /// The actor's name.
    pub(super) actor: String,
    /// The epoch that the actor wants to resume.
    pub(super) claim: Option<u64>,
    /// Receives the session.
    pub(super) reply: SessionReply,
}

/// A request to the thread.
#[derive(Debug)]
pub(crate) enum Command {
    /// A checked game with its verdict.
    Decide {
        /// The actor's name.
        actor: Arc<str>,
        /// The actor's epoch.
        epoch: u64,
        /// The game's number in the epoch.
        sequence: u64,
        /// The verdict.
        decision: Decision,
    },
    /// No further command follows.
    Close,
}
