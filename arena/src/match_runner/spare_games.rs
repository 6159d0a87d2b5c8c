//! Spare games, which are played where the ratings are least certain.

use std::collections::{BTreeMap, BTreeSet};

use ouro_proto::{Checkpoint, CheckpointStatus};

use super::{MatchRunner, Precedence};
use crate::error::ArenaError;
use crate::matches::PlayError;
use crate::matchmaking;
use crate::player_id::{MatchKey, PlayerId};
use crate::store::StoreError;

/// Maximum number of pool members that spare games consider. The number is bounded because every
/// pairing is evaluated.
const POOL_OF_INTEREST: usize = 12;

/// Number of the newest members among them. The other members are those with the widest intervals.
const NEWEST_OF_INTEREST: usize = 6;

impl MatchRunner {
    /// Plays some games where the ratings are least certain. Returns `false` without playing if no
    /// pairing is worth a game. A match whose players cannot be built is added to `unplayable` and is not
    /// chosen again.
    pub(super) fn play_spare_games(
        &self,
        unplayable: &mut BTreeSet<MatchKey>,
    ) -> Result<bool, ArenaError> {
        let players = self.players_of_interest()?;
        let names: Vec<String> = players.iter().map(ToString::to_string).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let model = self.state.ratings().current();
        let champion = self.state.store().champion()?.to_string();
        let chosen = {
            let index = self.state.matches().index();
            let fresh = |a: &str, b: &str| match (a.parse(), b.parse()) {
                (Ok(a), Ok(b)) => {
                    index.has_distinct_games(&a, &b)
                        && !unplayable.contains(&MatchKey::rating(a, b))
                }
                _ => false,
            };
            matchmaking::choose(&model, &champion, &names, &fresh)
        };
        let Some((first, second)) = chosen else { return Ok(false) };
        let key = MatchKey::rating(players[first].clone(), players[second].clone());
        match self.rating_games(key.clone(), self.config.spare_games, Precedence::Candidate) {
            // The player is set aside by now and is not chosen again.
            Err(ArenaError::Unplayable { .. }) => return Ok(true),
            Err(ArenaError::Play(PlayError::Player(error))) => {
                let (first, second) = (&key.first, &key.second);
                tracing::warn!(%first, %second, %error, "cannot play spare games");
                unplayable.insert(key);
                return Ok(true);
            }
            played => played?,
        };
        self.state.refresh_ratings()?;
        if let Err(error) = self.state.prune_games(self.config.kept_matches) {
            tracing::warn!(%error, "unneeded games stay on disk");
        }
        Ok(true)
    }

    /// The players that spare games consider: the newest weights, the newest members of the pool,
    /// the members whose difference to the champion is least certain, and the anchors.
    fn players_of_interest(&self) -> Result<Vec<PlayerId>, StoreError> {
        // The table has all intervals already. Comparing each member with the champion would take a
        // sparse solve per member.
        let table = self.state.ratings().table().borrow().clone();
        let widths = table.ratings.iter().filter_map(|row| {
            let elo = row.to_champion?;
            let width = matchmaking::relevance(elo.value).sqrt() * (elo.high - elo.low);
            Some((&*row.player, width))
        });
        let widths: BTreeMap<&str, f64> = widths.collect();
        let width = |row: &Checkpoint| {
            let known = widths.get(row.generation.to_string().as_str());
            known.copied().unwrap_or(f64::INFINITY)
        };
        let checkpoints = self.state.store().checkpoints()?;
        let newest = checkpoints.last().map(|row| row.generation);
        let in_pool = |row: &&Checkpoint| {
            matches!(row.status, CheckpointStatus::Pool | CheckpointStatus::Champion)
        };
        let mut pool: Vec<_> = checkpoints.iter().rev().filter(in_pool).collect();
        // The sort is stable: of members with equal widths the newer comes first.
        if let Some((_, older)) = pool.split_at_mut_checked(NEWEST_OF_INTEREST) {
            older.sort_by(|a, b| width(b).total_cmp(&width(a)));
        }
        let pool = pool.into_iter().take(POOL_OF_INTEREST);
        let pool = pool.map(|row| row.generation).filter(|&generation| Some(generation) != newest);
        let unreadable = self.state.weights().unreadable();
        let generations = newest.into_iter().chain(pool);
        let generations = generations.filter(|generation| !unreadable.contains_key(generation));
        let generations = generations.map(PlayerId::from);
        let anchors = self.state.checked().anchors.iter().cloned().map(PlayerId::Anchor);
        Ok(generations.chain(anchors).collect())
    }
}
