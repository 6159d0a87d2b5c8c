//! The state that follows from the log: checkpoints, decisions, promotions, matches.
//!
//! [`Tables::apply`] is the only way to change the state, at a start, in a running arena and in a
//! replay alike. It is a pure function of the entries.

use std::collections::{BTreeMap, BTreeSet};

use ouro_net::Generation;
use ouro_proto::{Checkpoint, CheckpointStatus};

use super::rows::{Decision, LogEntry, MatchInfo, MatchSums, Promotion, RunStarted, StoredCluster};
use crate::player_id::{MatchKey, PlayerId};

/// The tables. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tables {
    pub(super) run: Option<RunStarted>,
    pub(super) checkpoints: BTreeMap<Generation, Checkpoint>,
    pub(super) decisions: BTreeMap<Generation, Decision>,
    /// The generations with a decision, in the order of the log.
    pub(super) decided: Vec<Generation>,
    /// Oldest first.
    pub(super) promotions: Vec<Promotion>,
    pub(super) matches: BTreeMap<u32, MatchTable>,
    pub(super) numbers: BTreeMap<MatchKey, u32>,
    /// Entries that damage destroyed. See [`LogEntry::Lost`].
    pub(super) lost: u64,
    /// Entries that refer to destroyed ones and were skipped.
    pub(super) skipped: u64,
}

/// A match with its games.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MatchTable {
    pub(super) info: MatchInfo,
    pub(super) sums: MatchSums,
    pub(super) clusters: BTreeSet<u32>,
    /// Numbers of the entries that hold its games.
    pub(super) entries: Vec<u64>,
}

impl Tables {
    /// Applies entry `number`. An entry that contradicts the entries before it changes nothing, and
    /// the contradiction is returned. If entries were lost, such an entry is skipped instead.
    pub(super) fn apply(&mut self, number: u64, entry: &LogEntry) -> Result<(), String> {
        match self.check(entry) {
            Ok(()) => self.commit(number, entry),
            Err(problem) if self.lost == 0 => return Err(problem),
            Err(_) => self.skipped += 1,
        }
        Ok(())
    }

    /// Checks that an entry can follow the entries so far.
    pub(super) fn check(&self, entry: &LogEntry) -> Result<(), String> {
        match entry {
            LogEntry::RunStarted(_) => match self.run {
                Some(_) => Err("the run starts more than once".to_owned()),
                None => Ok(()),
            },
            LogEntry::CheckpointPublished(checkpoint) => {
                let generation = checkpoint.generation;
                match self.checkpoints.contains_key(&generation) {
                    true => Err(format!("{generation} is published more than once")),
                    false => Ok(()),
                }
            }
            // The next match has this number plus one.
            LogEntry::MatchStarted(MatchInfo { number: u32::MAX, .. }) => {
                Err(format!("match number {} is out of range", u32::MAX))
            }
            LogEntry::MatchStarted(MatchInfo { number, key, .. }) => {
                match self.matches.contains_key(number) || self.numbers.contains_key(key) {
                    true => Err(format!("match {number} is opened more than once")),
                    false => Ok(()),
                }
            }
            LogEntry::GamesPlayed { number, clusters } => self.check_games(*number, clusters),
            LogEntry::CandidateDecided(decision) => self.check_decision(decision),
            LogEntry::CheckpointSetAside { generation, .. }
            | LogEntry::CheckpointRestored { generation, .. } => {
                match self.is_member(*generation) {
                    true => Ok(()),
                    false => Err(format!("{generation} is no member of the pool")),
                }
            }
            LogEntry::Lost { .. } => Ok(()),
        }
    }

    fn check_games(&self, number: u32, played: &[StoredCluster]) -> Result<(), String> {
        let table = self.matches.get(&number);
        let table = table.ok_or_else(|| format!("match {number} was not opened"))?;
        let mut new = BTreeSet::new();
        for cluster in played.iter().map(|played| played.result.cluster) {
            if table.clusters.contains(&cluster) || !new.insert(cluster) {
                return Err(format!(
                    "cluster {cluster} of match {number} is stored more than once"
                ));
            }
        }
        Ok(())
    }

    fn check_decision(&self, decision: &Decision) -> Result<(), String> {
        let generation = decision.generation;
        if self.decisions.contains_key(&generation) {
            return Err(format!("{generation} is decided more than once"));
        }
        if !self.checkpoints.contains_key(&generation) {
            return Err(format!("{generation} was never published"));
        }
        let champion = self.champion();
        // Of a damaged log, decisions are trusted: what they follow from may be lost.
        match decision.promotion() {
            Some(promotion) if promotion.beat != champion && self.lost == 0 => {
                Err(format!("champion is {champion}, not {}", promotion.beat))
            }
            _ => Ok(()),
        }
    }

