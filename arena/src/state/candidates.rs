//! Candidates: arrival, weights files, and which candidate plays next.

use std::collections::BTreeSet;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex};

use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::{ContentHash, Generation, NetSpec, Weights};
use ouro_proto::text::brief;
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_service::identity;
use tokio::sync::watch;

use super::WeightsState;
use super::shared::{Shared, lock};
use crate::error::CallError;
use crate::event::ArenaEvent;
use crate::store::StoreError;

/// The header of a publication.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) hash: ContentHash,
    pub(crate) generation: Generation,
    pub(crate) step: u64,
    /// The generation it was trained from; `None` means the newest generation before it.
    pub(crate) parent: Option<Generation>,
}

/// What plays next, and what does not play any more.
#[derive(Debug)]
pub(super) struct NextCandidate {
    /// The newest candidate, unless the champion is newer.
    pub(super) newest: Option<Checkpoint>,
    /// The other candidates, oldest first.
    pub(super) overtaken: Vec<Generation>,
    /// The generation that overtook them: the newest candidate, else the champion.
    pub(super) by: Option<Generation>,
}

/// The candidates that have arrived.
#[derive(Debug)]
struct Arrivals {
    /// Every generation whose arrival was announced, by this process or an earlier one.
    announced: BTreeSet<Generation>,
    /// Those that arrived since the match runner last requested one.
    waiting: usize,
}

/// Published weights and the candidates among them.
#[derive(Debug)]
pub(crate) struct CandidateState {
    shared: Arc<Shared>,
    weights: Arc<WeightsState>,
    /// Wakes the match runner.
    wake: SyncSender<()>,
    arrivals: Mutex<Arrivals>,
    /// The newest generation after whose evaluation no candidate was left.
    idle_after: watch::Sender<Option<Generation>>,
    /// Held while a file and its row are written, or while files are removed. Otherwise the removal
    /// could delete a file whose row is about to be written.
    files: Mutex<()>,
}

impl CandidateState {
    pub(super) fn new(
        shared: Arc<Shared>,
        weights: Arc<WeightsState>,
        wake: SyncSender<()>,
    ) -> Result<Self, StoreError> {
        let announced = shared.store.checkpoints()?.iter().map(|row| row.generation).collect();
        Ok(Self {
            shared,
            weights,
            wake,
            arrivals: Mutex::new(Arrivals { announced, waiting: 0 }),
            idle_after: watch::Sender::default(),
            files: Mutex::default(),
        })
    }

    /// Wakes the match runner.
    pub(crate) fn wake(&self) {
        match self.wake.try_send(()) {
            // Full: a wake-up is already pending. Disconnected: the runner has ended.
            Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
        }
    }

    /// The newest generation after whose evaluation no candidate was left.
    pub(crate) fn idle_after(&self) -> watch::Receiver<Option<Generation>> {
        self.idle_after.subscribe()
    }

    /// Whether [`set_idle`](Self::set_idle) would change `idle_after`.
    pub(crate) fn becomes_idle(&self) -> Result<bool, StoreError> {
        let newest = self.newest_decided()?;
        Ok(newest.is_some() && newest != *self.idle_after.borrow())
    }

    /// Publishes the newest generation as the value of `idle_after`, unless a candidate has arrived
    /// in the meantime.
    pub(crate) fn set_idle(&self) -> Result<(), StoreError> {
        if let Some(newest) = self.newest_decided()? {
            self.idle_after.send_replace(Some(newest));
        }
        Ok(())
    }

    /// The newest generation, unless it is a candidate.
    fn newest_decided(&self) -> Result<Option<Generation>, StoreError> {
        let checkpoints = self.shared.store.checkpoints()?;
        let newest = checkpoints.last().filter(|row| row.status != CheckpointStatus::Candidate);
        Ok(newest.map(|newest| newest.generation))
    }

    /// Checks and stores a candidate whose bytes have the announced hash, and wakes the match
    /// runner if the candidate is new. Weights that were removed are not stored again.
    pub(super) fn add(&self, offer: Offer, bytes: &[u8]) -> Result<Checkpoint, CallError> {
        self.check(offer, &Weights::from_safetensors(bytes)?)?;
        let checkpoint = Checkpoint {
            hash: offer.hash,
            generation: offer.generation,
            step: offer.step,
            size_bytes: bytes.len() as u64,
            status: CheckpointStatus::Candidate,
            published_at: self.shared.now(),
            parent: self.parent(offer)?,
        };
        let stored = {
            let _files = lock(&self.files);
            if let Some(rejected) = self.unneeded(offer)? {
                return Ok(rejected);
            }
            // The store refuses it as well, but only after the weights are written.
            let is_taken =
                |row: &Checkpoint| row.generation == offer.generation && row.hash != offer.hash;
            if let Some(stored) = self.shared.store.checkpoints()?.into_iter().find(is_taken) {
                let (generation, stored) = (offer.generation, stored.hash);
                return Err(StoreError::GenerationTaken { generation, stored }.into());
            }
            // The weights are written first, so a row never refers to missing weights.
            self.weights.store().write(offer.hash, bytes)?;
            self.shared.store.add_checkpoint(&checkpoint)?
        };
        // The store cannot say whether the row is new: a commit that failed may have been applied.
        // The runner is woken before anything else can fail, because a repeated publication counts
        // as known.
        if self.arrives(&stored) {
            self.announce(&stored);
            self.wake();
        }
        Ok(stored)
    }

