//! Identifiers of runs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Identifies a run, written as 16 lower-case hex digits. All parts of a run carry it, so that parts
/// of two runs are not mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(u64);

/// What is wrong with the identifier of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("run {0:?} is not 16 lower-case hex digits")]
pub struct RunIdError(String);

impl RunId {
    /// An identifier that depends on all bits of `seed`, such as the time and the process.
    pub fn of(seed: &[u8]) -> Self {
        let hash = Sha256::digest(seed);
        Self(u64::from_be_bytes(std::array::from_fn(|index| hash[index])))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for RunId {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        // The text may come from the network, so the message quotes a bounded part of it.
        let refused = || RunIdError(text.chars().take(40).collect());
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != 16 || !text.bytes().all(is_digit) {
            return Err(refused());
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| refused())
    }
}

impl TryFrom<String> for RunId {
    type Error = RunIdError;

    fn try_from(text: String) -> Result<Self, RunIdError> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4 example: the message "abc".
    #[test]
    fn an_identifier_is_the_start_of_the_published_sha_256() {
        assert_eq!(RunId::of(b"abc").to_string(), "ba7816bf8f01cfea");
    }

    #[test]
    fn an_identifier_is_read_back_and_anything_else_is_refused() {
        let id = RunId::of(b"a run");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_ne!(id, RunId::of(b"another"));
        for wrong in ["", "0123456789abcde", "0123456789ABCDEF", "+123456789abcdef"] {
            assert_eq!(wrong.parse::<RunId>(), Err(RunIdError(wrong.to_owned())));
        }
    }
}
