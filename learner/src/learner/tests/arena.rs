//! A learner and a fake arena.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ouro_net::{ContentHash, Generation, RunId, Weights, WeightsMeta};
use ouro_proto::arena::v1;
use ouro_proto::arena::v1::pool_service_server::{PoolService, PoolServiceServer};
use ouro_testkit::server::{self, Served};
use tonic::{Request, Response};

use super::*;
use crate::config::TrainingStateConfig;

/// What a fake arena holds. Tests change it while the arena is served.
pub(super) struct FakePool {
    pub(super) newest: Option<u32>,
    pub(super) run: RunId,
    /// Published generations with their announced parents.
    pub(super) parents: BTreeMap<u32, Option<u32>>,
}

/// An arena without weights. Each stream of its pool has one snapshot.
pub(super) struct FakeArena {
    pub(super) pool: Arc<Mutex<FakePool>>,
    answer: Publication,
}

impl FakeArena {
    /// An arena with this newest generation, if any.
    pub(super) fn new(newest: Option<u32>, answer: Publication) -> Self {
        let pool = FakePool { newest, run: RunId::of(b"run"), parents: BTreeMap::new() };
        Self { pool: Arc::new(Mutex::new(pool)), answer }
    }
}

/// What the arena does with published weights.
#[derive(Clone)]
pub(super) enum Publication {
    Refuse,
    /// Takes them and keeps the newest generation, unless it is `away`.
    Take {
        newest: Arc<AtomicU32>,
        away: Arc<AtomicBool>,
    },
}

#[tonic::async_trait]
impl PoolService for FakeArena {
    type WatchPoolStream = tokio_stream::Once<Result<v1::WatchPoolResponse, Status>>;

    async fn watch_pool(
        &self,
        _: Request<v1::WatchPoolRequest>,
    ) -> Result<Response<Self::WatchPoolStream>, Status> {
        let pool = self.pool.lock().unwrap();
        let newest = pool.newest.map(|generation| v1::Checkpoint {
            hash: ContentHash::of(b"").to_string(),
            generation,
            status: v1::CheckpointStatus::Candidate.into(),
            ..v1::Checkpoint::default()
        });
        let run = pool.run.to_string();
        let pool = v1::WatchPoolResponse { newest, run, ..v1::WatchPoolResponse::default() };
        Ok(Response::new(tokio_stream::once(Ok(pool))))
    }

    async fn draw_opponents(
        &self,
        _: Request<v1::DrawOpponentsRequest>,
    ) -> Result<Response<v1::DrawOpponentsResponse>, Status> {
        Err(Status::unimplemented("the learner does not call this"))
    }

    async fn publish_checkpoint(
        &self,
        request: Request<Streaming<v1::PublishCheckpointRequest>>,
    ) -> Result<Response<v1::PublishCheckpointResponse>, Status> {
        use v1::publish_checkpoint_request::Part;
        let Publication::Take { newest, away } = &self.answer else {
            return Err(Status::already_exists("another file has this generation"));
        };
        if away.load(Ordering::Relaxed) {
            return Err(Status::unavailable("the arena is away"));
        }
        let mut parts = request.into_inner();
        let (mut checkpoint, mut announced) = (v1::Checkpoint::default(), None);
        while let Some(part) = parts.message().await? {
            if let Some(Part::Header(header)) = part.part {
                let v1::PublishHeader { hash, generation, parent, .. } = header;
                announced = parent;
                let status = v1::CheckpointStatus::Candidate.into();
                checkpoint = v1::Checkpoint { hash, generation, status, ..checkpoint };
            }
        }
        newest.store(checkpoint.generation, Ordering::Relaxed);
        let mut pool = self.pool.lock().unwrap();
        pool.newest = pool.newest.max(Some(checkpoint.generation));
        pool.parents.insert(checkpoint.generation, announced);
        Ok(Response::new(v1::PublishCheckpointResponse { checkpoint: Some(checkpoint) }))
    }

    type FetchCheckpointStream = ReceiverStream<Result<v1::FetchCheckpointResponse, Status>>;

    async fn fetch_checkpoint(
        &self,
        _: Request<v1::FetchCheckpointRequest>,
    ) -> Result<Response<Self::FetchCheckpointStream>, Status> {
        Err(Status::unimplemented("the learner does not call this"))
    }
}

/// Serves a fake arena. Returns a configuration with its address.
async fn serve(newest: Option<u32>, directory: &std::path::Path) -> (Config, Served) {
    let arena = FakeArena::new(newest, Publication::Refuse);
    let server = server::serve(PoolServiceServer::new(arena)).await;
    let mut config = config();
    config.arena = Some(server.url.clone());
    config.training_states.directory = directory.into();
    (config, server)
}

/// Makes the folder of a learner that has run before.
fn make_folder(config: &Config) {
    let rules = crate::rules::rules(config).unwrap();
    let (mut resumed, ..) = start::resume(config, &*rules).unwrap();
    resumed.join(ArenaRun::default(), &config.training_states.directory).unwrap();
}

