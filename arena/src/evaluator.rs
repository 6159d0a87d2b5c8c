//! Plays every candidate's matches, on a thread of its own.
//!
//! For the newest candidate: some pairs against `random` (the anchor) and against members of
//! the pool, then the match against the champion, whose verdict promotes or rejects it.
//! Results are stored as they come, so that a restart goes on where it was: games are never
//! played twice, and a stop costs only the games in play.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use ouro_net::{Engine, Weights};
use ouro_proto::{Checkpoint, CheckpointStatus, ContentHash, Generation};
use tokio_util::sync::CancellationToken;

use crate::config::MatchConfig;
use crate::error::{ArenaError, CallError};
use crate::event::ArenaEvent;
use crate::gate::{Gate, PairResult, Score, Verdict};
use crate::keeper::Keeper;
use crate::matches::{Contestant, PlayError, PlayPairs};
use crate::player_id::{MatchId, PlayerId};
use crate::store::StoreError;

/// How a match ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Everything that was asked for was played.
    Whole,
    /// The arena is stopping.
    Stopped,
}

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
        while !self.stop.is_cancelled() {
            let Some(candidate) = self.keeper.next_candidate()? else {
                if self.wake.recv().is_err() {
                    return Ok(());
                }
                continue;
            };
            self.evaluate(&candidate)?;
        }
        Ok(())
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
        for (opponent, games) in self.connections(generation)? {
            if self.fixed(generation, &engine, opponent, games / 2)? == Ended::Stopped {
                return Ok(());
            }
        }
        let Some((id, verdict, score)) = self.challenge(generation, &engine)? else {
            return Ok(());
        };
        // Once a candidate: the cost grows with the cube of the players.
        self.keeper.rate()?;
        self.keeper.tell(ArenaEvent::Decided { id, verdict, score });
        match verdict {
            Verdict::Promote => self.keeper.promote(generation, id.opponent, score)?,
            Verdict::Reject => {
                self.keeper.store().reject(generation)?;
                tracing::info!(generation = generation.0, share = score.share(), "rejected");
            }
        }
        if let Err(error) = self.keeper.remove_rejected() {
            tracing::warn!(%error, "weights of rejected candidates stay on disk");
        }
        Ok(())
    }

    /// Whom a candidate plays beside the champion, and how many games.
    fn connections(&self, candidate: Generation) -> Result<Vec<(PlayerId, u32)>, StoreError> {
        let champion = self.keeper.store().champion()?;
        let members = self
            .keeper
            .store()
            .checkpoints()?
            .into_iter()
            .rev()
            .filter(|row| row.status == CheckpointStatus::Pool && row.generation != candidate);
        let anchor =
            (champion != PlayerId::Random).then_some((PlayerId::Random, self.config.anchor_games));
        let pool = members
            .take(self.config.pool_opponents)
            .map(|row| (PlayerId::Generation(row.generation), self.config.pool_games));
        Ok(anchor.into_iter().chain(pool).collect())
    }

    /// A match of a fixed number of pairs.
    fn fixed(
        &self,
        candidate: Generation,
        engine: &Arc<Engine>,
        opponent: PlayerId,
        pairs: u32,
    ) -> Result<Ended, ArenaError> {
        let id = MatchId { candidate, opponent };
        let stored = self.keeper.store().results(id)?;
        let mut score = Score::default();
        add(&mut score, &stored);
        self.play(id, engine, stored.len() as u32..pairs, &mut |results| {
            add(&mut score, results);
            self.progress(id, score, 2 * pairs);
            ControlFlow::Continue(())
        })
    }

    /// The match against the champion; `None` if the arena is stopping.
    fn challenge(
        &self,
        candidate: Generation,
        engine: &Arc<Engine>,
    ) -> Result<Option<(MatchId, Verdict, Score)>, ArenaError> {
        let id = MatchId { candidate, opponent: self.keeper.store().champion()? };
        let mut gate = Gate::new(self.config.gate).map_err(crate::config::ConfigError::from)?;
        for result in &self.keeper.store().results(id)? {
            gate.fold(result);
        }
        if gate.verdict().is_none() {
            let pairs = gate.next_pair()..gate.max_pairs();
            self.play(id, engine, pairs, &mut |results| {
                for result in results {
                    gate.fold(result);
                }
                self.progress(id, gate.score(), self.config.gate.games);
                match gate.verdict() {
                    None => ControlFlow::Continue(()),
                    Some(_) => ControlFlow::Break(()),
                }
            })?;
        }
        Ok(gate.verdict().map(|verdict| (id, verdict, gate.score())))
    }

    /// Plays and stores pairs; `fold` sees them once they are stored.
    fn play(
        &self,
        id: MatchId,
        candidate: &Arc<Engine>,
        pairs: std::ops::Range<u32>,
        fold: &mut dyn FnMut(&[PairResult]) -> ControlFlow<()>,
    ) -> Result<Ended, ArenaError> {
        if pairs.is_empty() {
            return Ok(Ended::Whole);
        }
        let opponent = self.contestant(id.opponent)?;
        self.keeper.tell(ArenaEvent::MatchStarted(id));
        let mut failed = None;
        let mut ended = Ended::Whole;
        let mut report = |results: &[PairResult]| {
            if self.stop.is_cancelled() {
                ended = Ended::Stopped;
                return ControlFlow::Break(());
            }
            if results.is_empty() {
                return ControlFlow::Continue(());
            }
            if let Err(error) = self.keeper.record(id, results) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
            fold(results)
        };
        let run = self.keeper.run();
        let visitor = PlayPairs {
            seed: run.seed,
            id,
            contestants: [Contestant::Network(candidate.clone()), opponent],
            pairs,
            selection: self.config.selection(),
            max_plies: self.config.max_plies,
            parallel: self.config.parallel,
            report: &mut report,
        };
        run.game.visit(visitor).map_err(PlayError::from)??;
        if let Some(error) = failed {
            return Err(error.into());
        }
        Ok(ended)
    }

    fn progress(&self, id: MatchId, score: Score, of: u32) {
        self.keeper.tell(ArenaEvent::MatchProgress { id, score, of });
    }

    fn contestant(&self, id: PlayerId) -> Result<Contestant, ArenaError> {
        let PlayerId::Generation(generation) = id else { return Ok(Contestant::Random) };
        let checkpoints = self.keeper.store().checkpoints()?;
        let row = checkpoints
            .iter()
            .find(|row| row.generation == generation)
            .ok_or(StoreError::Unknown(generation))?;
        Ok(Contestant::Network(self.engine(row.hash).map_err(|error| match error {
            CallError::Folder(error) => ArenaError::Weights(error),
            error => ArenaError::Opponent { generation, reason: error.to_string() },
        })?))
    }

    fn engine(&self, hash: ContentHash) -> Result<Arc<Engine>, CallError> {
        let weights = Weights::from_safetensors(&self.keeper.read_weights(hash)?)?;
        Ok(Arc::new(Engine::new(&weights)))
    }
}

fn add(score: &mut Score, results: &[PairResult]) {
    results.iter().flat_map(|result| result.outcomes).for_each(|outcome| score.add(outcome));
}
