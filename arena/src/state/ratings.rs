//! The current ratings.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ouro_proto::Checkpoint;
use ouro_rating::ratings::PairResults;
use ouro_rating::{RatingTable, Ratings};
use tokio::sync::watch;

use super::shared::{Shared, lock};
use crate::duty_cycle::DutyCycle;
use crate::player_id::ANCHOR;
use crate::store::{StoreError, listed_players};

/// Share of the time that fits take while candidates are being evaluated.
const SHARE: f64 = 0.1;

/// A fit that is shorter than this is never put off.
const SHORT: Duration = Duration::from_millis(5);

/// The ratings as last computed, and their table for subscribers.
#[derive(Debug)]
pub(crate) struct RatingState {
    shared: Arc<Shared>,
    /// Limits fits to their share of the time.
    duty_cycle: Mutex<DutyCycle>,
    /// Whether results arrived after the last fit.
    is_stale: AtomicBool,
    current: Mutex<Arc<Ratings>>,
    table: watch::Sender<Arc<RatingTable>>,
}

impl RatingState {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let current = Mutex::new(Arc::new(Ratings::fit(&[], &[], ANCHOR)));
        Self {
            shared,
            duty_cycle: Mutex::new(DutyCycle::new(SHARE)),
            is_stale: AtomicBool::new(false),
            current,
            table: watch::Sender::default(),
        }
    }

    /// The ratings as last computed.
    pub(crate) fn current(&self) -> Arc<Ratings> {
        lock(&self.current).clone()
    }

    /// Subscribes to the rating table.
    pub(crate) fn table(&self) -> watch::Receiver<Arc<RatingTable>> {
        self.table.subscribe()
    }

    /// Notes that results arrived. Returns whether a fit is within its share of the time.
    pub(super) fn note_results(&self) -> bool {
        self.is_stale.store(true, Ordering::Release);
        let wait = lock(&self.duty_cycle).wait(self.shared.clock.monotonic());
        wait.is_some_and(|wait| wait.is_zero())
    }

    /// Whether results arrived after the last fit.
    pub(super) fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Acquire)
    }

    /// Computes all ratings from all games that count. The fit always starts from the same point,
    /// so a restart and a replay of the log give the same ratings, bit for bit.
    pub(super) fn update(
        &self,
        results: &[PairResults],
        checkpoints: &[Checkpoint],
    ) -> Result<Arc<RatingTable>, StoreError> {
        let start = self.shared.clock.monotonic();
        self.is_stale.store(false, Ordering::Release);
        let anchors = self.shared.checked.anchors.iter().map(|name| &**name);
        let listed = listed_players(anchors, checkpoints);
        let ratings = Arc::new(Ratings::fit(results, &listed, ANCHOR));
        // The ratings are set before the table, so a subscriber to the table can compare all its
        // players. They stay locked until both agree.
        let table = {
            let mut current = lock(&self.current);
            *current = ratings;
            self.publish(&current)?
        };
        let end = self.shared.clock.monotonic();
        self.shared.figures.fit.observe(end.saturating_sub(start));
        if end.saturating_sub(start) >= SHORT {
            lock(&self.duty_cycle).spent(start, end.saturating_sub(start));
        }
        Ok(table)
    }

    /// Publishes the table again if there is another champion, to whom its rows state their
    /// difference.
    pub(super) fn follow_champion(&self) -> Result<(), StoreError> {
        let current = lock(&self.current);
        let champion = self.shared.store.champion()?.to_string();
        if self.table.borrow().champion.as_deref() != Some(&champion) {
            self.publish(&current)?;
        }
        Ok(())
    }

    fn publish(&self, ratings: &Ratings) -> Result<Arc<RatingTable>, StoreError> {
        let champion = self.shared.store.champion()?.to_string();
        let table = Arc::new(ratings.table(Some(&champion)));
        self.table.send_replace(table.clone());
        Ok(table)
    }
}
