//! Keeps the roster up to date: follows the arena's pool and loads new weights.
//!
//! The arena streams every change of the pool. If the stream breaks, the watcher reconnects with
//! growing delays, and games continue with the last roster. The first roster needs the newest
//! weights. A pool member whose weights cannot be loaded is left out and tried again. Weights that
//! the arena has lost are returned from the cache. A refused credential is presented again over a
//! new connection.
//!
//! An arena of another run ends the watcher and the actor, because the learner is that of the first
//! run. So does an arena that refuses the token, or the identity of the certificate, for some seconds
//! before its first answer: without that answer nothing is played or pushed. After it, only the learner's
//! refusal ends the actor.

use std::sync::Arc;
use std::time::Duration;

use ouro_net::{ContentHash, Generation, RunId};
use ouro_proto::Checkpoint;
use ouro_proto::arena_client::{ArenaClient, ArenaError, PoolWatch};
use ouro_proto::pool::PoolSnapshot;
use ouro_service::{Backoff, Refusals, identity};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tracing::{info, warn};

use crate::counters::ActorCounters;
use crate::error::ActorError;
use crate::loader::{LoadError, Loader};
use crate::roster::{Member, Roster};

/// A stream that lasted longer resets the back-off to its first delay.
const STABLE_STREAM: Duration = Duration::from_secs(10);

/// Maximum number of pool members in memory. Of a larger pool, the newest members are kept.
const MAX_MEMBERS: usize = 256;

/// Follows the pool. See the [module](self).
pub(crate) struct PoolWatcher {
    pub(crate) arena: ArenaClient,
    pub(crate) loader: Loader,
    pub(crate) rosters: watch::Sender<Option<Arc<Roster>>>,
    /// Receives the run of the pool.
    pub(crate) run: watch::Sender<Option<RunId>>,
    /// Newest generation that the learner has reported. If the stream lacks it, the stream is
    /// reopened.
    pub(crate) hints: watch::Receiver<Generation>,
    pub(crate) counters: Arc<ActorCounters>,
    /// Refusals by the arena before its first answer.
    pub(crate) refusals: Refusals,
    pub(crate) stop: CancellationToken,
}

/// Why a stream ended.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The arena belongs to another run than the first.
    #[error("it belongs to run {found}")]
    OtherRun { first: RunId, found: RunId },
}

/// Contents of a roster: the newest weights, the members with their estimates, and the revision.
type Contents = (ContentHash, Vec<(ContentHash, Option<f64>)>, u32);

impl PoolWatcher {
    /// Follows the pool until `stop`, sending each changed roster. Cancels `stop` and fails if the arena
    /// refuses this actor at the start, or if another run has taken the place of the first at the arena's
    /// address.
    pub(crate) async fn run(mut self) -> Result<(), ActorError> {
        let stop = self.stop.clone();
        tokio::select! {
            () = stop.cancelled() => Ok(()),
            error = self.follow() => {
                stop.cancel();
                Err(error)
            }
        }
    }

    /// Follows streams until the future is dropped or the actor must end.
    async fn follow(&mut self) -> ActorError {
        let mut last = None;
        let mut has_answered = false;
        let mut backoff = Backoff::default();
        loop {
            let started = Instant::now();
            let ended = self.stream(&mut last, &mut has_answered).await;
            self.counters.set_arena(false);
            match ended {
                Ok(()) => backoff.reset(),
                Err(StreamError::OtherRun { first, found }) => {
                    return ActorError::OtherRun { first, found };
                }
                Err(StreamError::Arena(error)) => {
                    match &error {
                        ArenaError::Refused { code, message } if is_denied(*code) => {
                            if !has_answered && self.refusals.add() {
                                let message = message.clone();
                                return ActorError::Refused { service: "arena", message };
                            }
                            // The connection may carry a certificate that has expired since it was
                            // opened.
                            self.arena.reconnect();
                        }
                        _ => self.refusals.reset(),
                    }
                    let kept = last.is_some();
                    warn!(%error, kept, "lost the arena; trying again");
                    if started.elapsed() > STABLE_STREAM {
                        backoff.reset();
                    }
                    backoff.sleep().await;
                }
            }
        }
    }

