//! The refusals of each session that its actor may not know yet.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ouro_proto::RefusedGame;

/// Reported refusals that are kept, because the answer with them may be lost. As many as an outbox
/// has games by default (`deploy.outbox_games`).
const KEPT: usize = 256;

/// The refusals of a session: all that were not reported yet, and the last that were.
///
/// Clones share the refusals. A stream therefore reports refused games of an earlier stream of the
/// same session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    /// Oldest first.
    refused: VecDeque<RefusedGame>,
    /// The highest watermark that was reported.
    reported: u64,
}

impl Refusals {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Poisoning is ignored, because refusals are only added and removed whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the refusal of a game.
    pub(super) fn push(&self, refused: RefusedGame) {
        self.lock().refused.push_back(refused);
    }

    /// The number of refusals that are left to report, for the first time or again.
    pub(super) fn count(&self) -> usize {
        self.lock().refused.len()
    }

    /// Returns the refusals after `answered` up to `watermark`, in order, and marks them as
    /// reported.
    pub(crate) fn report(&self, answered: u64, watermark: u64) -> Vec<RefusedGame> {
        let mut kept = self.lock();
        kept.reported = kept.reported.max(watermark);
        let is_due = |one: &&RefusedGame| one.sequence > answered && one.sequence <= watermark;
        let refusals = kept.refused.iter().filter(is_due).cloned().collect();
        let reported = kept.refused.partition_point(|refused| refused.sequence <= kept.reported);
        kept.refused.drain(..reported.saturating_sub(KEPT));
        refusals
    }
}

#[cfg(test)]
mod tests {
    use ouro_replay::RefusalReason;

    use super::*;

    #[test]
    fn reported_refusals_are_kept_for_a_while_and_others_until_they_are() {
        let refusals = Refusals::default();
        let refuse = |sequence| {
            let (reason, detail) = (RefusalReason::Stale, "old".to_owned());
            refusals.push(RefusedGame { sequence, reason, detail });
        };
        let reported = |answered, watermark| -> Vec<u64> {
            refusals.report(answered, watermark).iter().map(|one| one.sequence).collect()
        };
        let most = 2 * KEPT as u64;
        (1..=most).for_each(refuse);
        assert_eq!(reported(0, most - 1), (1..most).collect::<Vec<_>>());
        // After a lost answer only the last `KEPT` reported refusals are repeated.
        assert_eq!(reported(3, most - 1), (most - KEPT as u64..most).collect::<Vec<_>>());
        assert_eq!(reported(most - 2, most), [most - 1, most]);
        assert!(reported(most, most).is_empty());
    }
}
