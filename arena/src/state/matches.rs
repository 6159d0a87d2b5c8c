//! The index of all matches, the match at the gate, and the game that is shown live.

use std::sync::{Arc, Mutex, MutexGuard};

use ouro_rating::GateReport;

use super::shared::{Shared, lock};
use crate::event::ArenaEvent;
use crate::live_feed::LiveFeed;
use crate::store::{GameKey, MatchIndex, MatchInfo, StoreError, StoredCluster, StoredGame};

/// A match at the gate with its state.
type GateMatch = Option<(MatchInfo, GateReport)>;

/// All matches, finished and in progress.
#[derive(Debug)]
pub(crate) struct MatchState {
    shared: Arc<Shared>,
    index: Mutex<MatchIndex>,
    gate: Mutex<GateMatch>,
    live: LiveFeed,
}

impl MatchState {
    pub(super) fn new(shared: Arc<Shared>) -> Result<Self, StoreError> {
        let index = Mutex::new(MatchIndex::new(shared.store.matches()?));
        Ok(Self { shared, index, gate: Mutex::default(), live: LiveFeed::default() })
    }

    /// Every match with the sums of its games.
    pub(crate) fn index(&self) -> MutexGuard<'_, MatchIndex> {
        lock(&self.index)
    }

    /// The game that is shown live.
    pub(crate) fn live(&self) -> &LiveFeed {
        &self.live
    }

    /// The match at the gate.
    pub(crate) fn at_gate(&self) -> GateMatch {
        lock(&self.gate).clone()
    }

    /// Opens a match, or returns the open match with this key.
    pub(crate) fn open(&self, info: &MatchInfo) -> Result<MatchInfo, StoreError> {
        let info = self.shared.store.open_match(info)?;
        self.index().add_match(&info);
        Ok(info)
    }

    /// Stores results of a match and games to keep. Clusters that are already stored do not count
    /// again.
    pub(crate) fn record(
        &self,
        number: u32,
        clusters: &[StoredCluster],
        games: &[(GameKey, StoredGame)],
    ) -> Result<(), StoreError> {
        // Clusters are stored first, so the index never holds clusters that a crash would lose.
        let new = self.shared.store.record(number, clusters, games)?;
        if new as usize == clusters.len() {
            self.index().add_clusters(number, clusters);
        } else {
            // Some were stored before, as after a repair. The store alone can name them.
            let matches = self.shared.store.matches()?;
            *self.index() = MatchIndex::new(matches);
        }
        if let Some((info, _)) = self.index().get(number) {
            let games = u64::from(new) * u64::from(info.shape.games());
            self.shared.figures.played(info.key.kind, games);
        }
        Ok(())
    }

    /// Sets the state of the match at the gate.
    pub(crate) fn set_gate(&self, info: &MatchInfo, report: GateReport) {
        *lock(&self.gate) = Some((info.clone(), report));
    }

    /// Sets the state of the match at the gate and emits it as an event.
    pub(crate) fn update_gate(&self, info: &MatchInfo, report: GateReport) {
        self.set_gate(info, report.clone());
        let (info, report) = (info.clone(), Box::new(report));
        self.shared.emit(ArenaEvent::GateProgress { info, report });
    }

    /// Removes the match from the gate.
    pub(super) fn clear_gate(&self) {
        *lock(&self.gate) = None;
    }

    /// Rebuilds the index from the store and clears the gate.
    pub(super) fn reload(&self) -> Result<(), StoreError> {
        let matches = self.shared.store.matches()?;
        *self.index() = MatchIndex::new(matches);
        self.clear_gate();
        Ok(())
    }
}
