//! Figures that only observers need: times of waiting, durations, and the connected actors.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ouro_service::metrics::Histogram;

use crate::actors::Actors;
use crate::deviation::DeviationWatch;

/// Figures of a running learner. Its parts add to them; metrics and status requests read them.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Games that arrived again after their decision.
    pub(crate) duplicates: AtomicU64,
    /// Size of the journal, in bytes.
    pub(crate) journal_bytes: AtomicU64,
    /// Times from the arrival of a game to its acknowledgement.
    pub(crate) acknowledgement: Histogram,
    /// Times of the commits of the journal.
    pub(crate) sync: Histogram,
    /// What training waits for.
    pub(crate) training: Waits<TrainingWait>,
    /// What games wait for.
    pub(crate) intake: Waits<IntakeWait>,
    /// The connected actors.
    pub(crate) actors: Actors,
    /// The comparison of the actors' games.
    pub(crate) deviations: DeviationWatch,
}

/// A set of reasons to wait.
pub(crate) trait WaitReason: Copy + PartialEq + 'static {
    /// Every reason, with its name in metrics.
    const ALL: &'static [(Self, &'static str)];
}

/// What training waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrainingWait {
    /// Games of actors.
    Games,
    /// The assembly of batches.
    Batches,
    /// The arena, which lacks the last weights.
    Arena,
    /// Space on the disk for the training state.
    Disk,
}

impl WaitReason for TrainingWait {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Games, "games"),
        (Self::Batches, "batches"),
        (Self::Arena, "arena"),
        (Self::Disk, "disk"),
    ];
}

/// What games wait for before the journal takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntakeWait {
    /// Training, which is behind.
    Training,
    /// Space on the disk for the journal.
    Disk,
}

impl WaitReason for IntakeWait {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Training, "training"), (Self::Disk, "disk")];
}

/// The time that one thread has spent waiting, by reason.
#[derive(Debug)]
pub(crate) struct Waits<R>(Mutex<Waited<R>>);

#[derive(Debug)]
struct Waited<R> {
    /// Past waits, one per reason in the order of [`WaitReason::ALL`].
    totals: Vec<Duration>,
    current: Option<(R, Instant)>,
}

impl<R: WaitReason> Default for Waits<R> {
    fn default() -> Self {
        let totals = vec![Duration::ZERO; R::ALL.len()];
        Self(Mutex::new(Waited { totals, current: None }))
    }
}

impl<R: WaitReason> Waits<R> {
    fn lock(&self) -> MutexGuard<'_, Waited<R>> {
        // Poisoning is ignored, because every change of the totals is complete before a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From `now` on the thread waits for `reason`, or works.
    pub(crate) fn set(&self, reason: Option<R>, now: Instant) {
        let mut waited = self.lock();
        if waited.current.map(|(current, _)| current) == reason {
            return;
        }
        waited.totals = totals(&waited, now);
        waited.current = reason.map(|reason| (reason, now));
    }

    /// The seconds by name of the reason, with those of a wait that still lasts at `now`.
    pub(crate) fn seconds(&self, now: Instant) -> Vec<(&'static str, f64)> {
        let totals = totals(&self.lock(), now);
        let names = R::ALL.iter().map(|(_, name)| *name);
        names.zip(totals.iter().map(Duration::as_secs_f64)).collect()
    }
}

fn totals<R: WaitReason>(waited: &Waited<R>, now: Instant) -> Vec<Duration> {
    let current = |reason: &R| match &waited.current {
        Some((current, since)) if current == reason => now.saturating_duration_since(*since),
        _ => Duration::ZERO,
    };
    R::ALL.iter().zip(&waited.totals).map(|((reason, _), past)| *past + current(reason)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_counts_while_it_lasts_and_is_added_once() {
        let (waits, start) = (Waits::<IntakeWait>::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        waits.set(Some(IntakeWait::Training), at(1));
        assert_eq!(waits.seconds(at(3)), [("training", 2.0), ("disk", 0.0)]);
        waits.set(Some(IntakeWait::Training), at(4));
        waits.set(Some(IntakeWait::Disk), at(5));
        assert_eq!(waits.seconds(at(6)), [("training", 4.0), ("disk", 1.0)]);
        waits.set(None, at(7));
        assert_eq!(waits.seconds(at(60)), [("training", 4.0), ("disk", 2.0)]);
    }
}
