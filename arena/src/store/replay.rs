//! What follows from the log alone.
//!
//! [`replay`] folds a log through the same pure gate that decided, and refuses it where a decision is
//! not the one that its games lead to, where a game counts twice or where a promotion is over somebody
//! who was not the champion. A store whose tables are equal to what its log gives has lost nothing
//! and doubled nothing.

use std::collections::{BTreeMap, BTreeSet};

use ouro_net::Generation;
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_rating::gate::Ruling;
use ouro_rating::{DistinctGames, Gate, GateConfigError, Ratings};

use super::{Decision, Entry, MatchInfo, MatchSums, Outcome, Played, Promotion, Store, StoreError};
use crate::ledger::{Ledger, lineage};
use crate::player_id::{ANCHOR, PlayerId};

/// Lines of the log read at once.
const BATCH: usize = 1_024;

/// What a log comes to: everything that is not kept for its own sake, such as games.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Checkpoints by generation, as they stand at the end.
    pub checkpoints: Vec<Checkpoint>,
    /// Decisions by generation.
    pub decisions: Vec<Decision>,
    /// Promotions, oldest first.
    pub promotions: Vec<Promotion>,
    /// Matches by number, with what their games add up to.
    pub matches: Vec<(MatchInfo, MatchSums)>,
}

impl Replayed {
    /// Everybody's rating, from the games of the log alone.
    pub fn ratings(&self) -> Ratings {
        let evidence = Ledger::new(self.matches.clone()).evidence();
        let lineage = lineage(std::iter::empty(), &self.checkpoints);
        Ratings::fit(&evidence, &lineage, ANCHOR)
    }
}

/// Why a log does not replay.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A match has a rule that cannot be.
    #[error("line {line}: {error}")]
    Rule {
        /// Line of the log, from 0.
        line: u64,
        /// What is wrong with it.
        error: GateConfigError,
    },
    /// A line does not follow from those before it.
    #[error("line {line}: {problem}")]
    Line {
        /// Line of the log, from 0.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
}

/// One match on its way.
#[derive(Debug)]
struct Going {
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
    matches: BTreeMap<u32, Going>,
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
            state.take(line, entry)?;
            line += 1;
        }
    }
    Ok(Replayed {
        checkpoints: state.checkpoints.into_values().collect(),
        decisions: state.decisions.into_values().collect(),
        promotions: state.promotions,
        matches: state.matches.into_values().map(|going| (going.info, going.sums)).collect(),
    })
}

impl State {
    fn take(&mut self, line: u64, entry: Entry) -> Result<(), ReplayError> {
        let wrong = |problem: String| ReplayError::Line { line, problem };
        match entry {
            Entry::Published(checkpoint) => {
                let generation = checkpoint.generation;
                if self.checkpoints.insert(generation, checkpoint).is_some() {
                    return Err(wrong(format!("{generation} is published twice")));
                }
            }
            Entry::Opened(info) => {
                let rule = |rule| Gate::new(rule, info.shape);
                let gate = info.rule.map(rule).transpose();
                let gate = gate.map_err(|error| ReplayError::Rule { line, error })?;
                let number = info.number;
                let going = Going {
                    info,
                    sums: MatchSums::default(),
                    distinct: DistinctGames::default(),
                    gate,
                    clusters: BTreeSet::new(),
                };
                if self.matches.insert(number, going).is_some() {
                    return Err(wrong(format!("match {number} begins twice")));
                }
            }
            Entry::Played { number, clusters } => {
                let unknown = || wrong(format!("match {number} has not begun"));
                let going = self.matches.get_mut(&number).ok_or_else(unknown)?;
                for played in clusters {
                    going.take(&played).map_err(wrong)?;
                }
            }
            Entry::Decided(decision) => self.decide(decision).map_err(wrong)?,
        }
        Ok(())
    }

    fn decide(&mut self, decision: Decision) -> Result<(), String> {
        let generation = decision.generation;
        if self.decisions.contains_key(&generation) {
            return Err(format!("{generation} is decided twice"));
        }
        if let Outcome::Ruled { number, champion, report } = &decision.outcome {
            let going = self.matches.get(number).ok_or(format!("match {number} has not begun"))?;
            let key = &going.info.key;
            if key.first != generation.into() || key.second != *champion {
                return Err(format!("match {number} is {key}, not {generation} vs {champion}"));
            }
            let ruling: Option<Ruling> = going.gate.as_ref().and_then(Gate::ruling);
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

impl Going {
    fn take(&mut self, played: &Played) -> Result<(), String> {
        let (number, cluster) = (self.info.number, played.result.cluster);
        if !self.clusters.insert(cluster) {
            return Err(format!("cluster {cluster} of match {number} is there twice"));
        }
        let counts = match &mut self.gate {
            Some(gate) => gate.fold(&played.result),
            None => self.distinct.insert(&played.result),
        };
        if counts != played.counts {
            return Err(format!(
                "cluster {cluster} of match {number} says that it counts: {}; its games say {counts}",
                played.counts
            ));
        }
        self.sums.add(played);
        Ok(())
    }
}
