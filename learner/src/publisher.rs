//! Takes new generations to the arena.
//!
//! Only the newest counts: while the arena is away, a newer generation replaces one that was
//! never sent. Publishing is idempotent, so a call whose answer was lost is simply repeated.

use std::sync::Arc;
use std::time::Duration;

use ouro_proto::ArenaClient;
use ouro_proto::arena_client::ArenaError;
use tokio::sync::watch;

use crate::training::Release;

/// Whoever takes weights: the arena, or a test's stand-in.
pub trait Sink: Send {
    /// Offers a release once.
    fn offer(&mut self, release: &Release) -> impl Future<Output = Result<(), ArenaError>> + Send;
}

impl Sink for ArenaClient {
    async fn offer(&mut self, release: &Release) -> Result<(), ArenaError> {
        self.publish(release.generation, release.step, release.file.clone()).await.map(|_| ())
    }
}

/// How long to wait after failures in a row.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// After the first; doubles with each further one.
    pub first: Duration,
    /// At most.
    pub longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(250), longest: Duration::from_secs(15) }
    }
}

/// Publishes whatever `releases` shows until its sender is gone and the last one is delivered
/// or refused.
pub async fn publish(
    mut sink: impl Sink,
    mut releases: watch::Receiver<Option<Arc<Release>>>,
    backoff: Backoff,
) {
    loop {
        let newest = releases.borrow_and_update().clone();
        if let Some(release) = newest {
            deliver(&mut sink, &mut releases, release, backoff).await;
        }
        if releases.changed().await.is_err() {
            return;
        }
    }
}

/// Offers a release, or a newer one if that appears, until it is taken or refused.
async fn deliver(
    sink: &mut impl Sink,
    releases: &mut watch::Receiver<Option<Arc<Release>>>,
    mut release: Arc<Release>,
    backoff: Backoff,
) {
    let mut wait = backoff.first;
    loop {
        let generation = release.generation.0;
        match sink.offer(&release).await {
            Ok(()) => {
                tracing::info!(generation, step = release.step, "published");
                return;
            }
            Err(error) if error.is_retryable() => {
                tracing::warn!(generation, %error, "arena did not take the weights; will retry");
            }
            Err(error) => {
                tracing::error!(generation, %error, "arena refused the weights");
                return;
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(backoff.longest);
        if let Some(newer) = releases.borrow_and_update().clone() {
            release = newer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use ouro_proto::Generation;
    use std::sync::Mutex;

    const AT_ONCE: Backoff = Backoff { first: Duration::ZERO, longest: Duration::ZERO };

    /// Notes every offer; fails while `away` holds, and then publishes a newer release.
    struct Stand {
        away: u32,
        newer: Option<Arc<Release>>,
        releases: watch::Sender<Option<Arc<Release>>>,
        offers: Arc<Mutex<Vec<u32>>>,
    }

    impl Sink for Stand {
        async fn offer(&mut self, release: &Release) -> Result<(), ArenaError> {
            self.offers.lock().unwrap().push(release.generation.0);
            if self.away == 0 {
                // The last sender goes away with this one.
                self.releases = watch::Sender::new(None);
                return Ok(());
            }
            self.away -= 1;
            if let Some(newer) = self.newer.take() {
                self.releases.send_replace(Some(newer));
            }
            Err(ArenaError::Unavailable("not yet".into()))
        }
    }

    fn release(generation: u32) -> Arc<Release> {
        let generation = Generation(generation);
        Arc::new(Release { generation, step: 0, file: Bytes::new() })
    }

    async fn offers(away: u32, newer: Option<Arc<Release>>) -> Vec<u32> {
        let (sender, receiver) = watch::channel(Some(release(0)));
        let offers = Arc::default();
        let stand = Stand { away, newer, releases: sender, offers: Arc::clone(&offers) };
        publish(stand, receiver, AT_ONCE).await;
        let offers = offers.lock().unwrap();
        offers.clone()
    }

    #[tokio::test]
    async fn a_release_is_offered_again_until_the_arena_takes_it() {
        assert_eq!(offers(3, None).await, [0, 0, 0, 0]);
    }

    #[tokio::test]
    async fn a_newer_release_supersedes_one_that_was_never_sent() {
        assert_eq!(offers(2, Some(release(1))).await, [0, 1, 1]);
    }
}
