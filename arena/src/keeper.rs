//! The arena's state behind one door: store, weights, ratings, events.
//!
//! Shared by the gRPC handlers and the evaluator thread. Methods block.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ouro_net::{ContentHash, Generation};
use ouro_proto::CheckpointStatus;
use ouro_proto::pool::PoolSnapshot;
use ouro_rating::{GateReport, RatingTable, Ratings};
use ouro_service::{Clock, Trouble};
use tokio::sync::{broadcast, watch};

use crate::config::Checked;
use crate::error::CallError;
use crate::event::ArenaEvent;
use crate::ledger::{Ledger, lineage};
use crate::live::Live;
use crate::player_id::ANCHOR;
use crate::run::Waiting;
use crate::store::{
    Decision, GameKey, MatchInfo, Outcome, Played, Run, Store, StoreError, StoredGame,
    WeightsError, WeightsFolder,
};

mod candidate;
mod pool;

pub(crate) use candidate::Offer;

/// Events that a slow watcher may be behind.
const EVENTS: usize = 1_024;

/// A match at the gate, and how it stands.
type AtGate = Option<(MatchInfo, GateReport)>;

#[derive(Debug)]
pub(crate) struct Keeper {
    run: Run,
    checked: Checked,
    store: Box<dyn Store>,
    weights: WeightsFolder,
    clock: Arc<dyn Clock>,
    ledger: Mutex<Ledger>,
    model: Mutex<Arc<Ratings>>,
    gate: Mutex<AtGate>,
    ratings: watch::Sender<Arc<RatingTable>>,
    snapshots: watch::Sender<Arc<PoolSnapshot>>,
    rested: watch::Sender<Option<Generation>>,
    trouble: watch::Sender<Trouble<Waiting>>,
    events: broadcast::Sender<ArenaEvent>,
    live: Live,
    wake: SyncSender<()>,
    /// Whether a candidate arrived since the evaluator last looked.
    arrived: AtomicBool,
    /// Every generation whose arrival was told, by this process or one before it.
    announced: Mutex<BTreeSet<Generation>>,
    /// Held while files and rows are brought in line, so that the removal of files does not
    /// take one whose row is about to be written.
    files: Mutex<()>,
    /// Held while the pool is read and shown, so that an older look never covers a newer one.
    showing: Mutex<()>,
}

impl Keeper {
    pub(crate) fn new(
        run: Run,
        checked: Checked,
        store: Box<dyn Store>,
        weights: WeightsFolder,
        clock: Arc<dyn Clock>,
        wake: SyncSender<()>,
    ) -> Result<Self, StoreError> {
        store.bind_run(&run)?;
        let ledger = Mutex::new(Ledger::new(store.matches()?));
        let announced = store.checkpoints()?.iter().map(|row| row.generation).collect();
        let keeper = Self {
            run,
            checked,
            store,
            weights,
            clock,
            ledger,
            model: Mutex::new(Arc::new(Ratings::fit(&[], &[], ANCHOR))),
            gate: Mutex::default(),
            ratings: watch::Sender::default(),
            snapshots: watch::Sender::default(),
            rested: watch::Sender::default(),
            trouble: watch::Sender::default(),
            events: broadcast::Sender::new(EVENTS),
            live: Live::default(),
            wake,
            arrived: AtomicBool::new(false),
            announced: Mutex::new(announced),
            files: Mutex::default(),
            showing: Mutex::default(),
        };
        keeper.rate()?;
        Ok(keeper)
    }

    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    /// What follows from the game: seats, anchors, openings.
    pub(crate) fn checked(&self) -> &Checked {
        &self.checked
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn ratings(&self) -> watch::Receiver<Arc<RatingTable>> {
        self.ratings.subscribe()
    }

    /// The pool, whenever it changes.
    pub(crate) fn snapshots(&self) -> watch::Receiver<Arc<PoolSnapshot>> {
        self.snapshots.subscribe()
    }

    /// The newest generation after whose evaluation nothing was left to evaluate.
    pub(crate) fn rested(&self) -> watch::Receiver<Option<Generation>> {
        self.rested.subscribe()
    }

    /// What a person must see to.
    pub(crate) fn trouble(&self) -> watch::Receiver<Trouble<Waiting>> {
        self.trouble.subscribe()
    }

    /// Notes that somebody's trouble begins, or with `None` ends; whether that is news.
    pub(crate) fn note_trouble(&self, who: Waiting, words: Option<String>) -> bool {
        self.trouble.send_if_modified(|trouble| trouble.note(who, words))
    }

    /// Tells that no candidate waits, unless one has arrived since that was found.
    pub(crate) fn rest(&self) -> Result<(), StoreError> {
        let checkpoints = self.store.checkpoints()?;
        let newest = checkpoints.last().filter(|row| row.status != CheckpointStatus::Candidate);
        if let Some(newest) = newest {
            self.rested.send_replace(Some(newest.generation));
        }
        Ok(())
    }

    pub(crate) fn events(&self) -> broadcast::Receiver<ArenaEvent> {
        self.events.subscribe()
    }

    /// The game that is being shown.
    pub(crate) fn live(&self) -> &Live {
        &self.live
    }

    /// Every match and what its games add up to.
    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        held(&self.ledger)
    }

