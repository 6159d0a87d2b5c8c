//! Generations: the count of published weights.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Counts published weights from 0, the untrained network.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Generation(pub u32);

impl Generation {
    /// The generation published after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The generation `count` publications earlier; at least the first.
    #[must_use]
    pub fn before(self, count: u32) -> Self {
        Self(self.0.saturating_sub(count))
    }

    /// Publications between this generation and `newest`; 0 if this one is as new.
    pub fn lag(self, newest: Self) -> u32 {
        newest.0.saturating_sub(self.0)
    }
}

/// The player name in results and ratings: `generation-7`.
impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "generation-{}", self.0)
    }
}
