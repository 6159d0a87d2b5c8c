//! Publishes new generations to the arena.
//!
//! Only the newest generation counts. While the arena is unavailable, a newer snapshot replaces an
//! unsent one. Publishing is idempotent, so a call is repeated if its answer is lost. A refusal
//! ends the publisher, because the arena would refuse every later generation as well.

use std::sync::Arc;

use ouro_net::Generation;
use ouro_proto::ArenaClient;
use ouro_proto::arena_client::ArenaError;
use ouro_service::Backoff;
use tokio::sync::watch;

use crate::training_loop::WeightsSnapshot;

/// The arena as the publisher sees it, so that tests need no server.
pub(crate) trait PublishTarget: Send {
    /// The newest generation in the arena, published by any process; `None` before the first.
    fn newest_generation(
        &mut self,
    ) -> impl Future<Output = Result<Option<Generation>, ArenaError>> + Send;

    /// Publishes a snapshot, in one attempt.
    fn publish_snapshot(
        &mut self,
        snapshot: &WeightsSnapshot,
    ) -> impl Future<Output = Result<(), ArenaError>> + Send;
}

impl PublishTarget for ArenaClient {
    async fn newest_generation(&mut self) -> Result<Option<Generation>, ArenaError> {
        Ok(self.get_pool().await?.newest.map(|newest| newest.generation))
    }

    async fn publish_snapshot(&mut self, snapshot: &WeightsSnapshot) -> Result<(), ArenaError> {
        self.publish(snapshot.generation, snapshot.step, snapshot.file.clone()).await.map(|_| ())
    }
}

/// Asks for the newest generation until the arena answers.
pub(crate) async fn newest_generation(
    target: &mut impl PublishTarget,
    mut backoff: Backoff,
) -> Result<Option<Generation>, ArenaError> {
    loop {
        match target.newest_generation().await {
            Err(error) if error.is_retryable() => {
                tracing::warn!(%error, "the arena is unavailable; asking again for its newest generation");
            }
            answer => return answer,
        }
        backoff.sleep().await;
    }
}

/// Publishes the newest snapshot of `snapshots` whenever it changes. Returns once the sender is
/// dropped and the last snapshot is delivered, or with the arena's refusal.
pub(crate) async fn publish(
    mut target: impl PublishTarget,
    mut snapshots: watch::Receiver<Option<Arc<WeightsSnapshot>>>,
    mut backoff: Backoff,
) -> Result<(), ArenaError> {
    loop {
        let newest = snapshots.borrow_and_update().clone();
        if let Some(snapshot) = newest {
            deliver(&mut target, &mut snapshots, snapshot, &mut backoff).await?;
        }
        if snapshots.changed().await.is_err() {
            return Ok(());
        }
    }
}

