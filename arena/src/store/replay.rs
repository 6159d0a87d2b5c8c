//! Replays the log of a store.
//!
//! [`replay`] folds the log through the same tables as the store and through the same pure gate that
//! made the decisions. It fails if a decision does not follow from its games, if a game counts
//! twice, or if a promoted candidate beat a player that was not the champion. If the tables of a
//! store equal the replay of its log, the store has neither lost nor duplicated anything.

use std::collections::BTreeMap;

use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_rating::gate::Ruling;
use ouro_rating::{DistinctGames, Gate, GateConfigError, RatingTable, Ratings};

use super::error::StoreError;
use super::interface::Store;
use super::match_index::{MatchIndex, listed_players};
use super::rows::{Decision, LogEntry, MatchInfo, MatchSums, Outcome, Promotion, StoredCluster};
use super::tables::Tables;
use crate::player_id::ANCHOR;

/// Entries of the log read at once, which bounds the memory of a long log.
const BATCH: usize = 1_024;

/// The state that results from a log, without the games.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Checkpoints by generation, in their final state.
    pub checkpoints: Vec<Checkpoint>,
    /// Decisions by generation.
    pub decisions: Vec<Decision>,
    /// Promotions, oldest first.
    pub promotions: Vec<Promotion>,
    /// Matches by number, with the sums of their games.
    pub matches: Vec<(MatchInfo, MatchSums)>,
    /// Entries that damage destroyed, see [`LogEntry::Lost`].
    pub lost: u64,
    /// Entries that were skipped because they refer to destroyed ones.
    pub skipped: u64,
}

impl Replayed {
    /// The table of ratings, from the games of the log alone. It equals the one that the arena
    /// publishes, bit for bit.
    pub fn table(&self) -> RatingTable {
        let champion = self.checkpoints.iter().find(|row| row.status == CheckpointStatus::Champion);
        let champion = champion.map(|row| row.generation.to_string());
        self.ratings().table(Some(champion.as_deref().unwrap_or(ANCHOR)))
    }

    /// The ratings behind the [table](Self::table). The log does not name anchors without games, but these change no
    /// rating.
    pub fn ratings(&self) -> Ratings {
        let results = MatchIndex::new(self.matches.clone()).pair_results();
        let listed = listed_players(std::iter::empty(), &self.checkpoints);
        Ratings::fit(&results, &listed, ANCHOR)
    }
}

/// Why a log cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The log cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A match has an invalid rule.
    #[error("entry {entry}: {error}")]
    Rule {
        /// Number of the entry, from 0.
        entry: u64,
        /// The problem.
        error: GateConfigError,
    },
    /// An entry contradicts the entries before it.
    #[error("entry {entry}: {problem}")]
    Entry {
        /// Number of the entry, from 0.
        entry: u64,
        /// The problem.
        problem: String,
    },
}

/// The games of a match, as the replay judges them.
#[derive(Debug)]
struct JudgedMatch {
    distinct: DistinctGames,
    gate: Option<Gate>,
}

#[derive(Debug, Default)]
struct Replay {
    tables: Tables,
    matches: BTreeMap<u32, JudgedMatch>,
}

/// Replays the log of a store.
pub fn replay(store: &dyn Store) -> Result<Replayed, ReplayError> {
    let mut replay = Replay::default();
    let mut number = 0;
    loop {
        let entries = store.log(number, BATCH)?;
        if entries.is_empty() {
            break;
        }
        for entry in entries {
            replay.apply(number, &entry)?;
            number += 1;
        }
    }
    let Tables { checkpoints, decisions, promotions, matches, lost, skipped, .. } = replay.tables;
    Ok(Replayed {
        checkpoints: checkpoints.into_values().collect(),
        decisions: decisions.into_values().collect(),
        promotions,
        matches: matches.into_values().map(|table| (table.info, table.sums)).collect(),
        lost,
        skipped,
    })
}

impl Replay {
    fn apply(&mut self, number: u64, entry: &LogEntry) -> Result<(), ReplayError> {
        let wrong = |problem: String| ReplayError::Entry { entry: number, problem };
        self.tables.apply(number, entry).map_err(wrong)?;
        // What the games of a match lead to is known only if no entry was lost.
        if self.tables.lost > 0 {
            return Ok(());
        }
        match entry {
            LogEntry::MatchStarted(info) => {
                let gate = info.rule.map(|rule| Gate::new(rule, info.shape)).transpose();
                let gate = gate.map_err(|error| ReplayError::Rule { entry: number, error })?;
                let judged = JudgedMatch { distinct: DistinctGames::default(), gate };
                self.matches.insert(info.number, judged);
                Ok(())
            }
            LogEntry::GamesPlayed { number, clusters } => {
                let judged = self.matches.get_mut(number);
                let judged = judged.ok_or_else(|| wrong(format!("match {number} is unknown")))?;
                clusters.iter().try_for_each(|played| judged.add(*number, played)).map_err(wrong)
            }
            LogEntry::CandidateDecided(decision) => self.check_ruling(decision).map_err(wrong),
            _ => Ok(()),
        }
    }

    /// Checks that a decision follows from the games of its match.
    fn check_ruling(&self, decision: &Decision) -> Result<(), String> {
        let Outcome::Ruled { number, champion, report } = &decision.outcome else { return Ok(()) };
        let table = self.tables.matches.get(number);
        let table = table.ok_or_else(|| format!("match {number} was not opened"))?;
        let (key, generation) = (&table.info.key, decision.generation);
        if key.first != generation.into() || key.second != *champion {
            return Err(format!("match {number} is {key}, not {generation} vs {champion}"));
        }
        let gate = self.matches.get(number).and_then(|judged| judged.gate.as_ref());
        let ruling: Option<Ruling> = gate.and_then(Gate::ruling);
        if ruling.is_none() || ruling != report.ruling {
            let said = report.ruling;
            return Err(format!("the games of match {number} lead to {ruling:?}, not {said:?}"));
        }
        Ok(())
    }
}

impl JudgedMatch {
    fn add(&mut self, number: u32, played: &StoredCluster) -> Result<(), String> {
        let counts = match &mut self.gate {
            Some(gate) => gate.fold(&played.result),
            None => self.distinct.insert(&played.result),
        };
        if counts != played.counts {
            return Err(format!(
                "cluster {} of match {number} is marked as counting: {}; its games say {counts}",
                played.result.cluster, played.counts
            ));
        }
        Ok(())
    }
}
