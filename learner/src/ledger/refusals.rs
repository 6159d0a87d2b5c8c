//! What actors have yet to be told: the refusals of each life.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ouro_proto::RefusedGame;

/// Refusals that are kept after they were told, since the answer may be lost on its way.
const KEPT: usize = 64;

/// The refusals of a life: those that its actor has not been told of, and the last that it has.
/// Clones share them, so that a stream can tell what another one of the same life brought in.
#[derive(Clone, Debug, Default)]
pub struct Refusals(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    /// Oldest first.
    refused: VecDeque<RefusedGame>,
    /// The highest watermark that was told.
    told: u64,
}

impl Refusals {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Whole refusals only are put in and taken out.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another game was refused.
    pub(super) fn push(&self, refused: RefusedGame) {
        self.lock().refused.push_back(refused);
    }

    /// Whether there is nothing to tell, not even again.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().refused.is_empty()
    }

    /// Those after `answered` up to a watermark, in order, to be told now.
    pub fn tell(&self, answered: u64, watermark: u64) -> Vec<RefusedGame> {
        let mut kept = self.lock();
        kept.told = kept.told.max(watermark);
        let to_tell = |one: &&RefusedGame| one.sequence > answered && one.sequence <= watermark;
        let refusals = kept.refused.iter().filter(to_tell).cloned().collect();
        let told = kept.refused.partition_point(|refused| refused.sequence <= kept.told);
        kept.refused.drain(..told.saturating_sub(KEPT));
        refusals
    }
}

#[cfg(test)]
mod tests {
    use ouro_replay::RefusalReason;

    use super::*;

    #[test]
    fn what_was_told_is_kept_for_a_while_and_what_was_not_for_as_long_as_it_takes() {
        let refusals = Refusals::default();
        let refuse = |sequence| {
            let (reason, detail) = (RefusalReason::Stale, "old".to_owned());
            refusals.push(RefusedGame { sequence, reason, detail });
        };
        let told = |answered, watermark| -> Vec<u64> {
            refusals.tell(answered, watermark).iter().map(|one| one.sequence).collect()
        };
        let most = 2 * KEPT as u64;
        (1..=most).for_each(refuse);
        assert_eq!(told(0, most - 1), (1..most).collect::<Vec<_>>());
        // The answer was lost, and so are the oldest.
        assert_eq!(told(3, most - 1), (most - KEPT as u64..most).collect::<Vec<_>>());
        assert_eq!(told(most - 2, most), [most - 1, most]);
        assert!(told(most, most).is_empty());
    }
}
