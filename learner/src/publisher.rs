//! Publishes new generations to the arena.
//!
//! Only the newest generation is published: a newer snapshot replaces an unsent one. [`Delivery`]
//! reports the newest generation in the arena. While the arena lacks the last generation, the
//! training loop makes no further one. Publishing is idempotent, so a call is repeated if its
//! answer is lost. A refusal ends the publisher, because the arena would also refuse every later
//! generation. A refused credential does so only after some seconds: see [`Refusals`].
//!
//! An arena that was replaced may be of another run, or lack generations that it had accepted. Its
//! run and newest generation are requested before each publication, and such an arena gets none. The
//! watch of the arena lowers [`Delivery::newest`] if the learner may continue with the arena. The last
//! generation is then published again.

use std::sync::Arc;
use std::time::Duration;

use ouro_net::{Generation, RunId};
use ouro_proto::ArenaClient;
use ouro_proto::arena_client::ArenaError;
use ouro_service::{Backoff, Refusals, Throttle};
use tokio::sync::watch;

use crate::training_loop::WeightsSnapshot;

/// Time between two log lines while the arena is unreachable.
const LOG_INTERVAL: Duration = Duration::from_secs(30);

/// Most generations of a learner that its arena may lack: the last one, and the one of the drain
/// after it.
const MAX_UNPUBLISHED: u32 = 2;

/// Whether an arena whose newest generation is `newest` lacks more generations up to `own` than the
/// learner ever leaves unpublished.
pub(crate) fn is_far_ahead(own: Generation, newest: Option<Generation>) -> bool {
    own.0.saturating_sub(newest.unwrap_or_default().0) > MAX_UNPUBLISHED
}

/// What the learner must know of an arena before it publishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArenaRun {
    /// The run of the arena.
    pub(crate) run: Option<RunId>,
    /// The newest generation in the arena, published by any process; `None` before the first.
    pub(crate) newest: Option<Generation>,
}

/// The calls of the arena that the publisher uses. Tests implement them without a server.
pub(crate) trait PublishTarget: Send {
    /// The run of the arena and its newest generation.
    fn arena_run(&mut self) -> impl Future<Output = Result<ArenaRun, ArenaError>> + Send;

    /// Publishes a snapshot in one attempt, without retries.
    fn publish_snapshot(
        &mut self,
        snapshot: &WeightsSnapshot,
    ) -> impl Future<Output = Result<(), ArenaError>> + Send;

    /// Opens another connection with the next call.
    fn replace_connection(&mut self);
}

impl PublishTarget for ArenaClient {
    async fn arena_run(&mut self) -> Result<ArenaRun, ArenaError> {
        let pool = self.get_pool().await?;
        Ok(ArenaRun { run: pool.run, newest: pool.newest.map(|newest| newest.generation) })
    }

    async fn publish_snapshot(&mut self, snapshot: &WeightsSnapshot) -> Result<(), ArenaError> {
        let WeightsSnapshot { generation, step, ref file, parent } = *snapshot;
        self.publish_from(parent, generation, step, file.clone()).await.map(|_| ())
    }

    fn replace_connection(&mut self) {
        self.reconnect();
    }
}

/// The state of delivery to the arena.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// The newest generation in the arena.
    pub newest: Option<Generation>,
    /// Why the last attempt to publish failed; `None` if it succeeded.
    pub error: Option<String>,
}

/// Publishes the newest snapshot of a channel.
pub(crate) struct Publisher<T> {
    target: T,
    backoff: Backoff,
    /// Limits the log lines while the arena is unreachable.
    failures: Throttle,
    /// Refusals of the credential.
    refusals: Refusals,
    /// The run of the arena, once it has named it.
    run: Option<RunId>,
    /// The last generation that the arena accepted from this publisher.
    accepted: Option<Generation>,
}

impl<T: PublishTarget> Publisher<T> {
    pub(crate) fn new(target: T, backoff: Backoff) -> Self {
        let failures = Throttle::new(LOG_INTERVAL);
        let refusals = Refusals::default();
        Self { target, backoff, failures, refusals, run: None, accepted: None }
    }

