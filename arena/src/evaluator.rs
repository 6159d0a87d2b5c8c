//! Plays every match, on a thread of its own.
//!
//! A candidate goes to the gate at once: its match against the champion is what everybody waits
//! for. Then it plays a few games against each anchor, so that it has a rating. While no
//! candidate waits, spare games go where the ratings are least certain, within their share of
//! the time. Results are stored as they come, so that a restart goes on where it was: games are
//! never played twice, and a stop costs only the games in play.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use ouro_net::{ContentHash, Engine, Generation, Weights};
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_rating::{DistinctGames, Gate};
use tokio_util::sync::CancellationToken;

use crate::config::MatchConfig;
use crate::contestant::Contestant;
use crate::error::{ArenaError, CallError};
use crate::keeper::Keeper;
use crate::matchmaking::{self, Allowance};
use crate::player_id::{MatchKey, MatchKind, PlayerId};
use crate::run::Waiting;
use crate::store::{MatchInfo, Outcome, StoreError};

mod session;

use session::{Ended, Folded, Session};

/// Members of the pool that spare games look at: each pairing of them is weighed up.
const POOL_OF_INTEREST: usize = 12;

/// The newest of these are looked at whatever is known of them; the others are those of whom the
/// least is known.
const NEWEST_OF_INTEREST: usize = 6;

/// Pause before the ratings are looked at again when they are certain.
const IDLE: Duration = Duration::from_secs(10);

/// Pause before a full disk is looked at again.
const FULL: Duration = Duration::from_secs(1);

/// The evaluator. [`run`](Self::run) is the thread.
#[derive(Debug)]
pub(crate) struct Evaluator {
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) config: MatchConfig,
    pub(crate) wake: Receiver<()>,
    pub(crate) stop: CancellationToken,
}