    /// Follows one stream and sets `has_answered` at its first snapshot. Returns `Ok` if the stream must
    /// be reopened immediately.
    async fn stream(
        &mut self,
        last: &mut Option<Contents>,
        has_answered: &mut bool,
    ) -> Result<(), StreamError> {
        let mut changes = self.arena.watch_pool().await?;
        let mut snapshot = next(&mut changes).await?;
        *has_answered = true;
        self.counters.set_arena(true);
        if let Some(found) = snapshot.run {
            let first = self.run.borrow().unwrap_or(found);
            if found != first {
                return Err(StreamError::OtherRun { first, found });
            }
            identity().set_run(found);
            self.run.send_replace(Some(found));
        }
        let mut backoff = Backoff::default();
        loop {
            self.return_copies(&snapshot.missing).await;
            let is_whole = self.refresh(&snapshot, last).await;
            let again = (!is_whole).then(|| Instant::now() + backoff.next_delay());
            let known = snapshot.newest.as_ref().map_or(Generation(0), |newest| newest.generation);
            tokio::select! {
                changed = next(&mut changes) => {
                    snapshot = changed?;
                    backoff.reset();
                }
                () = at(again) => {}
                () = newer(&mut self.hints, known) => return Ok(()),
            }
        }
    }

    /// Publishes weights again that the arena has lost and the cache still holds.
    async fn return_copies(&mut self, missing: &[Checkpoint]) {
        for &Checkpoint { hash, generation, step, .. } in missing {
            let Ok(Some(bytes)) = self.loader.cached(hash).await else { continue };
            match self.arena.publish(generation, step, bytes.into()).await {
                Ok(_) => info!(generation = generation.0, "returned lost weights to the arena"),
                Err(error) => {
                    warn!(generation = generation.0, %error, "cannot return weights to the arena");
                }
            }
        }
    }

    /// Loads the weights of a snapshot and sends the roster if it has changed. Returns whether all
    /// weights were loaded.
    async fn refresh(&mut self, snapshot: &PoolSnapshot, last: &mut Option<Contents>) -> bool {
        let PoolSnapshot { newest: Some(newest), members, revision, .. } = snapshot else {
            return true;
        };
        let newest = match self.loader.entry(&mut self.arena, newest).await {
            Ok(newest) => newest,
            Err(error) => {
                warn!(generation = newest.generation.0, %error, "cannot load the newest weights");
                return false;
            }
        };
        let members = &members[members.len().saturating_sub(MAX_MEMBERS)..];
        let mut pool = Vec::with_capacity(members.len());
        for member in members {
            match self.loader.entry(&mut self.arena, &member.checkpoint).await {
                Ok(entry) => pool.push(Member { entry, newest_wins: member.newest_wins }),
                Err(LoadError::Cancelled) => return false,
                Err(error) => {
                    let generation = member.checkpoint.generation.0;
                    warn!(generation, %error, "a member of the pool is left out");
                }
            }
        }
        let missing = members.len() - pool.len();
        let about = |member: &Member| (member.entry.hash, member.newest_wins);
        let contents = (newest.hash, pool.iter().map(about).collect::<Vec<_>>(), *revision);
        if last.as_ref() != Some(&contents) {
            let mut hashes: Vec<_> = contents.1.iter().map(|&(hash, _)| hash).collect();
            hashes.push(newest.hash);
            self.loader.keep(&hashes);
            let generation = newest.generation;
            if last.as_ref().is_none_or(|last| last.0 != newest.hash) {
                info!(generation = generation.0, pool = pool.len(), missing, "new roster");
            }
            self.counters.set_newest(generation);
            identity().set_generation(generation.0);
            let revision = (missing == 0).then_some(*revision);
            self.rosters.send_replace(Some(Arc::new(Roster { revision, newest, pool })));
            *last = Some(contents);
        }
        missing == 0
    }
}

/// Whether the arena does not accept the token of this actor, or the identity in its certificate.
fn is_denied(code: Code) -> bool {
    matches!(code, Code::Unauthenticated | Code::PermissionDenied)
}

async fn next(changes: &mut PoolWatch) -> Result<PoolSnapshot, ArenaError> {
    let ended = || ArenaError::Unavailable("it ended the stream".to_owned());
    changes.next().await?.ok_or_else(ended)
}

/// Resolves when the learner reports a generation newer than `known`; never if the sender is gone.
async fn newer(hints: &mut watch::Receiver<Generation>, known: Generation) {
    loop {
        if hints.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        if *hints.borrow_and_update() > known {
            return;
        }
    }
}

/// Resolves at `time`; never for `None`.
pub(crate) async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
