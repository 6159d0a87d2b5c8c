//! What happens in an arena, for whoever watches.

use std::sync::Arc;

use ouro_proto::arena_client::RatingTable;
use ouro_proto::{Checkpoint, Generation};

use crate::gate::{Score, Verdict};
use crate::player_id::MatchId;
use crate::store::Promotion;

/// Something that happened. Watchers that fall behind miss the oldest events; the store and
/// the ratings hold everything that matters.
#[derive(Clone, Debug, PartialEq)]
pub enum ArenaEvent {
    /// A candidate arrived.
    Published(Checkpoint),
    /// A match begins, or goes on after a restart.
    MatchStarted(MatchId),
    /// Some pairs of a match have ended.
    MatchProgress {
        /// The match.
        id: MatchId,
        /// The candidate's score so far.
        score: Score,
        /// Games the match has at most.
        of: u32,
    },
    /// The gate has decided.
    Decided {
        /// The match against the champion.
        id: MatchId,
        /// The verdict.
        verdict: Verdict,
        /// The candidate's score over the games that count.
        score: Score,
    },
    /// There is a new champion.
    Promoted(Promotion),
    /// A candidate was turned down without a verdict: overtaken by a newer one, or its weights
    /// cannot be read.
    Dropped {
        /// The candidate.
        generation: Generation,
        /// Why, in one line.
        reason: String,
    },
    /// RatingTable were computed anew.
    Rated(Arc<RatingTable>),
}
