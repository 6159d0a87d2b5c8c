//! A match in progress. Its clusters are played, folded and stored, then its state is emitted.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Duration;

use ouro_rating::{ClusterResult, GateReport};

use super::MatchRunner;
use crate::duty_cycle::DutyCycle;
use crate::error::ArenaError;
use crate::event::ArenaEvent;
use crate::matches::{
    ClusterSource, MatchGames, PlayClusters, PlayError, PlayedCluster, SeededCluster,
};
use crate::player_id::{MatchKind, PlayerId};
use crate::side::{PlayersClock, Side};
use crate::store::{GameKey, MatchInfo, StoreError, StoredCluster};
use crate::workers::job::{JobHead, JobSide};
use crate::workers::job_table::JobTable;
use crate::workers::shared_match::SharedMatch;

/// Time between two looks for results of workers while the arena has nothing to play.
const LOOK: Duration = Duration::from_millis(10);

/// Delays that a match makes up for: those of a few plies on a machine with many busy threads.
pub(super) const CREDIT: Duration = Duration::from_secs(5);

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

/// Clusters that must still count before the number of games decides a match at the gate.
pub(super) fn missing(report: &GateReport) -> u32 {
    report.max_games.saturating_sub(report.games).div_ceil(report.shape.games())
}

/// Pauses between plies, to limit matches to their share of a processor. CPU time counts, so a wait
/// for a busy core costs a match nothing.
struct Pace<'a> {
    runner: &'a MatchRunner,
    kind: MatchKind,
    duty_cycle: DutyCycle,
    /// Time at the start of the ply.
    start: Duration,
    /// CPU time of the thread then.
    cpu: Duration,
}

impl<'a> Pace<'a> {
    fn new(runner: &'a MatchRunner, kind: MatchKind) -> Self {
        let clock = runner.state.clock();
        let duty_cycle = DutyCycle::new(runner.share(kind)).with_credit(CREDIT);
        Self { runner, kind, duty_cycle, start: clock.monotonic(), cpu: clock.thread_cpu() }
    }

    /// Pauses for as long as the last ply requires, or until the match runner is woken. The caller
    /// checks the cause of the wake-up after the pause.
    fn pause(&mut self) {
        let clock = self.runner.state.clock();
        self.duty_cycle.set_share(self.runner.share(self.kind));
        self.duty_cycle.spent(self.start, clock.thread_cpu().saturating_sub(self.cpu));
        let wait = self.duty_cycle.wait(clock.monotonic());
        if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
            // The result is ignored: the match continues after a wake-up, a timeout or a
            // disconnection.
            let _ = self.runner.wake.recv_timeout(wait);
        }
        self.skip();
    }

    /// Leaves out the time since the last ply, in which nothing was played.
    fn skip(&mut self) {
        let clock = self.runner.state.clock();
        (self.start, self.cpu) = (clock.monotonic(), clock.thread_cpu());
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
    /// Plays clusters, of which `missing` must count. `fold` receives each cluster in order, before
    /// it is stored. `stop` is checked after every ply.
    pub(super) fn play(
        self,
        clusters: Range<u32>,
        missing: u32,
        fold: &mut dyn FnMut(&ClusterResult) -> Folded,
        stop: &dyn Fn() -> bool,
    ) -> Result<MatchEnd, ArenaError> {
        let MatchRunner { state, config, .. } = self.runner;
        if clusters.is_empty() {
            return Ok(MatchEnd::Complete);
        }
        // Emitted only after the check above: a match without clusters to play does not start.
        state.emit(ArenaEvent::MatchStarted(self.info.clone()));
        let run = state.run();
        let MatchInfo { key, number, shape, .. } = self.info;
        let games = MatchGames { config: &run.game, key, number: *number, shape: *shape };
        let mut table = JobTable::new(clusters);
        table.set_missing(missing);
        let mut clusters = Clusters {
            playing: &self,
            fold,
            stop,
            table,
            shared: self.shared(games)?,
            pace: Pace::new(self.runner, key.kind),
            is_idle: false,
            ended: Ok(MatchEnd::Complete),
        };
        let visitor = PlayClusters {
            games,
            sides: self.sides.clone(),
            clock: Arc::new(PlayersClock(state.clock().clone())),
            opening_plies: state.checked().opening_plies,
            max_plies: config.max_plies,
            parallel: config.parallel,
            source: &mut clusters,
            live: &mut |event| state.matches().live().publish(event),
        };
        let played = run.game.visit(visitor).map_err(PlayError::from);
        // Cleared before any error returns, so that no interrupted game stays on the page.
        state.matches().live().clear();
        let Clusters { shared, ended, .. } = clusters;
        if let Some(shared) = shared {
            shared.close();
        }
        played??;
        Ok(ended?)
    }

    /// The match as workers see it, if there may be any.
    fn shared<'a>(&'a self, games: MatchGames<'a>) -> Result<Option<SharedMatch<'a>>, StoreError> {
        let MatchRunner { state, config, workers, .. } = self.runner;
        let Some(workers) = workers else { return Ok(None) };
        let side = |id: &PlayerId| match id {
            PlayerId::Anchor(name) => Ok(JobSide::Anchor(name.to_string())),
            PlayerId::Generation(generation) => {
                let rows = state.store().checkpoints()?;
                let row = rows.iter().find(|row| row.generation == *generation);
                let row = row.ok_or(StoreError::Unknown(*generation))?;
                let player = self.info.player.clone();
                Ok(JobSide::Network { player, hash: row.hash, size_bytes: row.size_bytes })
            }
        };
        let sides = [side(&games.key.first)?, side(&games.key.second)?];
        let head = JobHead::new(games, sides, state.checked().opening_plies, config.max_plies);
        let seed = state.run().seed;
        Ok(Some(SharedMatch::new(workers, head, games.config, seed, config.parallel)))
    }

    /// Folds clusters, stores them, then emits the state of the match. Returns the clusters that are
    /// missing at the gate.
    fn store(
        &self,
        clusters: Vec<PlayedCluster>,
        fold: &mut dyn FnMut(&ClusterResult) -> Folded,
    ) -> Result<ControlFlow<(), Option<u32>>, StoreError> {
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
        let missing = report.as_ref().map(missing);
        if let Some(report) = report {
            state.matches().update_gate(self.info, report);
        }
        Ok(next.map_continue(|()| missing))
    }
}

