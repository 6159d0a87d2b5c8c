//! Who plays in the arena, and which match is which.

use std::fmt;

use ouro_proto::Generation;
use serde::{Deserialize, Serialize};

/// The anchor's name in results and ratings.
pub const ANCHOR: &str = "random";

/// A player with a rating.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlayerId {
    /// Plays uniformly over legal actions: the anchor, and the champion until it is beaten.
    Random,
    /// A published network.
    Generation(Generation),
}

impl PlayerId {
    /// A number that keys and seeds are built from: 0 for random, else the generation plus 1.
    pub(crate) fn code(self) -> u64 {
        match self {
            Self::Random => 0,
            Self::Generation(generation) => u64::from(generation.0) + 1,
        }
    }

    /// The inverse of [`code`](Self::code).
    pub(crate) fn from_code(code: u64) -> Option<Self> {
        match code.checked_sub(1) {
            None => Some(Self::Random),
            Some(generation) => Some(Self::Generation(Generation(generation.try_into().ok()?))),
        }
    }
}

impl fmt::Display for PlayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str(ANCHOR),
            Self::Generation(generation) => generation.fmt(f),
        }
    }
}

/// A candidate's match against one opponent. There is one such match in a run, so its results
/// can be reported any number of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchId {
    /// The candidate.
    pub candidate: Generation,
    /// Whom it plays.
    pub opponent: PlayerId,
}

impl fmt::Display for MatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} vs {}", self.candidate, self.opponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_names_one_player() {
        for id in [
            PlayerId::Random,
            PlayerId::Generation(Generation(0)),
            PlayerId::Generation(Generation(u32::MAX)),
        ] {
            assert_eq!(PlayerId::from_code(id.code()), Some(id));
        }
        assert_eq!(PlayerId::from_code(u64::MAX), None);
        assert_eq!(PlayerId::Generation(Generation(7)).to_string(), "generation-7");
    }
}
