//! The state of the arena, shared by the gRPC handlers, the web page and the match runner.
//!
//! Each concern has its own part with its own locks: [`CandidateState`], [`WeightsState`],
//! [`PoolState`], [`RatingState`] and [`MatchState`]. [`ArenaState`] coordinates steps that change several of
//! them. Methods block, because the store does.

use std::collections::BTreeSet;
use std::process;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};

use ouro_net::{ContentHash, Generation, RunId};
use ouro_proto::Checkpoint;
use ouro_service::{Clock, Conditions, identity};
use tokio::sync::{broadcast, watch};

use crate::condition::Condition;
use crate::config::Checked;
use crate::error::{ArenaError, CallError};
use crate::event::{ArenaEvent, Overtaken};
use crate::figures::Figures;
use crate::store::{Decision, Outcome, Run, Store, StoreError, WeightsStore};

mod candidates;
mod matches;
mod pool;
mod ratings;
mod shared;
mod weights;

pub(crate) use candidates::{CandidateState, Offer};
pub(crate) use matches::MatchState;
pub(crate) use pool::PoolState;
pub(crate) use ratings::RatingState;
pub(crate) use weights::WeightsState;

use candidates::NextCandidate;
use shared::{Shared, lock};

/// The whole state. See the [module](self).
#[derive(Debug)]
pub(crate) struct ArenaState {
    shared: Arc<Shared>,
    weights: Arc<WeightsState>,
    candidates: CandidateState,
    pool: PoolState,
    ratings: RatingState,
    matches: MatchState,
    /// Every candidate whose decision was announced, by this process or an earlier one.
    announced: Mutex<BTreeSet<Generation>>,
    /// Number of active workers.
    workers: watch::Sender<u32>,
}

impl ArenaState {
    /// Loads the state of a run. Fails if a store belongs to another run.
    pub(crate) fn load(
        run: Run,
        checked: Checked,
        store: Box<dyn Store>,
        weights: Box<dyn WeightsStore>,
        clock: Arc<dyn Clock>,
        wake: SyncSender<()>,
    ) -> Result<Self, ArenaError> {
        // The check precedes all reads, so that rows of another run are never mixed with rows of
        // this run.
        let new_id =
            RunId::of(format!("{:?} {} {}", clock.unix(), process::id(), run.seed).as_bytes());
        let id = store.bind_run(&run, new_id)?;
        weights.bind_run(id)?;
        identity().set_game(run.game.name());
        identity().set_run(id);
        if let Some(newest) = store.checkpoints()?.last() {
            identity().set_generation(newest.generation.0);
        }
        let shared = Arc::new(Shared::new(run, id, checked, store, clock));
        let weights = Arc::new(WeightsState::new(shared.clone(), weights));
        weights.check()?;
        let announced = shared.store.decisions()?.iter().map(|one| one.generation).collect();
        let state = Self {
            candidates: CandidateState::new(shared.clone(), weights.clone(), wake)?,
            weights,
            pool: PoolState::new(shared.clone()),
            ratings: RatingState::new(shared.clone()),
            matches: MatchState::new(shared.clone())?,
            announced: Mutex::new(announced),
            workers: watch::Sender::default(),
            shared,
        };
        state.update_ratings()?;
        Ok(state)
    }

    pub(crate) fn run(&self) -> &Run {
        &self.shared.run
    }

