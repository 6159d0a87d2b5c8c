//! Figures that only observers need.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ouro_service::metrics::Histogram;
use tonic::Code;

use crate::player_id::MatchKind;
use crate::store::{Decision, Outcome};

/// Figures of a running arena since the start of the process. Its parts add to them, and metrics
/// read them.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) promoted: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) dropped: AtomicU64,
    /// Games stored of matches at the gate.
    pub(crate) gate_games: AtomicU64,
    /// Games stored of matches for ratings.
    pub(crate) rating_games: AtomicU64,
    /// Published checkpoints without a decision.
    pub(crate) candidates: AtomicU64,
    /// Times of the fits of all ratings.
    pub(crate) fit: Histogram,
    pub(crate) uploads_accepted: AtomicU64,
    /// Uploads refused, by gRPC code.
    uploads_refused: [AtomicU64; CODES.len()],
    /// Open streams of the pool, of events, and of pages.
    pub(crate) streams: [AtomicU64; StreamKind::ALL.len()],
}

/// The codes of refused uploads, in the order of their numbers, with their names in metrics.
const CODES: [(Code, &str); 16] = [
    (Code::Cancelled, "cancelled"),
    (Code::Unknown, "unknown"),
    (Code::InvalidArgument, "invalid_argument"),
    (Code::DeadlineExceeded, "deadline_exceeded"),
    (Code::NotFound, "not_found"),
    (Code::AlreadyExists, "already_exists"),
    (Code::PermissionDenied, "permission_denied"),
    (Code::ResourceExhausted, "resource_exhausted"),
    (Code::FailedPrecondition, "failed_precondition"),
    (Code::Aborted, "aborted"),
    (Code::OutOfRange, "out_of_range"),
    (Code::Unimplemented, "unimplemented"),
    (Code::Internal, "internal"),
    (Code::Unavailable, "unavailable"),
    (Code::DataLoss, "data_loss"),
    (Code::Unauthenticated, "unauthenticated"),
];

/// A kind of stream that stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// Snapshots of the pool.
    Pool,
    /// Events over gRPC.
    Events,
    /// Changes of a web page.
    Page,
}

impl StreamKind {
    /// Every kind, in the order of [`Figures::streams`], with its name in metrics.
    pub(crate) const ALL: [(Self, &'static str); 3] =
        [(Self::Pool, "pool"), (Self::Events, "events"), (Self::Page, "page")];
}

/// Counts an open stream until it is dropped.
#[derive(Debug)]
pub(crate) struct Watching {
    figures: Arc<Figures>,
    kind: StreamKind,
}

impl Figures {
    /// Counts a decision.
    pub(crate) fn decided(&self, decision: &Decision) {
        let count = match &decision.outcome {
            Outcome::Dropped { .. } => &self.dropped,
            Outcome::Ruled { .. } if decision.promotion().is_some() => &self.promoted,
            Outcome::Ruled { .. } => &self.rejected,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts games of a match.
    pub(crate) fn played(&self, kind: MatchKind, games: u64) {
        let count = match kind {
            MatchKind::Gate => &self.gate_games,
            MatchKind::Rating => &self.rating_games,
        };
        count.fetch_add(games, Ordering::Relaxed);
    }

    /// Counts a refused upload.
    pub(crate) fn upload_refused(&self, code: Code) {
        if let Some(index) = CODES.iter().position(|(one, _)| *one == code) {
            self.uploads_refused[index].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The refused uploads by the name of the code.
    pub(crate) fn uploads_refused(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.uploads_refused.iter().map(|count| count.load(Ordering::Relaxed));
        CODES.iter().map(|(_, name)| *name).zip(counts)
    }

    /// Counts a stream that is open until the result is dropped.
    pub(crate) fn watch(self: &Arc<Self>, kind: StreamKind) -> Watching {
        self.streams[kind as usize].fetch_add(1, Ordering::Relaxed);
        Watching { figures: Arc::clone(self), kind }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.figures.streams[self.kind as usize].fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_counts_while_it_is_open_and_every_code_has_a_count() {
        let figures = Arc::new(Figures::default());
        let open = |kind: StreamKind| figures.streams[kind as usize].load(Ordering::Relaxed);
        let watching =
            [StreamKind::Pool, StreamKind::Pool, StreamKind::Page].map(|kind| figures.watch(kind));
        assert_eq!(StreamKind::ALL.map(|(kind, _)| open(kind)), [2, 0, 1]);
        drop(watching);
        assert_eq!(StreamKind::ALL.map(|(kind, _)| open(kind)), [0; 3]);
        for code in 1..=16 {
            figures.upload_refused(Code::from_i32(code));
        }
        assert!(figures.uploads_refused().all(|(_, count)| count == 1));
    }
}