/// Saves a training state of this generation, as training does before the arena has it.
pub(super) fn save_generation(resumed: &mut ResumedRun, generation: u32) {
    let (weights, step) = (&resumed.training_state.weights, generation.into());
    let generation = Generation(generation);
    let meta = WeightsMeta { generation, step, ..weights.meta().clone() };
    let (spec, tensors) = (weights.spec().clone(), weights.tensors().to_vec());
    resumed.training_state.weights = Weights::from_tensors(spec, meta, tensors).unwrap();
    resumed.store.save(&resumed.training_state).unwrap();
    resumed.taken = resumed.taken.max(generation);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_folder_beside_an_arena_with_generations_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (config, _arena) = serve(Some(3), directory.path()).await;
    let ended = Running::start(config).await.task.await.expect("no panic");
    let error = ended.expect_err("a refusal");
    assert!(matches!(error, LearnerError::LearnerLost { .. }), "{error}");
    assert!(error.to_string().contains("the arena holds generation-3"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_folder_of_a_learner_joins_one_run_and_no_earlier_time_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let config = Config {
        training_states: TrainingStateConfig {
            directory: directory.path().into(),
            ..config().training_states
        },
        ..config()
    };
    let rules = crate::rules::rules(&config).unwrap();
    let (mut resumed, ..) = start::resume(&config, &*rules).unwrap();
    let [first, second] = [b"a", b"b"].map(|seed| Some(RunId::of(seed)));
    // Joins after it has saved the generations up to `own`.
    let mut join = |run, newest: Option<u32>, own: u32| {
        (resumed.taken.0 + 1..=own).for_each(|next| save_generation(&mut resumed, next));
        let newest = newest.map(Generation);
        resumed.join(ArenaRun { run, newest }, directory.path())
    };
    assert!(matches!(join(first, Some(3), 0), Err(LearnerError::LearnerLost { .. })));
    join(first, None, 0).expect("the first run names the folder");
    join(first, Some(7), 5).expect("the arena may be ahead");
    join(first, Some(5), 7).expect("the last generations may be unpublished");
    assert!(matches!(join(second, Some(7), 7), Err(LearnerError::OtherArena { .. })));
    for newest in [None, Some(4)] {
        let error = join(first, newest, 7).unwrap_err();
        assert!(matches!(error, LearnerError::ArenaBehind { .. }), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_learner_behind_the_arena_accepts_its_games_and_continues_from_its_generation() {
    let directory = tempfile::tempdir().unwrap();
    let (config, _arena) = serve(Some(3), directory.path()).await;
    make_folder(&config);
    let running = Running::start(config).await;
    let mut actor = Actor::connect(running.address, Actor::hello(None)).await.unwrap();
    actor.answer().await.unwrap();
    let mut newest = random_game(1);
    for seat in &mut newest.seats {
        seat.generation = Some(ouro_net::Generation(3));
    }
    let answer = actor.push(to_wire(1, &newest)).await;
    assert_eq!(answer, accepted(1));
    drop(actor);
    // The learner did not publish its own generation 0: the arena would have refused it.
    assert_eq!(running.stop().await.generation, ouro_net::Generation(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_learner_whose_weights_are_refused_ends_with_that_error() {
    let directory = tempfile::tempdir().unwrap();
    let (config, _arena) = serve(None, directory.path()).await;
    let running = Running::start(config).await;
    let ended = running.task.await.expect("no panic");
    let refused = LearnerError::Arena(ArenaError::Refused {
        code: Code::AlreadyExists,
        message: "another file has this generation".into(),
    });
    assert_eq!(ended.expect_err("a refusal").to_string(), refused.to_string());
}

/// Waits until the status of a learner fulfils `is_reached`.
pub(super) async fn until(
    running: &Running,
    is_reached: impl Fn(&LearnerStatus) -> bool,
) -> LearnerStatus {
    let reached = async {
        loop {
            let status = running.progress.get();
            if is_reached(&status) {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let reached = tokio::time::timeout(Duration::from_secs(60), reached).await;
    reached.unwrap_or_else(|_| panic!("{:?}", running.progress.get()))
}

#[tokio::test(flavor = "multi_thread")]
async fn training_pauses_while_the_arena_takes_no_weights_and_no_game_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (newest, away) = (Arc::<AtomicU32>::default(), Arc::new(AtomicBool::new(false)));
    let answer = Publication::Take { newest: Arc::clone(&newest), away: Arc::clone(&away) };
    let arena = PoolServiceServer::new(FakeArena::new(None, answer));
    let arena = server::serve(arena).await;
    let mut config = config();
    config.arena = Some(arena.url.clone());
    config.training_states.directory = directory.path().into();
    config.intake.max_staleness = 2;
    let running = Running::start(config).await;
    let mut actor = Actor::connect(running.address, Actor::hello(None)).await.unwrap();
    actor.answer().await.unwrap();
    // An actor that plays the newest weights of the arena, as fast as games are taken.
    let played = Arc::clone(&newest);
    let playing = tokio::spawn(async move {
        for sequence in 1.. {
            let mut game = random_game(sequence);
            for seat in &mut game.seats {
                seat.generation = Some(Generation(played.load(Ordering::Relaxed)));
            }
            actor.send(to_wire(sequence, &game)).await;
            while !matches!(
                actor.answer().await,
                Ok(Some(Answer::Ack(wire::Ack { watermark, .. }))) if watermark >= sequence
            ) {}
        }
    });

    until(&running, |status| status.generation >= Generation(2)).await;
    away.store(true, Ordering::Relaxed);
    let paused = until(&running, |status| status.conditions.describe().is_some()).await;
    let condition = paused.conditions.describe().unwrap();
    assert!(condition.contains("the arena is away"), "{condition}");
    let published = newest.load(Ordering::Relaxed);
    assert!(paused.generation.0 <= published + 1, "{:?} > {published} + 1", paused.generation);

    away.store(false, Ordering::Relaxed);
    let later = Generation(published + 4);
    let resumed = until(&running, |status| status.generation >= later).await;
    assert_eq!(resumed.conditions.describe(), None);
    assert!(resumed.refused.is_empty(), "{:?}", resumed.refused);
    playing.abort();
    running.stop().await;
}

/// The sequence number of the last game that the learner has, from its first message.
async fn welcome(actor: &mut Actor) -> u64 {
    let Some(Answer::Welcome(welcome)) = actor.answer().await.unwrap() else { panic!("welcome") };
    welcome.watermark
}

#[tokio::test(flavor = "multi_thread")]
async fn restarts_while_the_arena_takes_no_weights_are_not_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (newest, away) = (Arc::<AtomicU32>::default(), Arc::new(AtomicBool::new(true)));
    let answer = Publication::Take { newest: Arc::clone(&newest), away: Arc::clone(&away) };
    let arena = server::serve(PoolServiceServer::new(FakeArena::new(None, answer))).await;
    let mut config = config();
    config.arena = Some(arena.url.clone());
    config.training_states.directory = directory.path().into();
    config.training_states.publish_grace_ms = 0;
    config.intake.max_staleness = 1_000;
    let mut epoch = None;
    let mut generations = Vec::new();
    for _ in 0..5 {
        let running = Running::start(config.clone()).await;
        let mut actor = Actor::connect(running.address, Actor::hello(epoch)).await.unwrap();
        // A game without an acknowledgement is sent again.
        let mut sequence = welcome(&mut actor).await;
        epoch = Some(1);
        // Each time, training takes at least one step, and makes a generation if it may. It accepts no
        // game while it waits for the arena, also if it took the step before this line.
        let before = running.progress.get().step;
        let has_trained =
            |status: &LearnerStatus| status.step > before || status.conditions.describe().is_some();
        while !has_trained(&running.progress.get()) {
            sequence += 1;
            actor.send(message(sequence)).await;
            tokio::select! {
                answer = actor.answer() => drop(answer.expect("no status")),
                _ = until(&running, has_trained) => {}
            }
        }
        drop(actor);
        generations.push(running.stop().await.generation.0);
    }
    assert_eq!(generations[1..], [2; 4], "{generations:?}");

    // Once the arena takes weights, training continues.
    away.store(false, Ordering::Relaxed);
    let running = Running::start(config).await;
    let mut actor = Actor::connect(running.address, Actor::hello(epoch)).await.unwrap();
    let mut sequence = welcome(&mut actor).await;
    while running.progress.get().generation < Generation(4) {
        sequence += 1;
        actor.send(message(sequence)).await;
        actor.answer().await.expect("no status");
    }
    drop(actor);
    running.stop().await;
    assert!(newest.load(Ordering::Relaxed) >= 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_learner_without_its_arena_answers_and_welcomes_actors_once_the_arena_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind(server::free_port()).unwrap();
    let address = port.local_addr().unwrap();
    drop(port);
    let mut config = config();
    config.arena = Some(format!("http://{address}"));
    config.training_states.directory = directory.path().into();
    make_folder(&config);
    let running = Running::start(config).await;
    until(&running, |status| status.conditions.describe().is_some()).await;
    let learner = format!("http://{}", running.address);
    let mut client = LearnerServiceClient::connect(learner).await.unwrap();
    let status = client.get_status(wire::GetStatusRequest {}).await.unwrap().into_inner();
    assert!(status.condition.contains("arena"), "{status:?}");

    let connecting = tokio::spawn(Actor::connect(running.address, Actor::hello(None)));
    let answer = Publication::Take { newest: Arc::default(), away: Arc::default() };
    let server = ouro_service::GrpcServer::bind(address, Limits::default()).await.unwrap();
    let arena = FakeArena::new(Some(7), answer);
    let _arena = server::start(server.add_service(PoolServiceServer::new(arena), &[]));
    let mut actor = connecting.await.unwrap().unwrap();
    let Some(Answer::Welcome(welcome)) = actor.answer().await.unwrap() else { panic!("welcome") };
    assert_eq!(welcome.newest_generation, 7);
    drop(actor);
    assert_eq!(running.stop().await.conditions.describe(), None);
}
