//! Checkpoints as domain types.
//!
//! A [`Checkpoint`] is well formed: its status is one of four and its time is finite.

use ouro_net::{ContentHash, Generation, HashError};
use serde::{Deserialize, Serialize};

use crate::arena::v1;

/// Where a checkpoint stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointStatus {
    /// Waits for its match, or is playing it.
    Candidate,
    /// Rejected by the gate, or superseded by a newer candidate.
    Rejected,
    /// In the pool.
    Pool,
    /// In the pool, and the last to be promoted.
    Champion,
}

/// One set of weights that the arena holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Names the weights file.
    pub hash: ContentHash,
    /// Which publication of the learner it is.
    pub generation: Generation,
    /// Optimiser steps behind it. The wire holds 32 bits of it, for people; more saturates.
    pub step: u64,
    /// Bytes in the weights file. The wire holds 32 bits of it, for people; more saturates.
    pub size_bytes: u64,
    /// Where it stands.
    pub status: CheckpointStatus,
    /// Unix time of its arrival, in seconds.
    pub published_at: f64,
    /// The weights that training went on from; `None` for the first.
    pub parent: Option<Generation>,
}

/// Why a checkpoint from the wire is not one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CheckpointError {
    /// The hash is malformed.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// The status is missing or from a newer protocol.
    #[error("checkpoint status {0} is unknown")]
    Status(i32),
    /// The time is not a number.
    #[error("checkpoint time {0} is not finite")]
    Time(f64),
    /// A member of the pool without a checkpoint.
    #[error("a member of the pool has no checkpoint")]
    Absent,
    /// An estimate that is no share.
    #[error("newest_wins is {0}; a share is a number from 0 to 1")]
    Share(f64),
}

impl TryFrom<v1::Checkpoint> for Checkpoint {
    type Error = CheckpointError;

    fn try_from(wire: v1::Checkpoint) -> Result<Self, CheckpointError> {
        let status = match v1::CheckpointStatus::try_from(wire.status) {
            Ok(v1::CheckpointStatus::Candidate) => CheckpointStatus::Candidate,
            Ok(v1::CheckpointStatus::Rejected) => CheckpointStatus::Rejected,
            Ok(v1::CheckpointStatus::Pool) => CheckpointStatus::Pool,
            Ok(v1::CheckpointStatus::Champion) => CheckpointStatus::Champion,
            Ok(v1::CheckpointStatus::Unspecified) | Err(_) => {
                return Err(CheckpointError::Status(wire.status));
            }
        };
        if !wire.published_at.is_finite() {
            return Err(CheckpointError::Time(wire.published_at));
        }
        Ok(Self {
            hash: wire.hash.parse()?,
            generation: Generation(wire.generation),
            step: wire.step.into(),
            size_bytes: wire.size_bytes.into(),
            status,
            published_at: wire.published_at,
            parent: wire.parent.map(Generation),
        })
    }
}

impl From<&Checkpoint> for v1::Checkpoint {
    fn from(checkpoint: &Checkpoint) -> Self {
        let status = match checkpoint.status {
            CheckpointStatus::Candidate => v1::CheckpointStatus::Candidate,
            CheckpointStatus::Rejected => v1::CheckpointStatus::Rejected,
            CheckpointStatus::Pool => v1::CheckpointStatus::Pool,
            CheckpointStatus::Champion => v1::CheckpointStatus::Champion,
        };
        Self {
            hash: checkpoint.hash.to_string(),
            generation: checkpoint.generation.0,
            step: checkpoint.step.try_into().unwrap_or(u32::MAX),
            size_bytes: checkpoint.size_bytes.try_into().unwrap_or(u32::MAX),
            status: status.into(),
            published_at: checkpoint.published_at,
            parent: checkpoint.parent.map(|parent| parent.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(status: CheckpointStatus) -> Checkpoint {
        Checkpoint {
            hash: ContentHash::of(b""),
            generation: Generation(7),
            step: 900,
            size_bytes: 1234,
            status,
            published_at: 1_700_000_000.5,
            parent: Some(Generation(6)),
        }
    }

    #[test]
    fn every_status_survives_the_wire() {
        for status in [
            CheckpointStatus::Candidate,
            CheckpointStatus::Rejected,
            CheckpointStatus::Pool,
            CheckpointStatus::Champion,
        ] {
            let checkpoint = example(status);
            assert_eq!(v1::Checkpoint::from(&checkpoint).try_into(), Ok(checkpoint));
        }
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let good = v1::Checkpoint::from(&example(CheckpointStatus::Pool));
        let bad = v1::Checkpoint { status: 0, ..good.clone() };
        assert_eq!(Checkpoint::try_from(bad), Err(CheckpointError::Status(0)));
        let bad = v1::Checkpoint { status: 99, ..good.clone() };
        assert_eq!(Checkpoint::try_from(bad), Err(CheckpointError::Status(99)));
        let bad = v1::Checkpoint { published_at: f64::INFINITY, ..good.clone() };
        assert_eq!(Checkpoint::try_from(bad), Err(CheckpointError::Time(f64::INFINITY)));
        let bad = v1::Checkpoint { hash: "x".into(), ..good };
        assert!(matches!(Checkpoint::try_from(bad), Err(CheckpointError::Hash(_))));
    }
}
