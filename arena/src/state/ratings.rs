//! The current ratings.

use std::sync::{Arc, Mutex};

use ouro_proto::Checkpoint;
use ouro_rating::ratings::PairResults;
use ouro_rating::{RatingTable, Ratings};
use tokio::sync::watch;

use super::shared::{Shared, lock};
use crate::event::ArenaEvent;
use crate::player_id::ANCHOR;
use crate::store::listed_players;

/// The ratings as last computed, and their table for subscribers.
#[derive(Debug)]
pub(crate) struct RatingState {
    shared: Arc<Shared>,
    current: Mutex<Arc<Ratings>>,
    table: watch::Sender<Arc<RatingTable>>,
}

impl RatingState {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let current = Mutex::new(Arc::new(Ratings::fit(&[], &[], ANCHOR)));
        Self { shared, current, table: watch::Sender::default() }
    }

    /// The ratings as last computed.
    pub(crate) fn current(&self) -> Arc<Ratings> {
        lock(&self.current).clone()
    }

    /// Subscribes to the rating table.
    pub(crate) fn table(&self) -> watch::Receiver<Arc<RatingTable>> {
        self.table.subscribe()
    }

    /// Computes all ratings from all games that count. The fit always starts from the same point,
    /// so a restart and a replay of the log give the same ratings, bit for bit.
    pub(super) fn update(&self, results: &[PairResults], checkpoints: &[Checkpoint]) {
        let anchors = self.shared.checked.anchors.iter().map(|name| &**name);
        let listed = listed_players(anchors, checkpoints);
        let ratings = Arc::new(Ratings::fit(results, &listed, ANCHOR));
        let table = Arc::new(ratings.table());
        // The ratings are set before the table, so a subscriber to the table can compare all its
        // players.
        *lock(&self.current) = ratings;
        self.table.send_replace(table.clone());
        self.shared.emit(ArenaEvent::Rated(table));
    }
}
