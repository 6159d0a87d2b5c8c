//! Replays the log of a store.
//!
//! [`replay`] folds the log through the same pure gate that made the decisions. It fails if a
//! decision does not follow from its games, if a game counts twice, or if a promoted candidate beat
//! a player that was not the champion. If the tables of a store equal the replay of its log, the
//! store has neither lost nor duplicated anything.

use std::collections::{BTreeMap, BTreeSet};

use ouro_net::Generation;
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_rating::gate::Ruling;
use ouro_rating::{DistinctGames, Gate, GateConfigError, Ratings};

use super::error::StoreError;
use super::interface::Store;
use super::match_index::{MatchIndex, listed_players};
use super::rows::{Decision, LogEntry, MatchInfo, MatchSums, Outcome, Promotion, StoredCluster};
use crate::player_id::{ANCHOR, PlayerId};

/// Lines of the log read at once, which bounds the memory of a long log.
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
}

impl Replayed {
    /// The ratings, from the games of the log alone. They equal the ratings that the arena
    /// publishes, bit for bit. The log does not name anchors without games, but these change no
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
    #[error("line {line}: {error}")]
    Rule {
        /// Line of the log, from 0.
        line: u64,
        /// The problem.
        error: GateConfigError,
    },
    /// A line contradicts the lines before it.
    #[error("line {line}: {problem}")]
    Line {
        /// Line of the log, from 0.
        line: u64,
        /// The problem.
        problem: String,
    },
}

/// The state of a match during the replay.
#[derive(Debug)]
struct ReplayedMatch {
    info: MatchInfo,
    sums: MatchSums,
    distinct: DistinctGames,
    gate: Option<Gate>,
    clusters: BTreeSet<u32>,
}

#[derive(Debug, Default)]
struct State {
    checkpoints: BTreeMap<Generation, Checkpoint>,
    decisions: BTreeMap<Generation, Decision>,
    promotions: Vec<Promotion>,
    matches: BTreeMap<u32, ReplayedMatch>,
}

/// Replays the log of a store.
pub fn replay(store: &dyn Store) -> Result<Replayed, ReplayError> {
    let mut state = State::default();
    let mut line = 0;
    loop {
        let entries = store.log(line, BATCH)?;
        if entries.is_empty() {
            break;
        }
        for entry in entries {
            state.apply(line, entry)?;
            line += 1;
        }
    }
    Ok(Replayed {
        checkpoints: state.checkpoints.into_values().collect(),
        decisions: state.decisions.into_values().collect(),
        promotions: state.promotions,
        matches: state
            .matches
            .into_values()
            .map(|replayed| (replayed.info, replayed.sums))
            .collect(),
    })
}

impl State {
    fn apply(&mut self, line: u64, entry: LogEntry) -> Result<(), ReplayError> {
        let wrong = |problem: String| ReplayError::Line { line, problem };
        match entry {
            LogEntry::Published(checkpoint) => {
                let generation = checkpoint.generation;
                if self.checkpoints.insert(generation, checkpoint).is_some() {
                    return Err(wrong(format!("{generation} is published more than once")));
                }
            }
            LogEntry::Opened(info) => {
                let rule = |rule| Gate::new(rule, info.shape);
                let gate = info.rule.map(rule).transpose();
                let gate = gate.map_err(|error| ReplayError::Rule { line, error })?;
                let number = info.number;
                let replayed = ReplayedMatch {
                    info,
                    sums: MatchSums::default(),
                    distinct: DistinctGames::default(),
                    gate,
                    clusters: BTreeSet::new(),
                };
                if self.matches.insert(number, replayed).is_some() {
                    return Err(wrong(format!("match {number} is opened more than once")));
                }
            }
            LogEntry::Played { number, clusters } => {
                let unknown = || wrong(format!("match {number} was not opened"));
                let replayed = self.matches.get_mut(&number).ok_or_else(unknown)?;
                for played in clusters {
                    replayed.add(&played).map_err(wrong)?;
                }
            }
            LogEntry::Decided(decision) => self.decide(decision).map_err(wrong)?,
        }
        Ok(())
    }

    fn decide(&mut self, decision: Decision) -> Result<(), String> {
        let generation = decision.generation;
        if self.decisions.contains_key(&generation) {
            return Err(format!("{generation} is decided more than once"));
        }
        if let Outcome::Ruled { number, champion, report } = &decision.outcome {
            let replayed =
                self.matches.get(number).ok_or(format!("match {number} was not opened"))?;
            let key = &replayed.info.key;
            if key.first != generation.into() || key.second != *champion {
                return Err(format!("match {number} is {key}, not {generation} vs {champion}"));
            }
            let ruling: Option<Ruling> = replayed.gate.as_ref().and_then(Gate::ruling);
            if ruling.is_none() || ruling != report.ruling {
                return Err(format!(
                    "the games of match {number} lead to {ruling:?}, not {:?}",
                    report.ruling
                ));
            }
        }
        let promotion = decision.promotion();
        let candidate = self.checkpoints.get_mut(&generation);
        let candidate = candidate.ok_or(format!("{generation} was never published"))?;
        candidate.status = match promotion {
            Some(_) => CheckpointStatus::Champion,
            None => CheckpointStatus::Rejected,
        };
        if let Some(promotion) = promotion {
            let last = self.promotions.last().map(|last| last.generation);
            let champion = last.map_or_else(PlayerId::random, PlayerId::from);
            if champion != promotion.beat {
                return Err(format!("champion is {champion}, not {}", promotion.beat));
            }
            if let Some(beaten) = last.and_then(|last| self.checkpoints.get_mut(&last)) {
                beaten.status = CheckpointStatus::Pool;
            }
            self.promotions.push(promotion);
        }
        self.decisions.insert(generation, decision);
        Ok(())
    }
}

impl ReplayedMatch {
    fn add(&mut self, played: &StoredCluster) -> Result<(), String> {
        let (number, cluster) = (self.info.number, played.result.cluster);
        if !self.clusters.insert(cluster) {
            return Err(format!("cluster {cluster} of match {number} is stored more than once"));
        }
        let counts = match &mut self.gate {
            Some(gate) => gate.fold(&played.result),
            None => self.distinct.insert(&played.result),
        };
        if counts != played.counts {
            return Err(format!(
                "cluster {cluster} of match {number} is marked as counting: {}; its games say {counts}",
                played.counts
            ));
        }
        self.sums.add(played);
        Ok(())
    }
}