    /// Values that follow from the configuration and the game: seats, anchors, openings.
    pub(crate) fn checked(&self) -> &Checked {
        &self.shared.checked
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.shared.store.as_ref()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    pub(crate) fn weights(&self) -> &WeightsState {
        &self.weights
    }

    pub(crate) fn candidates(&self) -> &CandidateState {
        &self.candidates
    }

    pub(crate) fn pool(&self) -> &PoolState {
        &self.pool
    }

    pub(crate) fn ratings(&self) -> &RatingState {
        &self.ratings
    }

    pub(crate) fn matches(&self) -> &MatchState {
        &self.matches
    }

    /// Figures that only observers need.
    pub(crate) fn figures(&self) -> &Arc<Figures> {
        &self.shared.figures
    }

    /// The number of active workers.
    pub(crate) fn workers(&self) -> &watch::Sender<u32> {
        &self.workers
    }

    /// Conditions that an operator must resolve.
    pub(crate) fn conditions(&self) -> watch::Receiver<Conditions<Condition>> {
        self.shared.conditions.subscribe()
    }

    /// Sets a condition, or clears it with `None`. Returns whether that changed anything.
    pub(crate) fn set_condition(&self, condition: Condition, message: Option<String>) -> bool {
        self.shared.set_condition(condition, message)
    }

    /// Events from now on.
    pub(crate) fn events(&self) -> broadcast::Receiver<ArenaEvent> {
        self.shared.events.subscribe()
    }

    /// Emits an event.
    pub(crate) fn emit(&self, event: ArenaEvent) {
        self.shared.emit(event);
    }

    /// Unix time, in seconds.
    pub(crate) fn now(&self) -> f64 {
        self.shared.now()
    }

    /// Stores a published candidate. While the disk is full, the call fails, the condition is set
    /// once, and the sender repeats the publication.
    pub(crate) fn publish(&self, offer: Offer, bytes: &[u8]) -> Result<Checkpoint, CallError> {
        self.store_candidate(offer, bytes).map_err(|error| self.ended_by(error))
    }

    fn store_candidate(&self, offer: Offer, bytes: &[u8]) -> Result<Checkpoint, CallError> {
        // Recovery probes the disk and may reopen the store, so it is attempted only while the
        // condition is set.
        let was_full = self.shared.conditions.borrow().get(Condition::Candidates).is_some();
        let has_space = if was_full { self.store().recover() } else { Ok(()) };
        let stored = has_space.map_err(CallError::from).and_then(|()| {
            let stored = self.candidates.add(offer, bytes)?;
            // Unneeded weights were not stored, so they are not back.
            if self.weights.needed(stored.hash)?.is_some() {
                self.weights.restore(stored.generation)?;
            }
            self.refresh_pool()?;
            Ok(stored)
        });
        let message = match &stored {
            Ok(_) => None,
            Err(error) if error.is_passing() => Some(error.to_string()),
            Err(_) => return stored,
        };
        if self.set_condition(Condition::Candidates, message) {
            match &stored {
                Ok(_) => tracing::warn!("candidates can be stored again: they are accepted"),
                Err(error) => {
                    tracing::error!(%error, "candidates cannot be stored: they are refused")
                }
            }
        }
        stored
    }

    /// Reads the weights with this hash. A checkpoint whose weights turn out to be missing or
    /// damaged is set aside.
    pub(crate) fn read_weights(&self, hash: ContentHash) -> Result<Vec<u8>, CallError> {
        let read = self.weights.store().read(hash).or_else(|error| {
            if !error.is_passing()
                && let Some(checkpoint) = self.weights.needed(hash)?
            {
                self.set_aside(&checkpoint, &error.to_string())?;
            }
            Err(error.into())
        });
        read.map_err(|error| self.ended_by(error))
    }

    /// Ends the arena if the error of a call is final. The match runner may have nothing to store, and
    /// would then not meet the error itself. The caller tries again, with this arena's successor.
    fn ended_by(&self, error: CallError) -> CallError {
        match error {
            CallError::Store(error) if error.is_final() => {
                *lock(&self.shared.end) = Some(error);
                self.candidates.wake();
                CallError::Stopping
            }
            error => error,
        }
    }

    /// The error that ends the arena, if a call has met one.
    pub(crate) fn take_end(&self) -> Option<StoreError> {
        lock(&self.shared.end).take()
    }

    /// Sets a checkpoint aside whose weights cannot be read, and refreshes the pool.
    pub(crate) fn set_aside(&self, row: &Checkpoint, reason: &str) -> Result<(), StoreError> {
        if self.weights.set_aside(row, reason)? {
            self.refresh_pool()?;
        }
        Ok(())
    }

    /// The candidate to play next, which is the newest. Drops those that were overtaken.
    pub(crate) fn next_candidate(&self) -> Result<Option<Checkpoint>, StoreError> {
        let NextCandidate { newest, overtaken, by } = self.candidates.next()?;
        if let Some(by) = by {
            self.drop_overtaken(overtaken, by)?;
        }
        Ok(newest)
    }

    /// Drops overtaken candidates. Each has its decision, and one event says how many they are.
    fn drop_overtaken(&self, overtaken: Vec<Generation>, by: Generation) -> Result<(), StoreError> {
        let mut stored = Vec::with_capacity(overtaken.len());
        let dropped = overtaken.into_iter().try_for_each(|generation| {
            self.drop_without_match(generation, &format!("overtaken by {by}"), Some(by))?;
            stored.push(generation);
            Ok(())
        });
        // Emitted even if a later decision failed: stored decisions are not repeated.
        if let (Some(&first), Some(&last)) = (stored.first(), stored.last()) {
            let overtaken = Overtaken { first, last, count: stored.len(), by };
            tracing::info!(first = first.0, last = last.0, by = by.0, "{overtaken}");
            self.emit(ArenaEvent::Overtaken(overtaken));
        }
        dropped
    }

    /// Drops a candidate without a verdict.
    pub(crate) fn drop_candidate(
        &self,
        generation: Generation,
        reason: &str,
    ) -> Result<(), StoreError> {
        self.drop_without_match(generation, reason, None)
    }

    fn drop_without_match(
        &self,
        generation: Generation,
        reason: &str,
        overtaken_by: Option<Generation>,
    ) -> Result<(), StoreError> {
        let explanation = format!("{generation} was dropped without a verdict: {reason}.");
        let outcome = Outcome::Dropped { reason: reason.to_owned(), overtaken_by };
        self.decide(generation, outcome, explanation)
    }

    /// Decides about a candidate: stores the decision, then announces it.
    pub(crate) fn decide(
        &self,
        generation: Generation,
        outcome: Outcome,
        explanation: String,
    ) -> Result<(), StoreError> {
        let decision = Decision { generation, decided_at: self.now(), explanation, outcome };
        // The decision is stored first, so no event reports a decision that a crash would lose.
        self.store().decide(&decision)?;
        self.matches.clear_gate();
        self.announce(decision)
    }

    /// Counts, logs and emits a stored decision, once for each candidate.
    fn announce(&self, decision: Decision) -> Result<(), StoreError> {
        if !lock(&self.announced).insert(decision.generation) {
            return Ok(());
        }
        self.figures().decided(&decision);
        // Overtaken candidates have one line together.
        if !decision.is_overtaken() {
            let explanation = &decision.explanation;
            tracing::info!(generation = decision.generation.0, explanation, "decided");
        }
        let promotion = decision.promotion();
        let refreshed = self.refresh_pool();
        // The event is emitted even if the refresh failed: the decision is stored and is not
        // repeated.
        self.emit(ArenaEvent::Decided(decision));
        if let Some(promotion) = promotion {
            self.emit(ArenaEvent::Promoted(promotion));
        }
        refreshed
    }

    /// Continues from the stored state after a [passing](StoreError::is_passing) error. Fails with a
    /// passing error while the stores cannot be used.
    pub(crate) fn recover(&self) -> Result<(), StoreError> {
        self.store().recover()?;
        self.weights.recover()?;
        self.matches.reload()?;
        self.update_ratings()?;
        // The store may hold a decision although its append reported an error. Nothing decides it again.
        self.store().decisions()?.into_iter().try_for_each(|decision| self.announce(decision))
    }

    /// Computes all ratings, unless the last fit took so long that another one would exceed its
    /// share of the time. [`complete_ratings`](Self::complete_ratings) makes up for it.
    pub(crate) fn refresh_ratings(&self) -> Result<(), StoreError> {
        match self.ratings.note_results() {
            true => self.update_ratings(),
            false => Ok(()),
        }
    }

    /// Computes all ratings if results arrived since the last fit.
    pub(crate) fn complete_ratings(&self) -> Result<(), StoreError> {
        match self.ratings.is_stale() {
            true => self.update_ratings(),
            false => Ok(()),
        }
    }

    /// Computes all ratings, then refreshes the pool, whose win probabilities depend on them.
    pub(crate) fn update_ratings(&self) -> Result<(), StoreError> {
        let checkpoints = self.store().checkpoints()?;
        let results = self.matches.index().pair_results();
        let table = self.ratings.update(&results, &checkpoints)?;
        self.refresh_pool()?;
        // The pool comes first: a client that receives the event may request it at once.
        if table.games > 0 {
            self.emit(ArenaEvent::Rated(table));
        }
        Ok(())
    }

    /// Publishes the pool, and the table of ratings if the champion has changed.
    fn refresh_pool(&self) -> Result<(), StoreError> {
        self.ratings.follow_champion()?;
        self.pool.refresh(|| self.ratings.current(), &self.weights)
    }

    /// Removes files that are no longer needed: games of old matches and weights of rejected
    /// candidates.
    pub(crate) fn remove_unneeded(&self, kept_matches: u32) -> Result<(), CallError> {
        // Game rows are removed before weights: a failure in between leaves unneeded files, but
        // never removes a needed file.
        self.prune_games(kept_matches)?;
        self.candidates.remove_rejected_weights()
    }

    /// Removes games of old matches.
    pub(crate) fn prune_games(&self, kept_matches: u32) -> Result<(), StoreError> {
        let promotions = self.store().promotions()?;
        let is_kept = self.matches.index().kept_games(&promotions, kept_matches);
        self.store().prune_games(&is_kept)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