impl Evaluator {
    /// Evaluates candidates until it is stopped (and woken).
    pub(crate) fn run(self) -> Result<(), ArenaError> {
        let mut allowance = Allowance::new(self.config.spare_share);
        let mut is_resumed = false;
        while !self.stop.is_cancelled() {
            let turn = if is_resumed { self.turn(&mut allowance) } else { self.resume() };
            match turn {
                Ok(ControlFlow::Continue(())) => is_resumed = true,
                Ok(ControlFlow::Break(())) => return Ok(()),
                Err(ArenaError::Store(full @ StoreError::NoSpace { .. })) => {
                    self.wait_for_space(&full)?;
                    is_resumed = false;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A candidate, some spare games or a wait; breaks once nobody can wake it any more.
    fn turn(&self, allowance: &mut Allowance) -> Result<ControlFlow<()>, ArenaError> {
        if let Some(candidate) = self.keeper.next_candidate()? {
            self.evaluate(&candidate)?;
            return Ok(ControlFlow::Continue(()));
        }
        self.keeper.rest()?;
        let wait = match allowance.wait(self.keeper.clock().monotonic()) {
            Some(wait) if wait.is_zero() => {
                let start = self.keeper.clock().monotonic();
                if self.spare()? {
                    allowance.spent(start, self.keeper.clock().monotonic());
                    return Ok(ControlFlow::Continue(()));
                }
                Some(IDLE)
            }
            wait => wait,
        };
        let gone = match wait {
            None => self.wake.recv().is_err(),
            Some(wait) => self.wake.recv_timeout(wait) == Err(RecvTimeoutError::Disconnected),
        };
        Ok(if gone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Waits until the disk has room again, or for the stop, and says both. What was not stored
    /// never was: the match that broke off is taken up where its results end, and its clusters
    /// have the same seeds again.
    fn wait_for_space(&self, full: &StoreError) -> Result<(), ArenaError> {
        tracing::error!(error = %full, "the disk is full: matches pause");
        self.keeper.note_trouble(Waiting::Matches, Some(full.to_string()));
        while !self.stop.is_cancelled() {
            // Woken or not, it is worth a look.
            let _ = self.wake.recv_timeout(FULL);
            match self.keeper.recover() {
                Err(StoreError::NoSpace { .. }) => {}
                recovered => {
                    recovered?;
                    tracing::warn!("there is space again: matches go on");
                    self.keeper.note_trouble(Waiting::Matches, None);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Has the newest generation play the anchors to the end, should that have been broken off
    /// after it was decided about.
    fn resume(&self) -> Result<ControlFlow<()>, ArenaError> {
        let (newest, last) = {
            let store = self.keeper.store();
            (store.checkpoints()?.pop(), store.decisions()?.pop())
        };
        let is_ruled = |newest: &Checkpoint| {
            last.is_some_and(|last| {
                let is_ruled = matches!(last.outcome, Outcome::Ruled { .. });
                last.generation == newest.generation && is_ruled
            })
        };
        if let Some(newest) = newest.filter(is_ruled) {
            let generation = newest.generation;
            match self.engine(newest.hash) {
                Ok(_) => self.meet_anchors(generation)?,
                Err(error) => {
                    tracing::warn!(generation = generation.0, %error, "plays no anchor");
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn evaluate(&self, candidate: &Checkpoint) -> Result<(), ArenaError> {
        let generation = candidate.generation;
        let engine = match self.engine(candidate.hash) {
            Ok(engine) => engine,
            Err(error) => {
                tracing::error!(generation = generation.0, %error, "candidate cannot play");
                return Ok(self.keeper.drop_candidate(generation, &error.to_string())?);
            }
        };
        if self.challenge(generation, &engine)? == Ended::Stopped {
            return Ok(());
        }
        self.meet_anchors(generation)
    }

    /// The games against each anchor that are still to be played, and everybody's rating.
    fn meet_anchors(&self, generation: Generation) -> Result<(), ArenaError> {
        let cluster = self.keeper.checked().shape.games();
        for anchor in self.keeper.checked().anchors.clone() {
            let anchor = PlayerId::Anchor(anchor);
            let key = MatchKey::rating(generation.into(), anchor);
            let played = self.keeper.ledger().clusters(&key).saturating_mul(cluster);
            let games = self.config.anchor_games.saturating_sub(played);
            // News is more pressing than a rating, which spare games make up for.
            if self.rating_games(key, games)? == Ended::Stopped {
                break;
            }
        }
        self.keeper.rate()?;
        if let Err(error) = self.keeper.tidy(self.config.kept_matches) {
            tracing::warn!(%error, "what is no longer needed stays on disk");
        }
        Ok(())
    }

    /// The match against the champion, and the decision.
    fn challenge(&self, candidate: Generation, engine: &Arc<Engine>) -> Result<Ended, ArenaError> {
        let champion = self.keeper.store().champion()?;
        let key = MatchKey::gate(candidate, champion.clone());
        let info = self.open(key, true)?;
        let rule = info.rule.unwrap_or(self.config.gate);
        let mut gate = Gate::new(rule, info.shape).map_err(crate::config::ConfigError::from)?;
        for played in &self.keeper.store().results(info.number)? {
            gate.fold(&played.result);
        }
        if gate.ruling().is_none() {
            self.keeper.note_gate(&info, gate.report());
            let clusters = gate.next_cluster()..gate.max_clusters();
            let player = &info.player;
            let sides = [network(engine, player), self.contestant(&champion, player)?];
            let session = Session { evaluator: self, info: &info, sides };
            session.play(
                clusters,
                &mut |result| {
                    let counts = gate.fold(result);
                    let next = match gate.ruling() {
                        Some(_) => ControlFlow::Break(()),
                        None => ControlFlow::Continue(()),
                    };
                    // Told when it is stored, which is before the next ply.
                    Folded { counts, next, report: Some(gate.report()) }
                },
                &|| self.stop.is_cancelled(),
            )?;
        }
        if gate.ruling().is_none() {
            return Ok(Ended::Stopped);
        }
        let report = gate.report();
        let explanation = report.explain(&candidate.to_string(), &champion.to_string());
        // Ratings first: whoever hears of the decision can ask for them.
        self.keeper.rate()?;
        let outcome = Outcome::Ruled { number: info.number, champion, report: Box::new(report) };
        self.keeper.decide(candidate, outcome, explanation)?;
        Ok(Ended::Whole)
    }

    /// Some more games between two players, for their ratings.
    fn rating_games(&self, key: MatchKey, games: u32) -> Result<Ended, ArenaError> {
        let info = self.open(key, false)?;
        let side = |id| self.contestant(id, &info.player);
        let sides = [side(&info.key.first)?, side(&info.key.second)?];
        let mut distinct = DistinctGames::default();
        let played = self.keeper.store().results(info.number)?;
        for earlier in &played {
            distinct.insert(&earlier.result);
        }
        let first = played.len() as u32;
        let clusters = first..first + games.div_ceil(info.shape.games());
        let session = Session { evaluator: self, info: &info, sides };
        session.play(
            clusters,
            &mut |result| {
                let counts = distinct.insert(result);
                Folded { counts, next: ControlFlow::Continue(()), report: None }
            },
            &|| self.stop.is_cancelled() || self.keeper.has_news(),
        )
    }

    /// Some games where the ratings are least certain; `false` if they are certain enough.
    fn spare(&self) -> Result<bool, ArenaError> {
        let players = self.of_interest()?;
        let names: Vec<String> = players.iter().map(ToString::to_string).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let model = self.keeper.model();
        let chosen = {
            let ledger = self.keeper.ledger();
            let fresh = |a: &str, b: &str| match (a.parse(), b.parse()) {
                (Ok(a), Ok(b)) => ledger.is_fresh(&a, &b),
                _ => false,
            };
            matchmaking::choose(&model, &names, &fresh)
        };
        let Some((first, second)) = chosen else { return Ok(false) };
        let key = MatchKey::rating(players[first].clone(), players[second].clone());
        self.rating_games(key, self.config.spare_games)?;
        self.keeper.rate()?;
        Ok(true)
    }

    /// The newest weights, the newest members of the pool with the champion, the members with the
    /// widest intervals, the anchors.
    fn of_interest(&self) -> Result<Vec<PlayerId>, StoreError> {
        let model = self.keeper.model();
        let width = |row: &Checkpoint| {
            let known = model.compare(&row.generation.to_string(), crate::ANCHOR);
            known.map_or(f64::INFINITY, |known| known.elo.high - known.elo.low)
        };
        let checkpoints = self.keeper.store().checkpoints()?;
        let newest = checkpoints.last().map(|row| row.generation);
        let in_pool = |row: &&Checkpoint| {
            matches!(row.status, CheckpointStatus::Pool | CheckpointStatus::Champion)
        };
        let mut pool: Vec<_> = checkpoints.iter().rev().filter(in_pool).collect();
        if let Some((_, older)) = pool.split_at_mut_checked(NEWEST_OF_INTEREST) {
            older.sort_by(|a, b| width(b).total_cmp(&width(a)));
        }
        let pool = pool.into_iter().take(POOL_OF_INTEREST);
        let pool = pool.map(|row| row.generation).filter(|&generation| Some(generation) != newest);
        let generations = newest.into_iter().chain(pool).map(PlayerId::from);
        let anchors = self.keeper.checked().anchors.iter().cloned().map(PlayerId::Anchor);
        Ok(generations.chain(anchors).collect())
    }

    fn open(&self, key: MatchKey, decides: bool) -> Result<MatchInfo, StoreError> {
        debug_assert_eq!(decides, key.kind == MatchKind::Gate);
        self.keeper.open_match(&MatchInfo {
            number: 0,
            key,
            shape: self.keeper.checked().shape,
            rule: decides.then_some(self.config.gate),
            player: self.config.player.clone(),
            opened_at: self.keeper.now(),
        })
    }

    /// Who plays for `id`; networks play as `player` says, which is what the match was begun with:
    /// the settings may have changed since.
    fn contestant(&self, id: &PlayerId, player: &str) -> Result<Contestant, ArenaError> {
        let generation = match id {
            PlayerId::Anchor(name) => return Ok(Contestant::Anchor(name.clone())),
            PlayerId::Generation(generation) => *generation,
        };
        let checkpoints = self.keeper.store().checkpoints()?;
        let row = checkpoints
            .iter()
            .find(|row| row.generation == generation)
            .ok_or(StoreError::Unknown(generation))?;
        let engine = self.engine(row.hash).map_err(|error| match error {
            CallError::Folder(error) => ArenaError::Weights(error),
            error => ArenaError::Opponent { generation, reason: error.to_string() },
        })?;
        Ok(network(&engine, player))
    }

    fn engine(&self, hash: ContentHash) -> Result<Arc<Engine>, CallError> {
        let weights = Weights::from_safetensors(&self.keeper.read_weights(hash)?)?;
        Ok(Arc::new(Engine::new(&weights)))
    }
}

/// A network as `player` plays it.
fn network(engine: &Arc<Engine>, player: &str) -> Contestant {
    Contestant::Network { player: player.into(), engine: Arc::clone(engine) }
}

#[cfg(test)]
mod tests;
