//! Checkpoints as domain types.
//!
//! A [`Checkpoint`] that exists is well formed: its hash is 64 lower-case hex digits, its
//! status is one of four, its time is finite.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::arena::v1;

/// SHA-256 of a weights file, written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentHash([u8; 32]);

/// What is wrong with a hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hash {0:?} is not 64 lower-case hex digits")]
pub struct HashError(String);

impl ContentHash {
    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// What a hasher has come to.
    pub(crate) fn from_hasher(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

impl FromStr for ContentHash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        // Long input is cut in the message: it may come from a stranger.
        let refused = || HashError(text.chars().take(80).collect());
        let digits = text.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() {
            return Err(refused());
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let (Some(high), Some(low)) = (nibble(pair[0]), nibble(pair[1])) else {
                return Err(refused());
            };
            *byte = high << 4 | low;
        }
        Ok(Self(hash))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl TryFrom<String> for ContentHash {
    type Error = HashError;

    fn try_from(text: String) -> Result<Self, HashError> {
        text.parse()
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> Self {
        hash.to_string()
    }
}

/// Counts published weights from 0, the untrained network.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Generation(pub u32);

/// The player name in results and ratings: `generation-7`.
impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "generation-{}", self.0)
    }
}

/// Where a checkpoint stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointStatus {
    /// Waits for its match, or is playing it.
    Candidate,
    /// Lost the gate, or was overtaken by a newer candidate.
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
    use proptest::prelude::*;

    use super::*;

    /// SHA-256 of nothing, from FIPS 180-4's example values.
    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

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
    fn a_hash_reads_only_what_it_writes() {
        assert_eq!(ContentHash::of(b"").to_string(), EMPTY);
        assert_eq!(EMPTY.parse(), Ok(ContentHash::of(b"")));
        for bad in
            ["", "e3b0", &EMPTY.to_uppercase(), &EMPTY.replace('e', "g"), "ä".repeat(32).as_str()]
        {
            assert!(bad.parse::<ContentHash>().is_err(), "{bad}");
        }
        let json = serde_json::to_string(&ContentHash::of(b"")).unwrap();
        assert_eq!(json, format!("\"{EMPTY}\""));
        assert!(serde_json::from_str::<ContentHash>("\"../../etc/passwd\"").is_err());
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

    proptest! {
        #[test]
        fn any_hash_survives_its_text(bytes: Vec<u8>) {
            let hash = ContentHash::of(&bytes);
            prop_assert_eq!(hash.to_string().parse(), Ok(hash));
        }
    }
}
