//! The checkpoint pool as domain types.

use crate::arena::v1;
use crate::checkpoint::{Checkpoint, CheckpointError};
use ouro_net::{ContentHash, Generation, RunId};

/// The pool from which actors choose opponents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// The newest published weights, regardless of their verdict.
    pub newest: Option<Checkpoint>,
    /// The last promoted checkpoint whose weights can be read.
    pub champion: Option<Checkpoint>,
    /// Every promoted checkpoint, oldest first, without those set aside.
    pub pool: Vec<Checkpoint>,
    /// The run.
    pub run: Option<RunId>,
}

/// The pool at one moment, with estimates from the ratings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolSnapshot {
    /// Counts the snapshots of one arena process from 1; 0 before the first.
    pub revision: u32,
    /// The newest published weights, regardless of their verdict.
    pub newest: Option<Checkpoint>,
    /// The last promoted checkpoint whose weights can be read.
    pub champion: Option<Checkpoint>,
    /// Every promoted checkpoint including the champion, oldest first, without those set aside.
    pub members: Vec<PoolMember>,
    /// The run; `None` before the first snapshot.
    pub run: Option<RunId>,
    /// Checkpoints whose weights the arena needs and cannot read. A client that has these weights
    /// publishes them again.
    pub missing: Vec<Checkpoint>,
}

/// A member of the pool.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolMember {
    /// The weights.
    pub checkpoint: Checkpoint,
    /// Estimated share of points of the newest weights against this member, 0 to 1. With more than
    /// two seats it is the probability of being ranked ahead of this member, among games that rank
    /// the two. Before the newest weights have a rated game, the rating of their nearest rated
    /// ancestor is used; `None` if there is none.
    pub newest_wins: Option<f64>,
}

/// Shares of games by kind of opponent; only their proportions count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpponentShares {
    /// The newest weights, which then play themselves.
    pub self_play: f64,
    /// A member of the pool; harder members are drawn more often.
    pub prioritised: f64,
    /// A member of the pool, with equal probability for each.
    pub uniform: f64,
}

/// An opponent drawn by the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnOpponent {
    /// Generation of the weights.
    pub generation: Generation,
    /// Hash of the weights.
    pub hash: ContentHash,
    /// Whether these are the newest weights, which play themselves.
    pub self_play: bool,
}

impl From<OpponentShares> for v1::OpponentShares {
    fn from(shares: OpponentShares) -> Self {
        let OpponentShares { self_play, prioritised, uniform } = shares;
        Self { self_play, prioritised, uniform }
    }
}

impl TryFrom<v1::Opponent> for DrawnOpponent {
    type Error = CheckpointError;

    fn try_from(wire: v1::Opponent) -> Result<Self, CheckpointError> {
        let generation = Generation(wire.generation);
        Ok(Self { generation, hash: wire.hash.parse()?, self_play: wire.self_play })
    }
}

impl PoolSnapshot {
    /// Removes the estimates and keeps the checkpoints.
    pub fn into_pool(self) -> Pool {
        let pool = self.members.into_iter().map(|member| member.checkpoint).collect();
        Pool { newest: self.newest, champion: self.champion, pool, run: self.run }
    }
}

impl TryFrom<v1::PoolMember> for PoolMember {
    type Error = CheckpointError;

    fn try_from(wire: v1::PoolMember) -> Result<Self, CheckpointError> {
        if let Some(share) = wire.newest_wins
            && !(0.0..=1.0).contains(&share)
        {
            return Err(CheckpointError::Share(share));
        }
        let checkpoint = wire.checkpoint.ok_or(CheckpointError::Absent)?.try_into()?;
        Ok(Self { checkpoint, newest_wins: wire.newest_wins })
    }
}

impl From<&PoolMember> for v1::PoolMember {
    fn from(member: &PoolMember) -> Self {
        let checkpoint = Some((&member.checkpoint).into());
        Self { checkpoint, newest_wins: member.newest_wins }
    }
}

impl TryFrom<v1::WatchPoolResponse> for PoolSnapshot {
    type Error = CheckpointError;

    fn try_from(wire: v1::WatchPoolResponse) -> Result<Self, CheckpointError> {
        Ok(Self {
            revision: wire.revision,
            newest: wire.newest.map(Checkpoint::try_from).transpose()?,
            champion: wire.champion.map(Checkpoint::try_from).transpose()?,
            members: wire.members.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            run: (!wire.run.is_empty()).then(|| wire.run.parse()).transpose()?,
            missing: wire.missing.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
        })
    }
}

impl From<&PoolSnapshot> for v1::WatchPoolResponse {
    fn from(snapshot: &PoolSnapshot) -> Self {
        Self {
            revision: snapshot.revision,
            newest: snapshot.newest.as_ref().map(Into::into),
            champion: snapshot.champion.as_ref().map(Into::into),
            members: snapshot.members.iter().map(Into::into).collect(),
            run: snapshot.run.map(String::from).unwrap_or_default(),
            missing: snapshot.missing.iter().map(Into::into).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CheckpointStatus;

    fn snapshot() -> PoolSnapshot {
        let checkpoint = |generation: u32, status| Checkpoint {
            hash: ContentHash::of(&generation.to_le_bytes()),
            generation: Generation(generation),
            step: 7,
            size_bytes: 8,
            status,
            published_at: 2.5,
            parent: generation.checked_sub(1).map(Generation),
        };
        let member = |checkpoint, newest_wins| PoolMember { checkpoint, newest_wins };
        PoolSnapshot {
            revision: 4,
            newest: Some(checkpoint(3, CheckpointStatus::Candidate)),
            champion: Some(checkpoint(2, CheckpointStatus::Champion)),
            members: vec![
                member(checkpoint(0, CheckpointStatus::Pool), Some(0.75)),
                member(checkpoint(2, CheckpointStatus::Champion), None),
            ],
            run: Some(RunId::of(b"a run")),
            missing: vec![checkpoint(1, CheckpointStatus::SetAside)],
        }
    }

    #[test]
    fn a_snapshot_survives_the_wire() {
        let wire = v1::WatchPoolResponse::from(&snapshot());
        assert_eq!(PoolSnapshot::try_from(wire), Ok(snapshot()));
        assert_eq!(snapshot().into_pool().pool.len(), 2);
    }

    #[test]
    fn a_member_without_weights_or_with_an_impossible_share_is_refused_by_name() {
        let mut wire = v1::WatchPoolResponse::from(&snapshot());
        wire.members[0].newest_wins = Some(1.5);
        assert_eq!(PoolSnapshot::try_from(wire.clone()), Err(CheckpointError::Share(1.5)));
        wire.members[0].newest_wins = Some(f64::NAN);
        assert!(PoolSnapshot::try_from(wire.clone()).is_err());
        wire.members[0] = v1::PoolMember::default();
        assert_eq!(PoolSnapshot::try_from(wire), Err(CheckpointError::Absent));
    }
}
