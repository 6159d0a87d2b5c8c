//! Events of an arena.

use std::fmt;
use std::sync::Arc;

use ouro_net::Generation;
use ouro_proto::Checkpoint;
use ouro_rating::{GateReport, RatingTable};

use crate::player_id::MatchKind;
use crate::store::{Decision, MatchInfo, Promotion};

/// An event. Its `Display` form is a sentence. A receiver that falls behind loses the oldest
/// events; the store and the ratings hold the same information.
#[derive(Clone, Debug, PartialEq)]
pub enum ArenaEvent {
    /// A candidate arrived.
    Published(Checkpoint),
    /// A match starts or resumes.
    MatchStarted(MatchInfo),
    /// Games at the gate have ended.
    GateProgress {
        /// The match.
        info: MatchInfo,
        /// The state of the match.
        report: Box<GateReport>,
    },
    /// A candidate was promoted, rejected or dropped.
    Decided(Decision),
    /// Candidates were overtaken while they waited. This event follows their decisions.
    Overtaken(Overtaken),
    /// There is a new champion. This event follows the decision.
    Promoted(Promotion),
    /// The ratings were updated.
    Rated(Arc<RatingTable>),
}

/// Candidates that were dropped together, because a newer generation plays or is champion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overtaken {
    /// The oldest of them.
    pub first: Generation,
    /// The newest of them.
    pub last: Generation,
    /// How many they are. Generations in between may have been decided before.
    pub count: usize,
    /// The generation that overtook them.
    pub by: Generation,
}

impl fmt::Display for Overtaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last, count, by } = self;
        match count {
            1 => write!(f, "{first} was dropped: overtaken by {by}."),
            _ => {
                write!(f, "{count} candidates, {first} to {last}, were dropped: overtaken by {by}.")
            }
        }
    }
}

impl fmt::Display for ArenaEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published(checkpoint) => {
                write!(f, "{} arrived, after {} steps.", checkpoint.generation, checkpoint.step)
            }
            Self::MatchStarted(MatchInfo { key, number, .. }) => {
                let aim = match key.kind {
                    MatchKind::Gate => "to decide whether it joins the pool",
                    MatchKind::Rating => "for their ratings",
                };
                write!(f, "{} plays {} {aim} (match {number}).", key.first, key.second)
            }
            Self::GateProgress { info, report } => {
                let (first, second) = (info.key.first.to_string(), info.key.second.to_string());
                f.write_str(&report.explain(&first, &second))
            }
            Self::Decided(decision) => f.write_str(&decision.explanation),
            Self::Overtaken(overtaken) => overtaken.fmt(f),
            Self::Promoted(promotion) => {
                write!(
                    f,
                    "{} is the new champion; it beat {}.",
                    promotion.generation, promotion.beat
                )
            }
            Self::Rated(table) => match table.ratings.first() {
                None => f.write_str("No player is rated yet."),
                Some(best) => write!(
                    f,
                    "After {} games {} is the strongest: Elo {:+.0}, 95 % interval {:+.0} to {:+.0}.",
                    table.games, best.player, best.elo, best.elo_low, best.elo_high
                ),
            },
        }
    }
}
