//! Decides whether a candidate joins the pool.
//!
//! A [`Gate`] is pure: it folds the results of games into a [`Ruling`] and knows nothing of
//! stores, networks or clocks. Evidence comes in clusters (see [`Shape`]), the games of
//! one seed, so that what the start position gives away it gives to both sides.
//!
//! # The rule
//!
//! A candidate is promoted if it takes *more* than the threshold's share of the points over all
//! games, a draw counting half. Two things end a match early:
//!
//! * **Certainty**: no result of the games left could change the answer of that rule.
//! * **The sequential test** ([`SprtConfig`]): its ratio has left the bounds, and the share so far is
//!   on the same side of the threshold. This may err as often as it says.
//!
//! Evidence is counted in distinct games: a cluster with a game that repeats an earlier one move
//! by move (deterministic players do that for ever) does not count, and a match that has played
//! twice its clusters without enough distinct ones is lost. Clusters are folded in their own
//! order, so the ruling does not depend on which game happens to finish first.
//!
//! # How often it errs
//!
//! Measured over 10,000 simulated matches of pairs at the defaults (the tests hold both below
//! 0.06): a candidate that is exactly as strong as the champion is promoted in 5.7 % of them, and in
//! 4.3 % where half of the games are drawn; one that truly takes 60 % is rejected in 5.0 % and
//! 4.4 %. A match takes 137 games on average in either case, 74 with the draws. Without the
//! sequential test, [`GateConfig::promotion_probability`] computes such figures exactly.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::comparison::Mean;

mod cluster;
mod config;
mod report;
mod score;
mod sprt;

pub use cluster::{ClusterResult, GameResult, Ranking, Shape};
pub use config::{GateConfig, GateConfigError};
pub use report::{GateReport, SprtReport};
pub use score::{GameOutcome, Score};
pub use sprt::SprtConfig;

use sprt::Sprt;

/// What the gate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The candidate joins the pool.
    Promote,
    /// It does not.
    Reject,
}

/// Why the gate says it, and says it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Every game was played.
    AllPlayed,
    /// The games left could not change the answer.
    Certain,
    /// The sequential test is sure enough.
    Sequential,
    /// Too many games were repetitions.
    TooFewDistinct,
}

/// A verdict with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ruling {
    /// What.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
}

/// Folds clusters of games into a ruling.
#[derive(Clone, Debug)]
pub struct Gate {
    config: GateConfig,
    shape: Shape,
    seen: BTreeSet<u64>,
    next: u32,
    counted: u32,
    score: Score,
    shares: Mean,
    margins: Mean,
    sprt: Option<Sprt>,
    ruling: Option<Ruling>,
}

impl Gate {
    /// A gate without games. A rule that cannot be is refused.
    pub fn new(config: GateConfig, shape: Shape) -> Result<Self, GateConfigError> {
        config.validate(shape)?;
        Ok(Self {
            config,
            shape,
            seen: BTreeSet::new(),
            next: 0,
            counted: 0,
            score: Score::default(),
            shares: Mean::default(),
            margins: Mean::default(),
            sprt: config.test().map(|sprt| Sprt::new(sprt, shape.half_points())),
            ruling: None,
        })
    }

    /// Takes the result of the [`next_cluster`](Self::next_cluster). `false` means that it does
    /// not count: it is out of turn, repeats an earlier game, or comes after the ruling.
    pub fn fold(&mut self, result: &ClusterResult) -> bool {
        if result.cluster != self.next || self.ruling.is_some() {
            return false;
        }
        self.next += 1;
        let counts = is_distinct(&mut self.seen, result);
        if counts {
            let score = result.score();
            self.counted += 1;
            self.score += score;
            self.shares.add(score.share());
            self.margins.add(result.margin());
            if let Some(sprt) = &mut self.sprt {
                sprt.add(score.half_points());
            }
        }
        self.ruling = self.rule();
        counts
    }

    /// The cluster to fold next.
    pub fn next_cluster(&self) -> u32 {
        self.next
    }

    /// Clusters that are played at most: twice those that must count.
    pub fn max_clusters(&self) -> u32 {
        2 * self.config.clusters(self.shape)
    }

    /// The verdict with its reason, as soon as there is one.
    pub fn ruling(&self) -> Option<Ruling> {
        self.ruling
    }

    /// The verdict, as soon as there is one.
    pub fn verdict(&self) -> Option<Verdict> {
        self.ruling.map(|ruling| ruling.verdict)
    }

    /// The score over the games that count, against each opponent in them.
    pub fn score(&self) -> Score {
        self.score
    }

    /// How the match stands, for people and for the record.
    pub fn report(&self) -> GateReport {
        let games = self.shape.games();
        let sprt = self.sprt.as_ref().map(|sprt| {
            let SprtConfig { low, high, .. } = self.config.sprt;
            let (lower, upper) = self.config.sprt.bounds();
            let clusters = sprt.counts().iter().map(|(&half, &count)| (half, count)).collect();
            SprtReport { ratio: sprt.ratio(), lower, upper, low, high, clusters }
        });
        let share = self.shares.share(self.score.games());
        GateReport {
            shape: self.shape,
            threshold: self.config.threshold,
            max_games: self.config.clusters(self.shape) * games,
            games: self.counted * games,
            duplicates: (self.next - self.counted) * games,
            score: self.score,
            share: self.score.share(),
            low: share.low.min(self.score.share()),
            high: share.high.max(self.score.share()),
            margin: (self.counted > 1).then(|| self.margins.estimate()),
            sprt,
            ruling: self.ruling,
        }
    }

    fn rule(&self) -> Option<Ruling> {
        let ruling = |verdict, reason| Some(Ruling { verdict, reason });
        let clusters = self.config.clusters(self.shape);
        let (needed, won) = (self.config.needed(self.shape), self.score.half_points());
        let left = clusters - self.counted;
        let tries = self.max_clusters() - self.next;
        let open = u64::from(left.min(tries)) * u64::from(self.shape.half_points());
        let ended = if left == 0 { Reason::AllPlayed } else { Reason::Certain };
        if u64::from(won) >= needed {
            return ruling(Verdict::Promote, ended);
        }
        if u64::from(won) + open < needed {
            let whole = u64::from(left) * u64::from(self.shape.half_points());
            let for_lack = u64::from(won) + whole >= needed;
            let reason = if for_lack { Reason::TooFewDistinct } else { ended };
            return ruling(Verdict::Reject, reason);
        }
        let sprt = self.sprt.as_ref()?;
        let (lower, upper) = self.config.sprt.bounds();
        let above = self.score.share() > self.config.threshold;
        if sprt.ratio() >= upper && above {
            ruling(Verdict::Promote, Reason::Sequential)
        } else if sprt.ratio() <= lower && !above {
            ruling(Verdict::Reject, Reason::Sequential)
        } else {
            None
        }
    }
}

/// Whether no game of the cluster was seen before; notes those of a cluster that counts.
pub(crate) fn is_distinct(seen: &mut BTreeSet<u64>, result: &ClusterResult) -> bool {
    let own: BTreeSet<u64> = result.games.iter().map(|game| game.fingerprint).collect();
    if own.len() != result.games.len() || !own.is_disjoint(seen) {
        return false;
    }
    seen.extend(own);
    true
}

#[cfg(test)]
mod tests;
