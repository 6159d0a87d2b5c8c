//! One thread that plays, and hands finished games to the pusher.
//!
//! It plays until the actor halts, or only the waves that are requested. At the halt, running games are
//! dropped, or played to their end as long as games are sent.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_proto::trajectory::message_bytes;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::counters::ActorCounters;
use crate::roster::Roster;
use crate::waves::Wave;
use crate::worker::{FinishedGame, TreeLimits, Worker, WorkerError, WorkerSettings};

/// Polling interval of a thread that has no games or no roster.
const IDLE: Duration = Duration::from_millis(50);
/// How often a game of a wave is played until there is something to learn from it. Even if a game has
/// a full search with a probability of a quarter only, one in 10,000 has none in as many attempts.
const ATTEMPTS: u32 = 32;

/// A playing thread. See the [module](self).
pub(crate) struct PlayThread {
    pub(crate) config: Arc<GameConfig>,
    pub(crate) settings: WorkerSettings,
    pub(crate) roster: watch::Receiver<Option<Arc<Roster>>>,
    pub(crate) games: mpsc::Sender<FinishedGame>,
    pub(crate) counters: Arc<ActorCounters>,
    pub(crate) halt: CancellationToken,
    /// Cancelled once no more games are sent to the learner.
    pub(crate) closed: CancellationToken,
    /// Whether running games are played to their end after the halt.
    pub(crate) finish_games: bool,
    /// The waves to play; `None` plays without waves.
    pub(crate) waves: Option<Receiver<Wave>>,
    /// Most bytes of a game of a wave in its message:
    /// [`MAX_MESSAGE_BYTES`](ouro_proto::trajectory::MAX_MESSAGE_BYTES), and less in tests.
    pub(crate) max_message_bytes: usize,
}

impl PlayThread {
    pub(crate) fn run(self) {
        // Any end of a thread, including a panic, stops the actor. Otherwise the actor would
        // continue with fewer games and no error.
        let _halts = self.halt.clone().drop_guard();
        let config = self.config.clone();
        if let Err(error) = config.visit(self) {
            error!(%error, "the game's configuration stopped being valid");
        }
    }

    fn play<G: Game>(&self, worker: &mut Worker<G>) -> Result<(), WorkerError> {
        if let Some(TreeLimits { trees, nodes, bytes }) = worker.limits() {
            let (thread, mib) = (self.settings.index, bytes.div_ceil(1 << 20));
            info!(thread, trees, nodes, mib, "most that search trees can take");
        }
        match &self.waves {
            Some(waves) => self.play_waves(worker, waves),
            None => self.play_on(worker),
        }
    }

    /// Runs one tick of the worker and adds to the counters. Returns `None` if `is_over` ended the tick
    /// early.
    fn tick<G: Game>(
        &self,
        worker: &mut Worker<G>,
        roster: &Roster,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<FinishedGame>>, WorkerError> {
        let before = worker.stats();
        let finished = worker.tick_unless(roster, is_over)?;
        self.counters.add(&before, &worker.stats());
        for game in finished.iter().flatten() {
            self.counters.finished(&game.trajectory, roster.newest.generation);
        }
        Ok(finished)
    }

    /// Plays until the thread must end or the receiver of games is dropped.
    fn play_on<G: Game>(&self, worker: &mut Worker<G>) -> Result<(), WorkerError> {
        let is_over = || self.is_over();
        while !is_over() {
            if self.halt.is_cancelled() {
                worker.close();
                if worker.running() == 0 {
                    return Ok(());
                }
            }
            let Some(roster) = self.roster.borrow().clone() else {
                thread::sleep(IDLE);
                continue;
            };
            for game in self.tick(worker, &roster, &is_over)?.into_iter().flatten() {
                if self.games.blocking_send(game).is_err() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Whether the thread must end now: at the halt, or once no more games are sent if running games are
    /// finished.
    fn is_over(&self) -> bool {
        self.halt.is_cancelled() && (!self.finish_games || self.closed.is_cancelled())
    }

    /// Plays waves until the actor halts or the receiver of games is dropped. A halt drops an
    /// incomplete wave.
    fn play_waves<G: Game>(
        &self,
        worker: &mut Worker<G>,
        waves: &Receiver<Wave>,
    ) -> Result<(), WorkerError> {
        while let Some((numbers, roster)) = self.next_wave(waves) {
            let Some(wave) = self.play_wave(worker, numbers, &roster)? else { return Ok(()) };
            for game in wave.into_values() {
                if self.games.blocking_send(game).is_err() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The games of a wave by number; `None` once the actor halts.
    ///
    /// The number of a game is also its position in the journal, so every number needs a game. A game
    /// that has nothing to learn from is played again with another seed. A game that is too long to be sent
    /// is an error: the journal would lack it, and the next start would play another game in its place.
    fn play_wave<G: Game>(
        &self,
        worker: &mut Worker<G>,
        numbers: Range<u64>,
        roster: &Roster,
    ) -> Result<Option<BTreeMap<u64, FinishedGame>>, WorkerError> {
        let mut wave = BTreeMap::new();
        for attempt in 0..ATTEMPTS {
            let missing: Vec<u64> =
                numbers.clone().filter(|number| !wave.contains_key(number)).collect();
            for run in missing.chunk_by(|before, after| before + 1 == *after) {
                worker.play_only(run[0]..run[0] + run.len() as u64, attempt);
                while !worker.is_done() {
                    let finished = self.tick(worker, roster, &|| self.halt.is_cancelled())?;
                    let Some(finished) = finished else { return Ok(None) };
                    wave.extend(finished.into_iter().map(|game| (game.number, game)));
                }
            }
        }
        if let Some(number) = numbers.clone().find(|number| !wave.contains_key(number)) {
            return Err(WorkerError::NothingToLearn { number, attempts: ATTEMPTS });
        }
        for (&number, game) in &wave {
            let (bytes, max) = (message_bytes(u64::MAX, &game.trajectory), self.max_message_bytes);
            if bytes > max {
                return Err(WorkerError::TooLong { number, bytes, max });
            }
        }
        Ok(Some(wave))
    }

    /// Waits for the next wave and a roster to play it; `None` once the actor halts.
    fn next_wave(&self, waves: &Receiver<Wave>) -> Option<(Range<u64>, Arc<Roster>)> {
        let mut wave: Option<Wave> = None;
        while !self.halt.is_cancelled() {
            let Some(Wave { numbers, revision }) = &wave else {
                match waves.recv_timeout(IDLE) {
                    Ok(asked) => wave = Some(asked),
                    Err(RecvTimeoutError::Timeout) => {}
                    // The sender of waves is dropped, so the actor is about to halt.
                    Err(RecvTimeoutError::Disconnected) => thread::sleep(IDLE),
                }
                continue;
            };
            let roster = self.roster.borrow().clone();
            match roster.filter(|roster| roster.revision >= Some(*revision)) {
                Some(roster) => return Some((numbers.clone(), roster)),
                None => thread::sleep(IDLE),
            }
        }
        None
    }
}

impl GameVisitor for PlayThread {
    type Output = ();

    fn visit<G: Game>(self, game: G) {
        let worker = Worker::new(game, Arc::clone(&self.config), self.settings.clone());
        if let Err(error) = worker.and_then(|mut worker| self.play(&mut worker)) {
            error!(%error, "a playing thread stops");
        }
    }
}

#[cfg(test)]
mod tests;
