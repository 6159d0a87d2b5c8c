//! Some clusters of one match: played, folded, stored, then told.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Duration;

use ouro_rating::{ClusterResult, GateReport};

use super::Evaluator;
use crate::contestant::{Contestant, PlayersClock};
use crate::error::ArenaError;
use crate::event::ArenaEvent;
use crate::matches::{PlayClusters, PlayError, PlayedCluster};
use crate::matchmaking::Allowance;
use crate::store::{GameKey, MatchInfo, Played, StoreError};

/// How a match ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Everything that was asked for was played.
    Whole,
    /// It was broken off.
    Stopped,
}

/// What a cluster did to a match.
#[derive(Debug)]
pub(super) struct Folded {
    /// Whether it counts.
    pub(super) counts: bool,
    /// Whether the match goes on.
    pub(super) next: ControlFlow<()>,
    /// How the match at the gate stands.
    pub(super) report: Option<GateReport>,
}

/// Rests between plies, so that matches keep to their share of a processor.
struct Pace<'a> {
    evaluator: &'a Evaluator,
    allowance: Allowance,
    since: Duration,
}

impl<'a> Pace<'a> {
    fn new(evaluator: &'a Evaluator) -> Self {
        let allowance = Allowance::new(evaluator.config.match_share);
        Self { evaluator, allowance, since: evaluator.keeper.clock().monotonic() }
    }

    /// Rests as long as the ply that has just ended makes due, or until somebody wakes the
    /// evaluator: what woke it is asked for right after.
    fn rest(&mut self) {
        let clock = self.evaluator.keeper.clock();
        let now = clock.monotonic();
        self.allowance.spent(self.since, now);
        if let Some(wait) = self.allowance.wait(now).filter(|wait| !wait.is_zero()) {
            // Woken, waited or alone: it goes on in any case.
            let _ = self.evaluator.wake.recv_timeout(wait);
        }
        self.since = clock.monotonic();
    }
}

/// A match that is being played.
#[derive(Debug)]
pub(super) struct Session<'a> {
    pub(super) evaluator: &'a Evaluator,
    pub(super) info: &'a MatchInfo,
    pub(super) sides: [Contestant; 2],
}

impl Session<'_> {
    /// Plays clusters. `fold` sees each in turn, before it is stored; `stop` is asked after every
    /// ply.
    pub(super) fn play(
        self,
        clusters: Range<u32>,
        fold: &mut dyn FnMut(&ClusterResult) -> Folded,
        stop: &dyn Fn() -> bool,
    ) -> Result<Ended, ArenaError> {
        let Evaluator { keeper, config, .. } = self.evaluator;
        if clusters.is_empty() {
            return Ok(Ended::Whole);
        }
        keeper.tell(ArenaEvent::MatchStarted(self.info.clone()));
        let mut failed = None;
        let mut ended = Ended::Whole;
        let mut pace = Pace::new(self.evaluator);
        let mut report = |clusters: Vec<PlayedCluster>| {
            if !clusters.is_empty() {
                match self.store(clusters, fold) {
                    Ok(ControlFlow::Continue(())) => {}
                    Ok(ControlFlow::Break(())) => return ControlFlow::Break(()),
                    Err(error) => {
                        failed = Some(error);
                        return ControlFlow::Break(());
                    }
                }
            }
            pace.rest();
            if stop() {
                ended = Ended::Stopped;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let run = keeper.run();
        let visitor = PlayClusters {
            seed: run.seed,
            config: &run.game,
            key: &self.info.key,
            number: self.info.number,
            shape: self.info.shape,
            contestants: self.sides.clone(),
            clock: Arc::new(PlayersClock(keeper.clock().clone())),
            clusters,
            opening_plies: keeper.checked().opening_plies,
            max_plies: config.max_plies,
            parallel: config.parallel,
            report: &mut report,
            live: &mut |event| keeper.live().tell(event),
        };
        let played = run.game.visit(visitor).map_err(PlayError::from);
        keeper.live().clear();
        played??;
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(ended),
        }
    }

    /// Folds clusters, stores those that were folded, then tells of them.
    fn store(
        &self,
        clusters: Vec<PlayedCluster>,
        fold: &mut dyn FnMut(&ClusterResult) -> Folded,
    ) -> Result<ControlFlow<()>, StoreError> {
        let (mut results, mut games) = (Vec::new(), Vec::new());
        let (mut next, mut report) = (ControlFlow::Continue(()), None);
        for PlayedCluster { result, games: played } in clusters {
            let folded = fold(&result);
            let (number, cluster) = (self.info.number, result.cluster);
            let key = |game| GameKey { number, cluster, game };
            games.extend((0..).map(key).zip(played));
            results.push(Played { result, counts: folded.counts });
            (next, report) = (folded.next, folded.report.or(report));
            // What comes after the ruling was never played, as far as anybody will know.
            if next.is_break() {
                break;
            }
        }
        let keeper = &self.evaluator.keeper;
        keeper.record(self.info.number, &results, &games)?;
        if let Some(report) = report {
            keeper.show_gate(self.info, report);
        }
        Ok(next)
    }
}
