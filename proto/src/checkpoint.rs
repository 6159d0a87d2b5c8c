//! Checkpoints as domain types.
//!
//! A [`Checkpoint`] is validated: its status is known and its time is finite.

use ouro_net::{ContentHash, Generation, HashError, RunIdError};
use serde::{Deserialize, Serialize};

use crate::arena::v1;

/// Status of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointStatus {
    /// Without a verdict; its match has not started or is in progress.
    Candidate,
    /// Rejected by the gate, or superseded by a newer candidate.
    Rejected,
    /// In the pool.
    Pool,
    /// The last promoted checkpoint; also in the pool.
    Champion,
    /// Promoted, but its weights cannot be read, so it is not in the pool.
    SetAside,
}

/// One set of weights that the arena holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Hash of the weights file.
    pub hash: ContentHash,
    /// Generation of the weights.
    pub generation: Generation,
    /// Optimiser steps that led to the weights. The wire form has 32 bits and saturates.
    pub step: u64,
    /// Size of the weights file, in bytes. The wire form has 32 bits and saturates.
    pub size_bytes: u64,
    /// Status in the arena.
    pub status: CheckpointStatus,
    /// Unix time of its arrival, in seconds.
    pub published_at: f64,
    /// Generation of the weights from which training continued; `None` for the first.
    pub parent: Option<Generation>,
}

/// Error in a checkpoint or pool member from the wire.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CheckpointError {
    /// The hash is malformed.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// The status is missing or from a newer protocol.
    #[error("checkpoint status {0} is unknown")]
    Status(i32),
    /// The time is not finite.
    #[error("checkpoint time {0} is not finite")]
    Time(f64),
    /// The run is malformed.
    #[error(transparent)]
    Run(#[from] RunIdError),
    /// A member of the pool has no checkpoint.
    #[error("a member of the pool has no checkpoint")]
    Absent,
    /// An estimate is outside 0 to 1.
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
            Ok(v1::CheckpointStatus::SetAside) => CheckpointStatus::SetAside,
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
            CheckpointStatus::SetAside => v1::CheckpointStatus::SetAside,
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
            CheckpointStatus::SetAside,
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