/// Publishes a snapshot, or a newer one that replaces it, until the arena accepts or refuses it.
async fn deliver(
    target: &mut impl PublishTarget,
    snapshots: &mut watch::Receiver<Option<Arc<WeightsSnapshot>>>,
    mut snapshot: Arc<WeightsSnapshot>,
    backoff: &mut Backoff,
) -> Result<(), ArenaError> {
    backoff.reset();
    let mut last_error = None;
    loop {
        let generation = snapshot.generation.0;
        match target.publish_snapshot(&snapshot).await {
            Ok(()) => {
                tracing::info!(generation, step = snapshot.step, "published");
                return Ok(());
            }
            Err(error) if error.is_retryable() => {
                let error = error.to_string();
                if last_error.as_ref() != Some(&error) {
                    tracing::warn!(
                        generation,
                        error,
                        "the arena did not take the weights; retrying"
                    );
                    last_error = Some(error);
                }
            }
            Err(error) => {
                tracing::error!(generation, %error, "the arena refused the weights");
                return Err(error);
            }
        }
        backoff.sleep().await;
        if let Some(newer) = snapshots.borrow_and_update().clone() {
            snapshot = newer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::sync::Mutex;
    use tonic::{Code, Status};

    /// Records every call. Fails `away` times, and sends `newer` to the publisher at the first
    /// failure. Refuses the generation `refused`.
    struct FakeArena {
        away: u32,
        refused: Option<u32>,
        newer: Option<Arc<WeightsSnapshot>>,
        snapshots: watch::Sender<Option<Arc<WeightsSnapshot>>>,
        offers: Arc<Mutex<Vec<u32>>>,
    }

    impl PublishTarget for FakeArena {
        async fn newest_generation(&mut self) -> Result<Option<Generation>, ArenaError> {
            if self.away == 0 {
                return self.refused.map_or(Ok(Some(Generation(3))), |_| Err(refusal()));
            }
            self.away -= 1;
            Err(ArenaError::Unavailable("not yet".into()))
        }

        async fn publish_snapshot(&mut self, snapshot: &WeightsSnapshot) -> Result<(), ArenaError> {
            self.offers.lock().unwrap().push(snapshot.generation.0);
            if self.refused == Some(snapshot.generation.0) {
                return Err(refusal());
            }
            if self.away == 0 {
                // Replacing this sender drops the last sender of the publisher's channel.
                self.snapshots = watch::Sender::new(None);
                return Ok(());
            }
            self.away -= 1;
            if let Some(newer) = self.newer.take() {
                self.snapshots.send_replace(Some(newer));
            }
            Err(ArenaError::Unavailable("not yet".into()))
        }
    }

    fn snapshot(generation: u32) -> Arc<WeightsSnapshot> {
        let generation = Generation(generation);
        Arc::new(WeightsSnapshot { generation, step: 0, file: Bytes::new() })
    }

    fn refusal() -> ArenaError {
        Status::new(Code::AlreadyExists, "taken").into()
    }

    fn fake(away: u32, refused: Option<u32>) -> FakeArena {
        let snapshots = watch::Sender::new(Some(snapshot(0)));
        FakeArena { away, refused, newer: None, snapshots, offers: Arc::default() }
    }

    async fn offers(away: u32, newer: Option<Arc<WeightsSnapshot>>) -> Vec<u32> {
        let fake = FakeArena { newer, ..fake(away, None) };
        let (offers, receiver) = (Arc::clone(&fake.offers), fake.snapshots.subscribe());
        publish(fake, receiver, Backoff::none()).await.expect("nothing is refused");
        let offers = offers.lock().unwrap();
        offers.clone()
    }

    #[tokio::test]
    async fn a_snapshot_is_published_again_until_the_arena_takes_it() {
        assert_eq!(offers(3, None).await, [0, 0, 0, 0]);
    }

    #[tokio::test]
    async fn a_newer_snapshot_replaces_one_that_was_never_sent() {
        assert_eq!(offers(2, Some(snapshot(1))).await, [0, 1, 1]);
    }

    #[tokio::test]
    async fn a_refusal_ends_the_publisher_with_an_error() {
        let fake = FakeArena { newer: Some(snapshot(1)), ..fake(1, Some(1)) };
        let (offers, receiver) = (Arc::clone(&fake.offers), fake.snapshots.subscribe());
        let refused = publish(fake, receiver, Backoff::none()).await;
        assert!(matches!(refused, Err(ArenaError::Refused { code: Code::AlreadyExists, .. })));
        assert_eq!(*offers.lock().unwrap(), [0, 1]);
    }

    #[tokio::test]
    async fn the_arena_is_asked_what_it_has_until_it_answers() {
        let newest = newest_generation(&mut fake(3, None), Backoff::none()).await;
        assert_eq!(newest.expect("an answer"), Some(Generation(3)));
        let refused = super::newest_generation(&mut fake(1, Some(0)), Backoff::none()).await;
        assert!(matches!(refused, Err(ArenaError::Refused { .. })));
    }
}
