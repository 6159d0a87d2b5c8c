//! Follows the arena while the learner runs.
//!
//! The arena at the address may be replaced: by one of another run, or by one that lost
//! generations, as after the restore of a copy. The first snapshot of each stream shows this. If
//! the learner would not start with that arena, it ends with the error of such a start. Otherwise
//! the last generation is published again, because the arena may lack it.
//!
//! The first snapshot of a stream is compared with what the arena had confirmed before the stream
//! was requested. The arena makes this snapshot after the request, so it cannot be older than the
//! confirmation. Later snapshots are not compared, because an arena that ends also ends its
//! streams.
//!
//! The arena also gets back the weights that it has lost: see [`copies`].

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ouro_net::{Generation, RunId};
use ouro_proto::arena_client::{ArenaClient, ArenaError};
use ouro_proto::pool::PoolSnapshot;
use ouro_service::{Backoff, blocking};
use tokio::sync::watch;
use tokio::time::Instant;

use super::error::LearnerError;
use super::start::check_arena_fits;
use crate::copies;
use crate::publisher::Delivery;
use crate::training_loop::WeightsSnapshot;
use crate::training_state::TrainingStateError;

/// A stream that lasted longer resets the back-off to its first delay.
const STABLE_STREAM: Duration = Duration::from_secs(10);

/// Follows the arena. See the [module](self).
pub(super) struct ArenaWatch {
    pub(super) arena: ArenaClient,
    /// The folder of the learner.
    pub(super) directory: PathBuf,
    /// The run of the arena at the start.
    pub(super) run: Option<RunId>,
    /// The last generation that training has made.
    pub(super) snapshots: watch::Receiver<Option<Arc<WeightsSnapshot>>>,
    /// What the arena has confirmed. Lowered if the arena lacks it.
    pub(super) delivery: watch::Sender<Delivery>,
}

/// Why a stream ended.
#[derive(Debug, thiserror::Error)]
enum WatchError {
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// It is not known whether the arena fits the training states.
    #[error(transparent)]
    States(TrainingStateError),
    /// The learner would not start with the arena.
    #[error(transparent)]
    Misfit(Box<LearnerError>),
}

impl ArenaWatch {
    /// Follows the arena until the future is dropped, or until the learner must end.
    pub(super) async fn run(mut self) -> LearnerError {
        let mut backoff = Backoff::default();
        loop {
            let started = Instant::now();
            match self.follow().await {
                Ok(()) => {}
                Err(WatchError::Misfit(error)) => return *error,
                Err(WatchError::States(error)) => {
                    tracing::warn!(%error, "cannot compare the arena with the training states");
                }
                Err(WatchError::Arena(error)) => {
                    tracing::debug!(%error, "lost the pool; trying again");
                    if error.is_unauthenticated() {
                        // The connection may carry a certificate that has expired since it was
                        // opened.
                        self.arena.reconnect();
                    }
                }
            }
            if started.elapsed() > STABLE_STREAM {
                backoff.reset();
            }
            backoff.sleep().await;
        }
    }

    /// Follows one stream of snapshots.
    async fn follow(&mut self) -> Result<(), WatchError> {
        // Before the request, so that the first snapshot is not older.
        let confirmed = self.delivery.borrow().newest;
        let mut snapshots = self.arena.watch_pool().await?;
        let mut next = snapshots.next().await?;
        if let Some(first) = &next {
            self.check(first, confirmed).await?;
        }
        while let Some(PoolSnapshot { missing, .. }) = next {
            copies::return_copies(&mut self.arena, &self.directory, missing).await;
            next = snapshots.next().await?;
        }
        Ok(())
    }

    /// Checks the arena by the first snapshot of a stream. The arena had `confirmed` before.
    async fn check(
        &mut self,
        first: &PoolSnapshot,
        confirmed: Option<Generation>,
    ) -> Result<(), WatchError> {
        let Some(found) = first.run else { return Ok(()) };
        let newest = first.newest.as_ref().map(|newest| newest.generation);
        let is_behind = newest < confirmed;
        if Some(found) == self.run && !is_behind {
            return Ok(());
        }
        let directory = self.directory.clone();
        match blocking(move || check_arena_fits(&directory, found, newest)).await {
            Ok(Ok(_)) => {}
            // The files may be readable the next time.
            Ok(Err(LearnerError::TrainingState(error))) => return Err(WatchError::States(error)),
            Ok(Err(misfit)) => return Err(WatchError::Misfit(Box::new(misfit))),
            Err(error) => return Err(WatchError::Misfit(Box::new(error.into()))),
        }
        if is_behind {
            self.lower(confirmed, newest);
        }
        Ok(())
    }

    /// Notes that the arena lacks what it had confirmed. The publisher then publishes the last
    /// generation again.
    fn lower(&self, confirmed: Option<Generation>, newest: Option<Generation>) {
        tracing::warn!(
            confirmed = confirmed.map(|generation| generation.0),
            newest = newest.map(|generation| generation.0),
            "the arena lost generations that it had accepted"
        );
        // A generation of another process cannot be published again. Training continues above it.
        let last = self.snapshots.borrow().as_ref().map(|snapshot| snapshot.generation);
        if last <= newest {
            return;
        }
        self.delivery.send_if_modified(|delivery| {
            // Otherwise the arena has confirmed another generation meanwhile.
            let is_same = delivery.newest == confirmed;
            if is_same {
                *delivery = Delivery { newest, error: None };
            }
            is_same
        });
    }
}