    /// Everybody's strength as last computed.
    pub(crate) fn model(&self) -> Arc<Ratings> {
        held(&self.model).clone()
    }

    /// The match at the gate.
    pub(crate) fn at_gate(&self) -> AtGate {
        held(&self.gate).clone()
    }

    /// Tells whoever watches.
    pub(crate) fn tell(&self, event: ArenaEvent) {
        // Nobody watching is no error.
        let _ = self.events.send(event);
    }

    /// Makes the evaluator look again.
    pub(crate) fn wake(&self) {
        match self.wake.try_send(()) {
            // Full: it will look anyway. Disconnected: it has ended.
            Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
        }
    }

    /// The weights file with this hash.
    pub(crate) fn read_weights(&self, hash: ContentHash) -> Result<Vec<u8>, WeightsError> {
        self.weights.read(hash)
    }

    /// Begins a match, or goes on with it.
    pub(crate) fn open_match(&self, info: &MatchInfo) -> Result<MatchInfo, StoreError> {
        let info = self.store.open_match(info)?;
        self.ledger().opened(&info);
        Ok(info)
    }

    /// Stores results of a match, and games to be kept.
    pub(crate) fn record(
        &self,
        number: u32,
        results: &[Played],
        games: &[(GameKey, StoredGame)],
    ) -> Result<(), StoreError> {
        self.store.record(number, results, games)?;
        self.ledger().played(number, results);
        Ok(())
    }

    /// Notes how the match at the gate stands, for whoever asks.
    pub(crate) fn note_gate(&self, info: &MatchInfo, report: GateReport) {
        *held(&self.gate) = Some((info.clone(), report));
    }

    /// Notes it, and tells whoever watches.
    pub(crate) fn show_gate(&self, info: &MatchInfo, report: GateReport) {
        self.note_gate(info, report.clone());
        let (info, report) = (info.clone(), Box::new(report));
        self.tell(ArenaEvent::GateProgress { info, report });
    }

    /// Decides about a candidate: durable first, then told.
    pub(crate) fn decide(
        &self,
        generation: Generation,
        outcome: Outcome,
        explanation: String,
    ) -> Result<(), StoreError> {
        let decision = Decision { generation, decided_at: self.now(), explanation, outcome };
        self.store.decide(&decision)?;
        *held(&self.gate) = None;
        tracing::info!(generation = generation.0, explanation = decision.explanation, "decided");
        let promotion = decision.promotion();
        let shown = self.show_pool();
        // Told in any case: it will not be decided again.
        self.tell(ArenaEvent::Decided(decision));
        if let Some(promotion) = promotion {
            self.tell(ArenaEvent::Promoted(promotion));
        }
        shown
    }

    /// Goes on with what is stored after [`StoreError::NoSpace`]; the same error says that there
    /// still is no room.
    pub(crate) fn recover(&self) -> Result<(), StoreError> {
        self.store.mend()?;
        let matches = self.store.matches()?;
        *self.ledger() = Ledger::new(matches);
        *held(&self.gate) = None;
        self.rate()
    }

    /// Computes everyone's rating anew.
    pub(crate) fn rate(&self) -> Result<(), StoreError> {
        let checkpoints = self.store.checkpoints()?;
        let anchors = self.checked.anchors.iter().map(|name| &**name);
        let lineage = lineage(anchors, &checkpoints);
        let evidence = self.ledger().evidence();
        let model = Arc::new(Ratings::fit(&evidence, &lineage, ANCHOR));
        let table = Arc::new(model.table());
        *held(&self.model) = model;
        self.ratings.send_replace(table.clone());
        self.tell(ArenaEvent::Rated(table));
        self.show_pool()
    }

    /// Removes what is no longer needed: weights of the rejected, except the newest, which actors
    /// play, and games of old matches.
    pub(crate) fn tidy(&self, kept_matches: u32) -> Result<(), CallError> {
        let promotions = self.store.promotions()?;
        let keeps = self.ledger().keeps(&promotions, kept_matches);
        self.store.prune_games(&keeps)?;
        let _files = held(&self.files);
        let checkpoints = self.store.checkpoints()?;
        let newest = checkpoints.last().map(|row| row.hash);
        let kept = |hash| {
            Some(hash) == newest
                || checkpoints
                    .iter()
                    .any(|row| row.hash == hash && row.status != CheckpointStatus::Rejected)
        };
        Ok(self.weights.retain(kept)?)
    }

    /// Unix time, in seconds.
    pub(crate) fn now(&self) -> f64 {
        self.clock.unix().as_secs_f64()
    }
}

/// A lock whose holder cannot leave it half changed.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
