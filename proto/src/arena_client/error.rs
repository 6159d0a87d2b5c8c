//! Errors of calls to the arena.

use tonic::{Code, Status};

use crate::checkpoint::CheckpointError;
use crate::chunks::ChunkError;
use crate::matches::AnswerError;

/// Error of a call to the arena.
#[derive(Debug, thiserror::Error)]
pub enum ArenaError {
    /// The address is not a URL.
    #[error("arena address {0:?} is not a URL; write http://host:port")]
    Address(String),
    /// The arena cannot be reached, or cannot answer now.
    #[error("arena is unavailable: {0}")]
    Unavailable(String),
    /// The arena refused the call and will refuse the same call again.
    #[error("arena refused ({code:?}): {message}")]
    Refused {
        /// The gRPC code.
        code: Code,
        /// The message of the arena.
        message: String,
    },
    /// The checkpoint in an answer is invalid.
    #[error("arena sent a malformed answer: {0}")]
    Malformed(#[from] CheckpointError),
    /// The match, game or decision in an answer is invalid.
    #[error("arena sent an answer that does not read: {0}")]
    Unreadable(#[from] AnswerError),
    /// The answer to a publication holds no checkpoint.
    #[error("arena answered a publication without a checkpoint")]
    Empty,
    /// The weights are not the requested ones.
    #[error("arena sent wrong weights: {0}")]
    Corrupt(#[from] ChunkError),
}

impl ArenaError {
    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    /// Whether the arena does not accept the credential of the call. A credential that was renewed
    /// may be accepted soon, over a new connection if it is a certificate.
    pub fn is_unauthenticated(&self) -> bool {
        matches!(self, Self::Refused { code: Code::Unauthenticated, .. })
    }
}

impl From<Status> for ArenaError {
    fn from(status: Status) -> Self {
        match status.code() {
            // A connection that breaks during a call gives `Unknown` or `Cancelled`. A full disk of
            // the arena gives `ResourceExhausted` and a failing one `Internal`; an operator can
            // repair both.
            Code::Unavailable
            | Code::DeadlineExceeded
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Cancelled
            | Code::Internal
            | Code::Unknown => Self::Unavailable(status.message().to_owned()),
            code => Self::Refused { code, message: status.message().to_owned() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_that_pass_are_worth_a_retry() {
        let retryable = |code| ArenaError::from(Status::new(code, "")).is_retryable();
        let passing = [
            Code::Unavailable,
            Code::DeadlineExceeded,
            Code::ResourceExhausted,
            Code::Aborted,
            Code::Cancelled,
            Code::Internal,
            Code::Unknown,
        ];
        // 0 is success and 16 is the last gRPC code.
        for code in (1..=16).map(Code::from_i32) {
            assert_eq!(retryable(code), passing.contains(&code), "{code:?}");
        }
    }
}
