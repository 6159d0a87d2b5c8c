//! A match in progress. Its clusters are played, folded and stored, then its state is emitted.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Duration;

use ouro_rating::{ClusterResult, GateReport};

use super::MatchRunner;
use crate::error::ArenaError;
use crate::event::ArenaEvent;
use crate::matches::{PlayClusters, PlayError, PlayedCluster};
use crate::matchmaking::DutyCycle;
use crate::side::{PlayersClock, Side};
use crate::store::{GameKey, MatchInfo, StoreError, StoredCluster};

/// How a match ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchEnd {
    /// Every cluster was played.
    Complete,
    /// The match was interrupted and can be resumed.
    Interrupted,
}

/// The effect of a cluster on its match.
#[derive(Debug)]
pub(super) struct Folded {
    /// Whether the cluster counts.
    pub(super) counts: bool,
    /// Whether the match continues.
    pub(super) next: ControlFlow<()>,
    /// The state of a match at the gate.
    pub(super) report: Option<GateReport>,
}

/// Pauses between plies, to limit matches to their share of a processor.
struct Pace<'a> {
    runner: &'a MatchRunner,
    duty_cycle: DutyCycle,
    since: Duration,
}

impl<'a> Pace<'a> {
    fn new(runner: &'a MatchRunner) -> Self {
        let duty_cycle = DutyCycle::new(runner.config.match_share);
        Self { runner, duty_cycle, since: runner.state.clock().monotonic() }
    }

    /// Pauses for as long as the last ply requires, or until the match runner is woken. The caller
    /// checks the cause of the wake-up after the pause.
    fn pause(&mut self) {
        let clock = self.runner.state.clock();
        let now = clock.monotonic();
        self.duty_cycle.spent(self.since, now);
        if let Some(wait) = self.duty_cycle.wait(now).filter(|wait| !wait.is_zero()) {
            // The result is ignored: the match continues after a wake-up, a timeout or a
            // disconnection.
            let _ = self.runner.wake.recv_timeout(wait);
        }
        self.since = clock.monotonic();
    }
}

/// A match that is being played.
#[derive(Debug)]
pub(super) struct MatchInProgress<'a> {
    pub(super) runner: &'a MatchRunner,
    pub(super) info: &'a MatchInfo,
    pub(super) sides: [Side; 2],
}

impl MatchInProgress<'_> {
    /// Plays clusters. `fold` receives each cluster in order, before it is stored. `stop` is
    /// checked after every ply.
    pub(super) fn play(
        self,
        clusters: Range<u32>,
        fold: &mut dyn FnMut(&ClusterResult) -> Folded,
        stop: &dyn Fn() -> bool,
    ) -> Result<MatchEnd, ArenaError> {
        let MatchRunner { state, config, .. } = self.runner;
        if clusters.is_empty() {
            return Ok(MatchEnd::Complete);
        }
        // Emitted only after the check above: a match without clusters to play does not start.
        state.emit(ArenaEvent::MatchStarted(self.info.clone()));
        let mut failed = None;
        let mut ended = MatchEnd::Complete;
        let mut pace = Pace::new(self.runner);
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
            pace.pause();
            if stop() {
                ended = MatchEnd::Interrupted;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let run = state.run();
        let visitor = PlayClusters {
            seed: run.seed,
            config: &run.game,
            key: &self.info.key,
            number: self.info.number,
            shape: self.info.shape,
            sides: self.sides.clone(),
            clock: Arc::new(PlayersClock(state.clock().clone())),
            clusters,
            opening_plies: state.checked().opening_plies,
            max_plies: config.max_plies,
            parallel: config.parallel,
            report: &mut report,
            live: &mut |event| state.matches().live().publish(event),
        };
        let played = run.game.visit(visitor).map_err(PlayError::from);
        // Cleared before any error returns, so that no interrupted game stays on the page.
        state.matches().live().clear();
        played??;
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(ended),
        }
    }

    /// Folds clusters, stores them, then emits the state of the match.
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
            results.push(StoredCluster { result, counts: folded.counts });
            (next, report) = (folded.next, folded.report.or(report));
            // Clusters after the ruling are discarded. They were played in parallel, and a resumed
            // match would not play them.
            if next.is_break() {
                break;
            }
        }
        let state = &self.runner.state;
        state.matches().record(self.info.number, &results, &games)?;
        if let Some(report) = report {
            state.matches().update_gate(self.info, report);
        }
        Ok(next)
    }
}
