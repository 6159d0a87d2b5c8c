//! Identities of players and matches.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ouro_game::Rng;
use ouro_game::digest::digest_serialized;
use ouro_net::Generation;
use serde::{Deserialize, Serialize};

/// The player whose rating is fixed at 0, and the champion before the first promotion.
pub const ANCHOR: &str = "random";

/// Prefix of the name of every generation.
const GENERATION: &str = "generation-";

/// Maximum length of a name, in bytes: far above the length of any player name with parameters.
/// Names are part of store keys.
pub(crate) const LONGEST_NAME: usize = 200;

/// A player that can be rated. Its text form is used everywhere: `generation-7`,
/// `minimax{depth=2}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PlayerId {
    /// A player that never changes, by its name in the registry of players.
    Anchor(Arc<str>),
    /// A published network.
    Generation(Generation),
}

/// The error for a text that is not a player name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("player {0:?} is no player of the arena; write generation-N or the name of an anchor")]
pub struct PlayerIdError(String);

impl PlayerId {
    /// The anchor with rating 0.
    pub fn random() -> Self {
        Self::Anchor(ANCHOR.into())
    }

    /// The generation of a network; `None` for an anchor.
    pub fn generation(&self) -> Option<Generation> {
        match self {
            Self::Anchor(_) => None,
            Self::Generation(generation) => Some(*generation),
        }
    }
}

impl From<Generation> for PlayerId {
    fn from(generation: Generation) -> Self {
        Self::Generation(generation)
    }
}

impl FromStr for PlayerId {
    type Err = PlayerIdError;

    fn from_str(text: &str) -> Result<Self, PlayerIdError> {
        // Cut, because the text may come from an untrusted client.
        let refused = || PlayerIdError(text.chars().take(LONGEST_NAME).collect());
        match text.strip_prefix(GENERATION) {
            Some(number) => {
                let generation = Generation(number.parse().map_err(|_| refused())?);
                // Only the canonical spelling is accepted, so that each player has one name.
                let canonical = generation.to_string() == text;
                canonical.then_some(Self::Generation(generation)).ok_or_else(refused)
            }
            None if text.is_empty() || text.len() > LONGEST_NAME => Err(refused()),
            // Names are part of messages of one line.
            None if text.contains(char::is_control) => Err(refused()),
            None => Ok(Self::Anchor(text.into())),
        }
    }
}

impl TryFrom<String> for PlayerId {
    type Error = PlayerIdError;

    fn try_from(text: String) -> Result<Self, PlayerIdError> {
        text.parse()
    }
}

impl From<PlayerId> for String {
    fn from(player: PlayerId) -> Self {
        player.to_string()
    }
}

impl fmt::Display for PlayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anchor(name) => f.write_str(name),
            Self::Generation(generation) => generation.fmt(f),
        }
    }
}

/// The purpose of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchKind {
    /// Decides whether a candidate is promoted.
    Gate,
    /// Makes ratings more certain.
    Rating,
}

/// The identity of a match. A run has one match per key, which may be interrupted and resumed any
/// number of times.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchKey {
    /// The purpose.
    pub kind: MatchKind,
    /// The player whose results are counted: at the gate, the candidate.
    pub first: PlayerId,
    /// Its opponent: at the gate, the champion.
    pub second: PlayerId,
}

impl MatchKey {
    /// The match of a candidate against a champion.
    pub fn gate(candidate: Generation, champion: PlayerId) -> Self {
        Self { kind: MatchKind::Gate, first: candidate.into(), second: champion }
    }

    /// The rating match of two players, in either order.
    pub fn rating(a: PlayerId, b: PlayerId) -> Self {
        // In the order of `PlayerId`, generations are greater than anchors, and newer generations
        // greater than older ones. The greater player is `first`.
        let (first, second) = if a < b { (b, a) } else { (a, b) };
        Self { kind: MatchKind::Rating, first, second }
    }

    /// The seed that all games of a cluster share.
    pub fn seed(&self, run: u64, cluster: u32) -> u64 {
        // The seed is derived in two steps, so that no cluster shares its seed with a cluster of
        // another match.
        let own = Rng::indexed(run, "match", digest_serialized(self)).bits();
        Rng::indexed(own, "cluster", cluster.into()).bits()
    }
}

impl fmt::Display for MatchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            MatchKind::Gate => " at the gate",
            MatchKind::Rating => "",
        };
        write!(f, "{} vs {}{kind}", self.first, self.second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_players_correspond_one_to_one() {
        for name in ["random", "minimax{depth=2}", "generation-0", "generation-4294967295"] {
            assert_eq!(name.parse::<PlayerId>().unwrap().to_string(), name);
        }
        for name in ["", "generation-", "generation-07", "generation-+7", "generation-4294967296"] {
            assert!(name.parse::<PlayerId>().is_err(), "{name}");
        }
        assert!("two\nlines".parse::<PlayerId>().is_err());
        assert!("x".repeat(201).parse::<PlayerId>().is_err());
        let json = serde_json::to_string(&PlayerId::from(Generation(7))).unwrap();
        assert_eq!(json, "\"generation-7\"");
    }

    #[test]
    fn every_match_has_its_own_seeds_and_rating_matches_have_no_order() {
        let (seven, random) = (PlayerId::from(Generation(7)), PlayerId::random());
        let rating = MatchKey::rating(random.clone(), seven.clone());
        assert_eq!(rating, MatchKey::rating(seven.clone(), random.clone()));
        assert_eq!(rating.first, seven);
        let gate = MatchKey::gate(Generation(7), random);
        let seeds = [rating.seed(1, 0), rating.seed(1, 1), rating.seed(2, 0), gate.seed(1, 0)];
        let distinct: std::collections::BTreeSet<u64> = seeds.into_iter().collect();
        assert_eq!(distinct.len(), 4);
    }
}