/// The clusters of a match: who plays them, and their results in order.
struct Clusters<'a> {
    playing: &'a MatchInProgress<'a>,
    fold: &'a mut dyn FnMut(&ClusterResult) -> Folded,
    stop: &'a dyn Fn() -> bool,
    table: JobTable<PlayedCluster>,
    shared: Option<SharedMatch<'a>>,
    pace: Pace<'a>,
    /// Whether the arena has nothing in play.
    is_idle: bool,
    ended: Result<MatchEnd, StoreError>,
}

impl Clusters<'_> {
    fn now(&self) -> Duration {
        self.playing.runner.state.clock().monotonic()
    }
}

impl ClusterSource for Clusters<'_> {
    fn report(&mut self, ended: Vec<PlayedCluster>) -> ControlFlow<()> {
        for played in ended {
            self.table.finish(played.result.cluster, played);
        }
        let now = self.now();
        if let Some(shared) = &mut self.shared {
            shared.exchange(&mut self.table, now, self.is_idle);
        }
        let folded = self.table.fold();
        if !folded.is_empty() {
            match self.playing.store(folded, self.fold) {
                Ok(ControlFlow::Continue(missing)) => {
                    if let Some(missing) = missing {
                        self.table.set_missing(missing);
                    }
                }
                Ok(ControlFlow::Break(())) => return ControlFlow::Break(()),
                Err(error) => {
                    self.ended = Err(error);
                    return ControlFlow::Break(());
                }
            }
        }
        self.pace.pause();
        if (self.stop)() {
            self.ended = Ok(MatchEnd::Interrupted);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn take(&mut self, room: usize) -> Vec<SeededCluster> {
        let (now, is_idle) = (self.now(), self.is_idle);
        let clusters = match &mut self.shared {
            Some(shared) => shared.take(&mut self.table, now, room, is_idle),
            None => self.table.take(room),
        };
        self.is_idle = false;
        let MatchInProgress { runner, info, .. } = self.playing;
        let seed = runner.state.run().seed;
        let seeded = |cluster| SeededCluster { cluster, seed: info.key.seed(seed, cluster) };
        clusters.into_iter().map(seeded).collect()
    }

    fn wait(&mut self) -> ControlFlow<()> {
        if self.table.is_complete() {
            return ControlFlow::Break(());
        }
        // Workers play the missing clusters. After a wake-up, the caller checks the cause.
        let _ = self.playing.runner.wake.recv_timeout(LOOK);
        self.pace.skip();
        self.is_idle = true;
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
