//! Arenas that are replaced while the learner runs.

use std::collections::BTreeMap;
use std::sync::Mutex;

use ouro_net::{Generation, RunId};
use ouro_proto::arena::v1::pool_service_server::PoolServiceServer;
use ouro_testkit::server::{self, Served};

use super::arena::{FakeArena, FakePool, Publication, until};
use super::*;

/// A learner without new games, and the arena that has all its generations.
struct Trained {
    running: Running,
    actor: Actor,
    /// Number of the actor's last game.
    sequence: u64,
    pool: Arc<Mutex<FakePool>>,
    /// The last generation.
    last: u32,
    _arena: Served,
    _folder: tempfile::TempDir,
}

impl Trained {
    /// Trains until there are a few generations.
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let answer = Publication::Take { newest: Arc::default(), away: Arc::default() };
        let arena = FakeArena::new(None, answer);
        let pool = Arc::clone(&arena.pool);
        let arena = server::serve(PoolServiceServer::new(arena)).await;
        let mut config = config();
        config.arena = Some(arena.url.clone());
        config.training_states.directory = folder.path().into();
        let (batch, steps) = (config.train.batch_moves as u64, config.training_states.every_steps);
        let running = Running::start(config).await;
        let mut actor = Actor::connect(running.address, Actor::hello(None)).await.unwrap();
        actor.answer().await.unwrap();
        let (_arena, _folder) = (arena, folder);
        let mut trained = Self { running, actor, sequence: 0, pool, last: 0, _arena, _folder };
        while trained.running.progress.get().generation < Generation(4) {
            trained.send().await;
            let sequence = trained.sequence;
            while !matches!(
                trained.actor.answer().await,
                Ok(Some(Answer::Ack(wire::Ack { watermark, .. }))) if watermark >= sequence
            ) {}
        }
        // Each position is used once, so the games make this many steps.
        let is_idle = |status: &LearnerStatus| {
            status.step == status.moves / batch
                && u64::from(status.generation.0) == status.step / steps
        };
        trained.last = until(&trained.running, is_idle).await.generation.0;
        until(&trained.running, |_| trained.newest() == Some(trained.last)).await;
        trained
    }

    /// Sends a game of the newest weights.
    async fn send(&mut self) {
        self.sequence += 1;
        let mut game = random_game(self.sequence);
        let newest = self.running.progress.generation();
        game.seats.iter_mut().for_each(|seat| seat.generation = Some(newest));
        self.actor.send(to_wire(self.sequence, &game)).await;
    }

    /// The newest generation of the arena.
    fn newest(&self) -> Option<u32> {
        self.pool.lock().unwrap().newest
    }

    /// The error with which the learner ends, and the newest generation of the arena then.
    async fn end(self) -> (LearnerError, Option<u32>) {
        let ended = tokio::time::timeout(Duration::from_secs(60), self.running.task).await;
        let error = ended.expect("it ends").expect("no panic").expect_err("an error");
        let newest = self.pool.lock().unwrap().newest;
        (error, newest)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn generations_that_the_arena_lost_are_published_again() {
    let trained = Trained::start().await;
    let last = trained.last;
    for lost in [1, 2] {
        trained.pool.lock().unwrap().newest = Some(last - lost);
        until(&trained.running, |_| trained.newest() == Some(last)).await;
    }
    let Trained { running, actor, .. } = trained;
    drop(actor);
    assert_eq!(running.stop().await.conditions.describe(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_arena_of_an_earlier_time_ends_a_running_learner_as_it_would_end_a_start() {
    let trained = Trained::start().await;
    let earlier = Some(trained.last - 3);
    trained.pool.lock().unwrap().newest = earlier;
    let (error, newest) = trained.end().await;
    assert!(matches!(error, LearnerError::ArenaBehind { .. }), "{error}");
    assert_eq!(newest, earlier, "it got no weights");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_arena_of_another_run_ends_a_running_learner_and_gets_no_weights() {
    let mut trained = Trained::start().await;
    let other = FakePool { newest: None, run: RunId::of(b"other"), parents: BTreeMap::new() };
    *trained.pool.lock().unwrap() = other;
    // Enough for another generation.
    for _ in 0..10 {
        trained.send().await;
    }
    let (error, newest) = trained.end().await;
    assert!(matches!(error, LearnerError::OtherArena { .. }), "{error}");
    assert_eq!(newest, None);
}