    /// Requests the run and its newest generation until the arena answers. Calls `failed` after
    /// each failed attempt. From then on, arenas of other runs get no weights.
    pub(crate) async fn arena_run(
        &mut self,
        mut failed: impl FnMut(&ArenaError),
    ) -> Result<ArenaRun, ArenaError> {
        loop {
            let answer = self.target.arena_run().await;
            match answer {
                Err(error) if self.may_repeat(&error) => {
                    failed(&error);
                    if self.failures.admit().is_some() {
                        tracing::warn!(
                            %error,
                            "the arena does not answer: no game is accepted until it does"
                        );
                    }
                }
                answer => {
                    self.backoff.reset();
                    self.refusals.reset();
                    self.run = answer.as_ref().ok().and_then(|known| known.run);
                    return answer;
                }
            }
            self.backoff.sleep().await;
        }
    }

    /// Publishes the newest snapshot of `snapshots` whenever it changes or `delivery` falls below
    /// it, and reports each result to `delivery`. Returns once the sender is dropped and the last
    /// snapshot is delivered. Fails if the arena refuses a snapshot.
    pub(crate) async fn publish(
        mut self,
        mut snapshots: watch::Receiver<Option<Arc<WeightsSnapshot>>>,
        delivery: watch::Sender<Delivery>,
    ) -> Result<(), ArenaError> {
        let mut delivered = delivery.subscribe();
        loop {
            let newest = snapshots.borrow_and_update().clone();
            let mut published = None;
            if let Some(snapshot) = newest {
                published = Some(self.deliver(&mut snapshots, snapshot, &delivery).await?);
            }
            tokio::select! {
                biased;
                () = lost(&mut delivered, published) => {}
                changed = snapshots.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Publishes a snapshot, or a newer one that replaces it, until the arena accepts or refuses
    /// it. Returns its generation.
    async fn deliver(
        &mut self,
        snapshots: &mut watch::Receiver<Option<Arc<WeightsSnapshot>>>,
        mut snapshot: Arc<WeightsSnapshot>,
        delivery: &watch::Sender<Delivery>,
    ) -> Result<Generation, ArenaError> {
        self.backoff.reset();
        loop {
            let generation = snapshot.generation;
            let confirmed = delivery.borrow().newest;
            let answer = self.offer(&snapshot, confirmed).await;
            match answer {
                Ok(()) => {
                    self.refusals.reset();
                    self.accepted = Some(generation);
                    tracing::info!(generation = generation.0, step = snapshot.step, "published");
                    delivery.send_replace(Delivery { newest: Some(generation), error: None });
                    return Ok(generation);
                }
                Err(error) if self.may_repeat(&error) => {
                    let error = error.to_string();
                    if let Some(attempts) = self.failures.admit() {
                        tracing::warn!(
                            generation = generation.0,
                            error,
                            attempts,
                            "the arena did not take the weights; retrying"
                        );
                    }
                    delivery.send_modify(|delivery| delivery.error = Some(error));
                }
                Err(error) => {
                    tracing::error!(
                        generation = generation.0,
                        %error,
                        "the arena refused the weights"
                    );
                    return Err(error);
                }
            }
            self.backoff.sleep().await;
            if let Some(newer) = snapshots.borrow_and_update().clone() {
                snapshot = newer;
            }
        }
    }

    /// Publishes a snapshot in one attempt, unless the arena is of another run, or lacks what it had
    /// `confirmed`. Such an arena may have taken the place of the first at its address. The attempt
    /// then counts as failed, because the first may come back. It may succeed once the watch of the
    /// arena has lowered what is confirmed: a publication before that would hide the loss.
    async fn offer(
        &mut self,
        snapshot: &WeightsSnapshot,
        confirmed: Option<Generation>,
    ) -> Result<(), ArenaError> {
        if let Some(run) = self.run {
            let found = self.target.arena_run().await?;
            if let Some(found) = found.run
                && found != run
            {
                let what = format!("it belongs to run {found}, and this learner to run {run}");
                return Err(ArenaError::Unavailable(what));
            }
            // What another process published is not compared: it cannot be published again.
            let expected = self.accepted.min(confirmed);
            if let Some(expected) = expected.filter(|_| found.newest < expected) {
                let what = format!("it lacks {expected}, which it had accepted");
                return Err(ArenaError::Unavailable(what));
            }
        }
        self.target.publish_snapshot(snapshot).await
    }

    /// Whether the call that failed may succeed later. Prepares its repetition.
    fn may_repeat(&mut self, error: &ArenaError) -> bool {
        if !error.is_unauthenticated() {
            self.refusals.reset();
            return error.is_retryable();
        }
        if self.refusals.add() {
            return false;
        }
        // The connection may carry a certificate that has expired since it was opened.
        self.target.replace_connection();
        true
    }
}

/// Waits until the arena is known to lack the generation that it has accepted, if any.
async fn lost(delivered: &mut watch::Receiver<Delivery>, published: Option<Generation>) {
    if delivered.wait_for(|delivery| delivery.newest < published).await.is_err() {
        // No loss can be reported any more.
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};
    use tonic::{Code, Status};

    /// Records every publication. Fails `away` times, and sends `newer` to the publisher at the
    /// first failure. Refuses the credential `denied` times, and the generation `refused`. Names
    /// another run than `run` the next `others` times. Takes `more` publications before the last.
    struct FakeArena {
        away: u32,
        denied: u32,
        others: u32,
        more: u32,
        run: Option<RunId>,
        refused: Option<u32>,
        newer: Option<Arc<WeightsSnapshot>>,
        snapshots: watch::Sender<Option<Arc<WeightsSnapshot>>>,
        offers: Arc<Mutex<Vec<u32>>>,
        /// Connections that were replaced.
        replaced: Arc<AtomicU32>,
    }

    impl FakeArena {
        /// Checks the credential of a call.
        fn admit(&mut self) -> Result<(), ArenaError> {
            if self.denied == 0 {
                return Ok(());
            }
            self.denied -= 1;
            Err(Status::new(Code::Unauthenticated, "this certificate has expired").into())
        }
    }

    impl PublishTarget for FakeArena {
        async fn arena_run(&mut self) -> Result<ArenaRun, ArenaError> {
            self.admit()?;
            if self.others > 0 {
                self.others -= 1;
                return Ok(ArenaRun { run: Some(RunId::of(b"other")), newest: None });
            }
            if self.away == 0 {
                let known = ArenaRun { run: self.run, newest: Some(Generation(3)) };
                return self.refused.map_or(Ok(known), |_| Err(refusal()));
            }
            self.away -= 1;
            Err(ArenaError::Unavailable("not yet".into()))
        }

        async fn publish_snapshot(&mut self, snapshot: &WeightsSnapshot) -> Result<(), ArenaError> {
            self.admit()?;
            assert_eq!(self.others, 0, "the arena is of another run");
            self.offers.lock().unwrap().push(snapshot.generation.0);
            if self.refused == Some(snapshot.generation.0) {
                return Err(refusal());
            }
            if self.more > 0 {
                self.more -= 1;
                return Ok(());
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

        fn replace_connection(&mut self) {
            self.replaced.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn snapshot(generation: u32) -> Arc<WeightsSnapshot> {
        let generation = Generation(generation);
        Arc::new(WeightsSnapshot { generation, step: 0, file: Bytes::new(), parent: None })
    }

    fn refusal() -> ArenaError {
        Status::new(Code::AlreadyExists, "taken").into()
    }

    fn fake(away: u32, refused: Option<u32>) -> FakeArena {
        let snapshots = watch::Sender::new(Some(snapshot(0)));
        FakeArena {
            away,
            denied: 0,
            others: 0,
            more: 0,
            run: None,
            refused,
            newer: None,
            snapshots,
            offers: Arc::default(),
            replaced: Arc::default(),
        }
    }

    async fn offers(away: u32, newer: Option<Arc<WeightsSnapshot>>) -> Vec<u32> {
        let fake = FakeArena { newer, ..fake(away, None) };
        let (offers, receiver) = (Arc::clone(&fake.offers), fake.snapshots.subscribe());
        let publisher = Publisher::new(fake, Backoff::none());
        let delivery = watch::Sender::default();
        let delivered = delivery.subscribe();
        publisher.publish(receiver, delivery).await.expect("nothing is refused");
        let newest = offers.lock().unwrap().last().copied().map(Generation);
        assert_eq!(*delivered.borrow(), Delivery { newest, error: None });
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
        let delivery = watch::Sender::default();
        let delivered = delivery.subscribe();
        let refused = Publisher::new(fake, Backoff::none()).publish(receiver, delivery).await;
        let error = Some(ArenaError::Unavailable("not yet".into()).to_string());
        assert_eq!(*delivered.borrow(), Delivery { newest: None, error });
        assert!(matches!(refused, Err(ArenaError::Refused { code: Code::AlreadyExists, .. })));
        assert_eq!(*offers.lock().unwrap(), [0, 1]);
    }

    #[tokio::test]
    async fn a_generation_that_the_arena_lost_is_published_again() {
        let fake = FakeArena { more: 1, ..fake(0, None) };
        let (offers, receiver) = (Arc::clone(&fake.offers), fake.snapshots.subscribe());
        let delivery = watch::Sender::<Delivery>::default();
        let mut delivered = delivery.subscribe();
        let publisher = Publisher::new(fake, Backoff::none());
        let publishing = tokio::spawn(publisher.publish(receiver, delivery.clone()));
        let is_there = |delivery: &Delivery| delivery.newest == Some(Generation(0));
        drop(delivered.wait_for(is_there).await.expect("it is published"));
        delivery.send_replace(Delivery::default());
        publishing.await.expect("no panic").expect("nothing is refused");
        assert_eq!(*offers.lock().unwrap(), [0, 0]);
        assert_eq!(delivered.borrow().newest, Some(Generation(0)));
    }

    #[tokio::test]
    async fn an_arena_of_another_run_gets_no_weights() {
        let fake = FakeArena { run: Some(RunId::of(b"own")), ..fake(0, None) };
        let (offers, receiver) = (Arc::clone(&fake.offers), fake.snapshots.subscribe());
        let mut publisher = Publisher::new(fake, Backoff::none());
        publisher.arena_run(|_| ()).await.expect("an answer");
        // It takes the place of the first for a while.
        publisher.target.others = 3;
        let published = publisher.publish(receiver, watch::Sender::default()).await;
        published.expect("the first arena takes the weights");
        assert_eq!(*offers.lock().unwrap(), [0]);
    }

    #[tokio::test]
    async fn an_arena_that_lost_generations_gets_none_before_the_loss_is_known() {
        // Its newest generation is 3.
        let fake = FakeArena { run: Some(RunId::of(b"own")), ..fake(0, None) };
        let (offers, receiver) = (Arc::clone(&fake.offers), fake.snapshots.subscribe());
        let mut publisher = Publisher::new(fake, Backoff::default());
        publisher.arena_run(|_| ()).await.expect("an answer");
        publisher.accepted = Some(Generation(5));
        let confirmed = |generation| Delivery { newest: Some(Generation(generation)), error: None };
        let delivery = watch::Sender::new(confirmed(5));
        let mut delivered = delivery.subscribe();
        let publishing = tokio::spawn(publisher.publish(receiver, delivery.clone()));
        let failed = delivered.wait_for(|delivery| delivery.error.is_some()).await;
        let error = failed.expect("the publisher runs").error.clone().unwrap_or_default();
        assert!(error.contains("it lacks generation-5, which it had accepted"), "{error}");
        assert!(offers.lock().unwrap().is_empty());
        delivery.send_replace(confirmed(3));
        publishing.await.expect("no panic").expect("nothing is refused");
        assert_eq!(*offers.lock().unwrap(), [0]);
    }

    #[tokio::test]
    async fn a_refused_credential_is_presented_again_over_a_new_connection() {
        let fake = FakeArena { denied: 2, ..fake(0, None) };
        let (replaced, receiver) = (Arc::clone(&fake.replaced), fake.snapshots.subscribe());
        let mut publisher = Publisher::new(fake, Backoff::none());
        publisher.arena_run(|_| ()).await.expect("it is accepted the third time");
        publisher.target.denied = 1;
        let published = publisher.publish(receiver, watch::Sender::default()).await;
        published.expect("it is accepted the second time");
        assert_eq!(replaced.load(Ordering::Relaxed), 3);
    }

    #[tokio::test]
    async fn a_credential_that_stays_refused_ends_the_publisher() {
        let fake = FakeArena { denied: 1, ..fake(0, None) };
        let receiver = fake.snapshots.subscribe();
        let refusals = Refusals::new(Duration::ZERO);
        let publisher = Publisher { refusals, ..Publisher::new(fake, Backoff::none()) };
        let ended = publisher.publish(receiver, watch::Sender::default()).await;
        assert!(matches!(ended, Err(ArenaError::Refused { code: Code::Unauthenticated, .. })));
    }

    #[tokio::test]
    async fn the_arena_is_asked_what_it_has_until_it_answers() {
        let mut failures = 0;
        let mut publisher = Publisher::new(fake(3, None), Backoff::none());
        let known = publisher.arena_run(|_| failures += 1).await;
        assert_eq!((known.expect("an answer").newest, failures), (Some(Generation(3)), 3));
        let mut publisher = Publisher::new(fake(1, Some(0)), Backoff::none());
        let refused = publisher.arena_run(|_| ()).await;
        assert!(matches!(refused, Err(ArenaError::Refused { .. })));
    }
}
