//! The thread that plays all matches.
//!
//! A new candidate plays the champion at the gate first, because training and promotion depend on
//! that match. Then it plays a fixed number of games against that champion and against each anchor,
//! which rate it: games at the gate are [not rated](ouro_rating::ratings::Stopping). While no
//! candidate is left, spare games are played where the ratings are least certain, within their
//! share of a processor. Results are stored cluster by cluster, so a restart resumes the match: no
//! stored game is played again, and a stop loses only clusters that are not yet stored.
//!
//! A match at the gate is played to its end, whatever arrives meanwhile. The newest candidate
//! follows, and those in between are dropped. While several wait, the match may take more CPU time.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use ouro_net::{ContentHash, Engine, Generation, Weights};
use ouro_proto::Checkpoint;
use ouro_rating::{DistinctGames, Gate};
use tokio_util::sync::CancellationToken;

use crate::condition::Condition;
use crate::config::MatchConfig;
use crate::duty_cycle::{self, DutyCycle};
use crate::error::{ArenaError, CallError};
use crate::matches::PlayError;
use crate::player_id::{MatchKey, MatchKind, PlayerId};
use crate::side::Side;
use crate::state::ArenaState;
use crate::store::{Decision, MatchInfo, Outcome, StoreError};
use crate::workers::shared_match::Workers;

mod in_progress;
mod spare_games;

use in_progress::{Folded, MatchEnd, MatchInProgress, missing};

/// Pause before the next check when the ratings are certain enough. A new candidate ends the pause
/// early.
const IDLE: Duration = Duration::from_secs(10);

/// Pause between checks of a full disk or an unreachable server.
const FULL: Duration = Duration::from_secs(1);

/// Plays matches on a thread of its own, see [`run`](Self::run).
#[derive(Debug)]
pub(crate) struct MatchRunner {
    pub(crate) state: Arc<ArenaState>,
    pub(crate) config: MatchConfig,
    pub(crate) wake: Receiver<()>,
    pub(crate) stop: CancellationToken,
    /// Access to workers, which needs a store that they can reach.
    pub(crate) workers: Option<Workers>,
}

/// What goes first when a candidate arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precedence {
    /// The candidate: the games end.
    Candidate,
    /// The rating: the games are completed.
    Rating,
}

/// The opponents of the games of fixed number that rate a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opponents {
    /// The champion of its match at the gate, and every anchor.
    All,
    /// That champion.
    Champion,
}

/// How far a match runner has come.
#[derive(Debug)]
pub(crate) struct Progress {
    duty_cycle: DutyCycle,
    /// Whether what an earlier process left is complete.
    is_resumed: bool,
    /// When an idle arena last checked that it is the writer of its store.
    checked: Duration,
    /// Matches of spare games whose players cannot be built.
    unplayable: BTreeSet<MatchKey>,
}

impl Progress {
    /// At a start.
    pub(crate) fn new(config: &MatchConfig) -> Self {
        let duty_cycle = DutyCycle::new(config.spare_share);
        let unplayable = BTreeSet::new();
        Self { duty_cycle, is_resumed: false, checked: Duration::ZERO, unplayable }
    }
}

/// What follows a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next step.
    Step,
    /// A wait for a wake-up, for at most this time.
    Wait(Duration),
}

