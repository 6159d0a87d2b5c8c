//! Takes new generations to the arena.
//!
//! Only the newest counts: while the arena is away, a newer generation replaces one that was
//! never sent. Publishing is idempotent, so a call whose answer was lost is simply repeated. A
//! refusal ends the publisher: the arena would never see the weights of this run.

use std::sync::Arc;
use std::time::Duration;

use ouro_net::Generation;
use ouro_proto::ArenaClient;
use ouro_proto::arena_client::ArenaError;
use tokio::sync::watch;

use crate::training::Release;

/// Whoever takes weights: the arena, or a test's stand-in.
pub trait Sink: Send {
    /// The newest generation taken, by whomever it was offered; `None` before the first.
    fn newest(&mut self) -> impl Future<Output = Result<Option<Generation>, ArenaError>> + Send;

    /// Offers a release once.
    fn offer(&mut self, release: &Release) -> impl Future<Output = Result<(), ArenaError>> + Send;
}

impl Sink for ArenaClient {
    async fn newest(&mut self) -> Result<Option<Generation>, ArenaError> {
        Ok(self.get_pool().await?.newest.map(|newest| newest.generation))
    }

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

/// [`Sink::newest`], asked until there is an answer.
pub async fn newest(
    sink: &mut impl Sink,
    backoff: Backoff,
) -> Result<Option<Generation>, ArenaError> {
    let mut wait = backoff.first;
    loop {
        match sink.newest().await {
            Err(error) if error.is_retryable() => {
                tracing::warn!(%error, "arena did not say what it has; will ask again");
            }
            answer => return answer,
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(backoff.longest);
    }
}

/// Publishes whatever `releases` shows until its sender is gone and the last one is delivered,
/// or one is refused.
pub async fn publish(
    mut sink: impl Sink,
    mut releases: watch::Receiver<Option<Arc<Release>>>,
    backoff: Backoff,
) -> Result<(), ArenaError> {
    loop {
        let newest = releases.borrow_and_update().clone();
        if let Some(release) = newest {
            deliver(&mut sink, &mut releases, release, backoff).await?;
        }
        if releases.changed().await.is_err() {
            return Ok(());
        }
    }
}

/// Offers a release, or a newer one if that appears, until it is taken or refused.
async fn deliver(
    sink: &mut impl Sink,
    releases: &mut watch::Receiver<Option<Arc<Release>>>,
    mut release: Arc<Release>,
    backoff: Backoff,
) -> Result<(), ArenaError> {
    let mut wait = backoff.first;
    let mut said = None;
    loop {
        let generation = release.generation.0;
        match sink.offer(&release).await {
            Ok(()) => {
                tracing::info!(generation, step = release.step, "published");
                return Ok(());
            }
            Err(error) if error.is_retryable() => {
                let error = error.to_string();
                if said.as_ref() != Some(&error) {
                    tracing::warn!(generation, error, "arena did not take the weights; will retry");
                    said = Some(error);
                }
            }
            Err(error) => {
                tracing::error!(generation, %error, "arena refused the weights");
                return Err(error);
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
    use std::sync::Mutex;
    use tonic::{Code, Status};

    const AT_ONCE: Backoff = Backoff { first: Duration::ZERO, longest: Duration::ZERO };

    /// Notes every offer; fails while `away` holds, and then publishes a newer release.
    /// Refuses the generation `refused`.
    struct Stand {
        away: u32,
        refused: Option<u32>,
        newer: Option<Arc<Release>>,
        releases: watch::Sender<Option<Arc<Release>>>,
        offers: Arc<Mutex<Vec<u32>>>,
    }

    impl Sink for Stand {
        async fn newest(&mut self) -> Result<Option<Generation>, ArenaError> {
            if self.away == 0 {
                return self.refused.map_or(Ok(Some(Generation(3))), |_| Err(refusal()));
            }
            self.away -= 1;
            Err(ArenaError::Unavailable("not yet".into()))
        }

        async fn offer(&mut self, release: &Release) -> Result<(), ArenaError> {
            self.offers.lock().unwrap().push(release.generation.0);
            if self.refused == Some(release.generation.0) {
                return Err(refusal());
            }
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

    fn refusal() -> ArenaError {
        Status::new(Code::AlreadyExists, "taken").into()
    }

    fn stand(away: u32, refused: Option<u32>) -> Stand {
        let releases = watch::Sender::new(Some(release(0)));
        Stand { away, refused, newer: None, releases, offers: Arc::default() }
    }

    async fn offers(away: u32, newer: Option<Arc<Release>>) -> Vec<u32> {
        let stand = Stand { newer, ..stand(away, None) };
        let (offers, receiver) = (Arc::clone(&stand.offers), stand.releases.subscribe());
        publish(stand, receiver, AT_ONCE).await.expect("nothing is refused");
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

    #[tokio::test]
    async fn a_refusal_ends_the_publisher_with_an_error() {
        let stand = Stand { newer: Some(release(1)), ..stand(1, Some(1)) };
        let (offers, receiver) = (Arc::clone(&stand.offers), stand.releases.subscribe());
        let refused = publish(stand, receiver, AT_ONCE).await;
        assert!(matches!(refused, Err(ArenaError::Refused { code: Code::AlreadyExists, .. })));
        assert_eq!(*offers.lock().unwrap(), [0, 1]);
    }

    #[tokio::test]
    async fn the_arena_is_asked_what_it_has_until_it_answers() {
        let newest = newest(&mut stand(3, None), AT_ONCE).await;
        assert_eq!(newest.expect("an answer"), Some(Generation(3)));
        let refused = super::newest(&mut stand(1, Some(0)), AT_ONCE).await;
        assert!(matches!(refused, Err(ArenaError::Refused { .. })));
    }
}