    /// Applies a checked entry.
    fn commit(&mut self, number: u64, entry: &LogEntry) {
        match entry {
            LogEntry::RunStarted(run) => self.run = Some(run.clone()),
            LogEntry::CheckpointPublished(checkpoint) => {
                self.checkpoints.insert(checkpoint.generation, checkpoint.clone());
            }
            LogEntry::MatchStarted(info) => {
                self.numbers.insert(info.key.clone(), info.number);
                self.matches.insert(info.number, MatchTable::new(info.clone()));
            }
            LogEntry::GamesPlayed { number: played, clusters } => {
                if let Some(table) = self.matches.get_mut(played) {
                    table.clusters.extend(clusters.iter().map(|played| played.result.cluster));
                    clusters.iter().for_each(|played| table.sums.add(played));
                    table.entries.push(number);
                }
            }
            LogEntry::CandidateDecided(decision) => {
                let generation = decision.generation;
                let promotion = decision.promotion();
                self.set_status(
                    generation,
                    match promotion {
                        Some(_) => CheckpointStatus::Pool,
                        None => CheckpointStatus::Rejected,
                    },
                );
                self.promotions.extend(promotion);
                self.decisions.insert(generation, decision.clone());
                self.decided.push(generation);
                self.update_champion();
            }
            LogEntry::CheckpointSetAside { generation, .. } => {
                self.set_status(*generation, CheckpointStatus::SetAside);
                self.update_champion();
            }
            LogEntry::CheckpointRestored { generation, .. } => {
                self.set_status(*generation, CheckpointStatus::Pool);
                self.update_champion();
            }
            LogEntry::Lost { .. } => self.lost += 1,
        }
    }

    /// Whether a checkpoint was promoted, set aside or not.
    pub(super) fn is_member(&self, generation: Generation) -> bool {
        use CheckpointStatus::{Champion, Pool, SetAside};
        let row = self.checkpoints.get(&generation);
        row.is_some_and(|row| matches!(row.status, Pool | Champion | SetAside))
    }

    fn set_status(&mut self, generation: Generation, status: CheckpointStatus) {
        if let Some(row) = self.checkpoints.get_mut(&generation) {
            row.status = status;
        }
    }

    /// Makes the last promoted checkpoint that is not set aside the champion.
    fn update_champion(&mut self) {
        let champion = self.champion().generation();
        for promotion in &self.promotions {
            if let Some(row) = self.checkpoints.get_mut(&promotion.generation)
                && row.status != CheckpointStatus::SetAside
            {
                let is_champion = Some(row.generation) == champion;
                row.status =
                    if is_champion { CheckpointStatus::Champion } else { CheckpointStatus::Pool };
            }
        }
    }

    /// The last promoted checkpoint that is not set aside; `random` if there is none.
    pub(super) fn champion(&self) -> PlayerId {
        let can_play = |promotion: &&Promotion| {
            let row = self.checkpoints.get(&promotion.generation);
            row.is_some_and(|row| row.status != CheckpointStatus::SetAside)
        };
        let last = self.promotions.iter().rev().find(can_play);
        last.map_or_else(PlayerId::random, |last| last.generation.into())
    }
}

impl MatchTable {
    fn new(info: MatchInfo) -> Self {
        let (sums, clusters) = (MatchSums::default(), BTreeSet::new());
        Self { info, sums, clusters, entries: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use ouro_rating::ClusterShape;

    use super::*;

    #[test]
    fn a_match_after_which_no_number_is_left_is_refused() {
        let key = MatchKey::gate(Generation(1), PlayerId::random());
        let info = |number| MatchInfo {
            number,
            key: key.clone(),
            shape: ClusterShape { seats: 2 },
            rule: None,
            player: String::new(),
            opened_at: 0.0,
        };
        let mut tables = Tables::default();
        let error = tables.apply(0, &LogEntry::MatchStarted(info(u32::MAX))).unwrap_err();
        assert_eq!(error, "match number 4294967295 is out of range");
        assert_eq!(tables, Tables::default());
        tables.apply(0, &LogEntry::MatchStarted(info(u32::MAX - 1))).unwrap();
    }
}
