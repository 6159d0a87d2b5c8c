//! What actors have yet to be told: the refusals of each life.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ouro_proto::learner::v1::{self as wire, RefusalReason};

/// A game that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its number.
    pub sequence: u64,
    /// Why.
    pub reason: RefusalReason,
    /// Why, in words.
    pub detail: String,
}

impl From<Refused> for wire::Refusal {
    fn from(refused: Refused) -> Self {
        let Refused { sequence, reason, detail } = refused;
        Self { sequence, reason: reason.into(), detail }
    }
}

/// The refusals of a life that its actor has not been told of. Clones share them, so that a
/// stream can tell what another one of the same life brought in.
#[derive(Clone, Debug, Default)]
pub struct Refusals(Arc<Mutex<VecDeque<Refused>>>);

impl Refusals {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Refused>> {
        // Whole refusals only are put in and taken out.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another game was refused.
    pub(super) fn push(&self, refused: Refused) {
        self.lock().push_back(refused);
    }

    /// Those up to a watermark, in order; they are not told again.
    pub fn take(&self, watermark: u64) -> Vec<Refused> {
        let mut refusals = self.lock();
        let told = refusals.partition_point(|refused| refused.sequence <= watermark);
        refusals.drain(..told).collect()
    }
}