    /// The checkpoint of an offer, if it is stored and its file is not kept. An actor may offer
    /// every checkpoint, and could otherwise fill the disk with files that were removed.
    fn unneeded(&self, offer: Offer) -> Result<Option<Checkpoint>, StoreError> {
        if self.weights.needed(offer.hash)?.is_some() {
            return Ok(None);
        }
        let is_same =
            |row: &Checkpoint| row.generation == offer.generation && row.hash == offer.hash;
        Ok(self.shared.store.checkpoints()?.into_iter().find(is_same))
    }

    /// Counts a stored candidate, unless it is known. Returns whether it is new.
    fn arrives(&self, candidate: &Checkpoint) -> bool {
        let mut arrivals = lock(&self.arrivals);
        let is_new = arrivals.announced.insert(candidate.generation);
        arrivals.waiting += usize::from(is_new);
        is_new
    }

    /// Emits the arrival of a candidate, once for each.
    fn announce(&self, candidate: &Checkpoint) {
        let (generation, hash) = (candidate.generation.0, candidate.hash);
        tracing::info!(generation, %hash, "candidate arrived");
        identity().set_generation(generation);
        self.shared.emit(ArenaEvent::Published(candidate.clone()));
    }

    /// The generation from which a candidate was trained: the newest stored one up to the announced
    /// one, which may not have been published, or up to the candidate itself.
    fn parent(&self, offer: Offer) -> Result<Option<Generation>, CallError> {
        let generation = offer.generation;
        if let Some(parent) = offer.parent.filter(|&parent| parent >= generation) {
            return Err(CallError::Parent { parent, generation });
        }
        let rows = self.shared.store.checkpoints()?;
        let before = |row: &&Checkpoint| {
            row.generation < generation
                && offer.parent.is_none_or(|parent| row.generation <= parent)
        };
        Ok(rows.iter().rev().find(before).map(|row| row.generation))
    }

    fn check(&self, offer: Offer, weights: &Weights) -> Result<(), CallError> {
        let meta = weights.meta();
        for (field, header, file) in [
            ("generation", u64::from(offer.generation.0), u64::from(meta.generation.0)),
            ("step", offer.step, meta.step),
        ] {
            if header != file {
                return Err(CallError::HeaderMismatch { field, header, file });
            }
        }
        let theirs = serde_json::from_str::<GameConfig>(&meta.game);
        if theirs.ok().as_ref() != Some(&self.shared.run.game) {
            let ours = serde_json::to_string(&self.shared.run.game)
                .unwrap_or_else(|error| format!("an unreadable game: {error}"));
            // Cut, because the text comes from an untrusted file.
            return Err(CallError::ForeignGame { theirs: brief(&meta.game), ours });
        }
        self.shared
            .run
            .game
            .visit(Fits(weights.spec()))
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(CallError::ForeignSpec)
    }

    /// Whether a candidate arrived since [`next`](Self::next) was called.
    pub(crate) fn has_arrival(&self) -> bool {
        self.waiting() > 0
    }

    /// Number of candidates that arrived since [`next`](Self::next) was called.
    pub(crate) fn waiting(&self) -> usize {
        lock(&self.arrivals).waiting
    }

    /// The candidate to play next, which is the newest, and those that it or the champion overtook.
    pub(super) fn next(&self) -> Result<NextCandidate, StoreError> {
        let champion = self.shared.store.champion()?.generation();
        let (mut candidates, new) = {
            // Held while the store is read: a candidate that is returned here would otherwise be
            // counted afterwards, and its own arrival would interrupt its games.
            let mut arrivals = lock(&self.arrivals);
            let mut candidates = self.shared.store.checkpoints()?;
            candidates.retain(|row| row.status == CheckpointStatus::Candidate);
            arrivals.waiting = 0;
            let is_new = |row: &&Checkpoint| arrivals.announced.insert(row.generation);
            let new: Vec<_> = candidates.iter().filter(is_new).cloned().collect();
            (candidates, new)
        };
        new.iter().for_each(|candidate| self.announce(candidate));
        let newest = candidates.pop_if(|row| Some(row.generation) > champion);
        let overtaken = candidates.iter().map(|row| row.generation).collect();
        let by = newest.as_ref().map(|row| row.generation).or(champion);
        Ok(NextCandidate { newest, overtaken, by })
    }

    /// Removes weights of rejected candidates, except the newest weights, which actors play.
    pub(super) fn remove_rejected_weights(&self) -> Result<(), CallError> {
        let _files = lock(&self.files);
        let listed = self.weights.store().hashes()?;
        // An arena that took over may have stored weights of which this one does not know. The list
        // precedes the check, so it has none of them if the check succeeds.
        self.shared.store.check_writer()?;
        let checkpoints = self.shared.store.checkpoints()?;
        let newest = checkpoints.last().map(|row| row.hash);
        let is_kept = |hash: ContentHash| {
            Some(hash) == newest
                || checkpoints
                    .iter()
                    .any(|row| row.hash == hash && row.status != CheckpointStatus::Rejected)
        };
        for hash in listed.into_iter().filter(|hash| !is_kept(*hash)) {
            self.weights.store().remove(hash)?;
        }
        Ok(())
    }
}

/// Checks that a network has the game's input and output sizes.
struct Fits<'a>(&'a NetSpec);

impl GameVisitor for Fits<'_> {
    type Output = Result<(), String>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let (planes, actions) = (self.0.planes, self.0.actions);
        if !game.accepts(planes) {
            return Err(format!("it reads {planes:?}, the game shows {:?}", game.planes()));
        }
        if actions != game.action_count() {
            return Err(format!("it has {actions} actions, the game {}", game.action_count()));
        }
        Ok(())
    }
}