impl MatchRunner {
    /// Plays matches until `stop` is cancelled and the thread is woken.
    pub(crate) fn run(self) -> Result<(), ArenaError> {
        let mut progress = Progress::new(&self.config);
        while !self.stop.is_cancelled() {
            match self.step(&mut progress) {
                Ok(Next::Step) => {}
                Ok(Next::Wait(wait)) => {
                    if self.wake.recv_timeout(wait) == Err(RecvTimeoutError::Disconnected) {
                        return Ok(());
                    }
                }
                Err(ArenaError::Store(error)) if error.is_passing() => {
                    self.wait_for_store(&error)?;
                    progress.is_resumed = false;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Resumes after a start, evaluates a candidate or plays spare games. Returns what follows, and does
    /// not wait itself.
    pub(crate) fn step(&self, progress: &mut Progress) -> Result<Next, ArenaError> {
        if let Some(error) = self.state.take_end() {
            return Err(error.into());
        }
        if !progress.is_resumed {
            self.resume()?;
            progress.is_resumed = true;
            return Ok(Next::Step);
        }
        let duty_cycle = &mut progress.duty_cycle;
        if let Some(candidate) = self.state.next_candidate()? {
            self.evaluate(&candidate)?;
            return Ok(Next::Step);
        }
        if self.state.candidates().becomes_idle()? {
            self.state.complete_ratings()?;
            self.state.candidates().set_idle()?;
        }
        let wait = match duty_cycle.wait(self.state.clock().monotonic()) {
            Some(wait) if wait.is_zero() => {
                let clock = self.state.clock();
                let (start, cpu) = (clock.monotonic(), clock.thread_cpu());
                if self.play_spare_games(&mut progress.unplayable)? {
                    let used = clock.thread_cpu().saturating_sub(cpu);
                    // Workers compute while this thread waits for them.
                    let work = match *self.state.workers().borrow() {
                        0 => used,
                        _ => clock.monotonic().saturating_sub(start).max(used),
                    };
                    duty_cycle.spent(start, work);
                    return Ok(Next::Step);
                }
                IDLE
            }
            wait => wait.map_or(IDLE, |wait| wait.min(IDLE)),
        };
        self.check_writer(progress)?;
        Ok(Next::Wait(wait))
    }

    /// Checks from time to time that this arena is still the writer of its store. An idle arena
    /// stores nothing, and would serve the pool beside its successor for as long as it is idle.
    fn check_writer(&self, progress: &mut Progress) -> Result<(), StoreError> {
        let now = self.state.clock().monotonic();
        if now.saturating_sub(progress.checked) >= IDLE {
            self.state.store().check_writer()?;
            progress.checked = now;
        }
        Ok(())
    }

    /// Sets the condition and waits until the store takes writes again, because the disk has space or
    /// the server answers, or until the arena stops.
    ///
    /// The interrupted match is then resumed after its last stored cluster. The lost clusters are
    /// played again with the same seeds.
    fn wait_for_store(&self, error: &StoreError) -> Result<(), ArenaError> {
        tracing::error!(%error, "matches cannot be stored: matches pause");
        self.state.set_condition(Condition::Matches, Some(error.to_string()));
        while !self.stop.is_cancelled() {
            // The result is ignored: the store is tried after a wake-up and after a timeout.
            let _ = self.wake.recv_timeout(FULL);
            match self.state.recover() {
                Err(error) if error.is_passing() => {}
                recovered => {
                    recovered?;
                    tracing::warn!("the store takes writes again: matches continue");
                    self.state.set_condition(Condition::Matches, None);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Completes the games that rate the last generation with a ruling, if they were interrupted.
    ///
    /// If a newer generation arrived, only the games that link a promoted generation are completed.
    fn resume(&self) -> Result<(), ArenaError> {
        let store = self.state.store();
        let is_ruled = |one: &Decision| matches!(one.outcome, Outcome::Ruled { .. });
        let Some(last) = store.decisions()?.into_iter().rev().find(is_ruled) else { return Ok(()) };
        let checkpoints = store.checkpoints()?;
        let generation = last.generation;
        let is_newest = checkpoints.last().is_some_and(|newest| newest.generation == generation);
        let opponents = match (is_newest, last.promotion()) {
            (true, _) => Opponents::All,
            (false, Some(_)) => Opponents::Champion,
            (false, None) => return Ok(()),
        };
        let Some(row) = checkpoints.iter().find(|row| row.generation == generation) else {
            return Ok(());
        };
        match self.engine(row.hash) {
            Ok(_) => self.rate(generation, opponents)?,
            Err(error) => {
                let error = lasting(error)?;
                tracing::warn!(generation = generation.0, %error, "cannot play for its rating");
            }
        }
        Ok(())
    }

    fn evaluate(&self, candidate: &Checkpoint) -> Result<(), ArenaError> {
        let generation = candidate.generation;
        let engine = match self.engine(candidate.hash) {
            Ok(engine) => engine,
            Err(error) => {
                let error = lasting(error)?;
                tracing::error!(generation = generation.0, %error, "candidate cannot play");
                return Ok(self.state.drop_candidate(generation, &error.to_string())?);
            }
        };
        match self.play_gate(generation, &engine) {
            // The match may have been opened with other settings. It would fail after every restart.
            Err(ArenaError::Play(PlayError::Player(error))) => {
                tracing::error!(generation = generation.0, %error, "candidate cannot play");
                Ok(self.state.drop_candidate(generation, &error.to_string())?)
            }
            played => match played? {
                MatchEnd::Interrupted => Ok(()),
                MatchEnd::Complete => self.rate(generation, Opponents::All),
            },
        }
    }

    /// Plays the missing games of fixed number that rate a generation with a verdict, then updates
    /// all ratings: against the champion of its match at the gate, then against each anchor.
    fn rate(&self, generation: Generation, opponents: Opponents) -> Result<(), ArenaError> {
        let MatchConfig { champion_games, anchor_games, .. } = self.config;
        let decisions = self.state.store().decisions()?;
        let decision = decisions.into_iter().rev().find(|one| one.generation == generation);
        let is_promoted = decision.as_ref().is_some_and(|one| one.promotion().is_some());
        let champion = decision.and_then(|decision| match decision.outcome {
            Outcome::Ruled { champion, .. } => Some(champion),
            Outcome::Dropped { .. } => None,
        });
        let anchors = match opponents {
            Opponents::All => self.state.checked().anchors.as_slice(),
            Opponents::Champion => &[],
        };
        let anchors = anchors.iter().cloned().map(PlayerId::Anchor);
        // A promoted generation is the link between all earlier ratings and all later ones. Its
        // games are completed, even if candidates arrive all the time.
        let precedence = if is_promoted { Precedence::Rating } else { Precedence::Candidate };
        let opponents = champion.into_iter().map(|champion| (champion, champion_games, precedence));
        let opponents =
            opponents.chain(anchors.map(|anchor| (anchor, anchor_games, Precedence::Candidate)));
        let cluster = self.state.checked().shape.games();
        for (opponent, games, precedence) in opponents {
            let key = MatchKey::rating(generation.into(), opponent);
            let played = self.state.matches().index().clusters(&key).saturating_mul(cluster);
            let games = games.saturating_sub(played);
            if games == 0 {
                continue;
            }
            match self.rating_games(key, games, precedence) {
                // The champion's weights are gone, and it is set aside.
                Err(ArenaError::Unplayable { .. }) | Ok(MatchEnd::Complete) => {}
                Err(ArenaError::Play(PlayError::Player(error))) => {
                    tracing::warn!(generation = generation.0, %error, "cannot play for its rating");
                }
                // Spare games complete the ratings later.
                Ok(MatchEnd::Interrupted) => break,
                Err(error) => return Err(error),
            }
        }
        self.state.refresh_ratings()?;
        if let Err(error) = self.state.remove_unneeded(self.config.kept_matches) {
            tracing::warn!(%error, "unneeded files stay on disk");
        }
        Ok(())
    }

    /// Plays the match against the champion and decides.
    fn play_gate(
        &self,
        candidate: Generation,
        engine: &Arc<Engine>,
    ) -> Result<MatchEnd, ArenaError> {
        let champion = self.state.store().champion()?;
        let key = MatchKey::gate(candidate, champion.clone());
        let info = self.open(key, true)?;
        let opponent = match self.side(&champion, &info.player) {
            // The champion is set aside by now, so the candidate plays the promotion before it.
            Err(ArenaError::Unplayable { .. }) => return self.play_gate(candidate, engine),
            side => side?,
        };
        let rule = info.rule.unwrap_or(self.config.gate);
        let mut gate = Gate::new(rule, info.shape).map_err(crate::config::ConfigError::from)?;
        // A resumed match starts from its stored clusters, under the rule with which it was opened.
        for played in &self.state.store().results(info.number)? {
            gate.fold(&played.result);
        }
        if gate.ruling().is_none() {
            self.state.matches().set_gate(&info, gate.report());
            let clusters = gate.next_cluster()..gate.max_clusters();
            let player = &info.player;
            let sides = [network(engine, player), opponent];
            let running = MatchInProgress { runner: self, info: &info, sides };
            running.play(
                clusters,
                missing(&gate.report()),
                &mut |result| {
                    let counts = gate.fold(result);
                    let next = match gate.ruling() {
                        Some(_) => ControlFlow::Break(()),
                        None => ControlFlow::Continue(()),
                    };
                    // The report is emitted once the cluster is stored, which is before the next
                    // ply.
                    Folded { counts, next, report: Some(gate.report()) }
                },
                &|| self.stop.is_cancelled(),
            )?;
        }
        if gate.ruling().is_none() {
            return Ok(MatchEnd::Interrupted);
        }
        let report = gate.report();
        let explanation = report.explain(&candidate.to_string(), &champion.to_string());
        // The ratings come first: a client that receives the decision may request them at once.
        self.state.refresh_ratings()?;
        let outcome = Outcome::Ruled { number: info.number, champion, report: Box::new(report) };
        match self.state.decide(candidate, outcome, explanation) {
            // A champion that was set aside came back during the match.
            Err(StoreError::ChampionChanged { .. }) => self.play_gate(candidate, engine),
            decided => Ok(decided.map(|()| MatchEnd::Complete)?),
        }
    }

    /// The share of one processor that a match may take now.
    fn share(&self, kind: MatchKind) -> f64 {
        let MatchConfig { match_share, catch_up_share, .. } = self.config;
        match kind {
            MatchKind::Gate => {
                let waiting = self.state.candidates().waiting();
                duty_cycle::share(match_share, catch_up_share, waiting)
            }
            MatchKind::Rating => match_share,
        }
    }

    /// Plays `games` more games between two players for their ratings.
    ///
    /// Their results have no influence on when they end.
    fn rating_games(
        &self,
        key: MatchKey,
        games: u32,
        precedence: Precedence,
    ) -> Result<MatchEnd, ArenaError> {
        let info = self.open(key, false)?;
        let side = |id| self.side(id, &info.player);
        let sides = [side(&info.key.first)?, side(&info.key.second)?];
        // Earlier games of the match are inserted first, so a resumed match detects the same
        // repetitions.
        let mut distinct = DistinctGames::default();
        let played = self.state.store().results(info.number)?;
        for earlier in &played {
            distinct.insert(&earlier.result);
        }
        // Not their number: a repair may have lost clusters in between.
        let first = played.last().map_or(0, |last| last.result.cluster.saturating_add(1));
        let clusters = first..first.saturating_add(games.div_ceil(info.shape.games()));
        let running = MatchInProgress { runner: self, info: &info, sides };
        let missing = clusters.len() as u32;
        running.play(
            clusters,
            missing,
            &mut |result| {
                let counts = distinct.insert(result);
                Folded { counts, next: ControlFlow::Continue(()), report: None }
            },
            &|| {
                let yields = precedence == Precedence::Candidate;
                self.stop.is_cancelled() || (yields && self.state.candidates().has_arrival())
            },
        )
    }

    fn open(&self, key: MatchKey, decides: bool) -> Result<MatchInfo, StoreError> {
        debug_assert_eq!(decides, key.kind == MatchKind::Gate);
        self.state.matches().open(&MatchInfo {
            number: 0,
            key,
            shape: self.state.checked().shape,
            rule: decides.then_some(self.config.gate),
            player: self.config.player.clone(),
            opened_at: self.state.now(),
        })
    }

    /// The side of the player `id`. Networks play as the player named `player`, with which the
    /// match was opened: the settings may have changed since. A network whose weights cannot be
    /// read is set aside.
    fn side(&self, id: &PlayerId, player: &str) -> Result<Side, ArenaError> {
        let generation = match id {
            PlayerId::Anchor(name) => return Ok(Side::Anchor(name.clone())),
            PlayerId::Generation(generation) => *generation,
        };
        let checkpoints = self.state.store().checkpoints()?;
        let row = checkpoints
            .iter()
            .find(|row| row.generation == generation)
            .ok_or(StoreError::Unknown(generation))?;
        match self.engine(row.hash) {
            Ok(engine) => Ok(network(&engine, player)),
            Err(CallError::Store(error)) => Err(error.into()),
            Err(error) => {
                let reason = lasting(error)?.to_string();
                self.state.set_aside(row, &reason)?;
                Err(ArenaError::Unplayable { generation, reason })
            }
        }
    }

    fn engine(&self, hash: ContentHash) -> Result<Arc<Engine>, CallError> {
        let weights = Weights::from_safetensors(&self.state.read_weights(hash)?)?;
        Ok(Arc::new(Engine::new(&weights)))
    }
}

/// The error if weights cannot be read for good. While a store cannot be used, matches pause instead.
fn lasting(error: CallError) -> Result<CallError, StoreError> {
    match error.passing() {
        Ok(passing) => Err(passing),
        Err(error) => Ok(error),
    }
}

/// The side of a network that plays as `player`.
fn network(engine: &Arc<Engine>, player: &str) -> Side {
    Side::Network { player: player.into(), engine: Arc::clone(engine) }
}

#[cfg(test)]
mod schedule;
#[cfg(test)]
mod tests;
