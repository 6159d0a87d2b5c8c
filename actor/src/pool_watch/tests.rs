//! The pool watcher and a scripted arena over loopback.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::SystemTime;

use ouro_game::Game;
use ouro_net::Generation;
use ouro_proto::arena::v1;
use ouro_proto::arena::v1::pool_service_server::{PoolService, PoolServiceServer};
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_testkit::server::Served;
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Status, Streaming};

use super::*;
use crate::Cache;
use crate::testing;

type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;
type Chunks =
    Pin<Box<dyn tokio_stream::Stream<Item = Result<v1::FetchCheckpointResponse, Status>> + Send>>;
type Snapshots = mpsc::Sender<Result<v1::WatchPoolResponse, Status>>;

/// Time after which refusals are final, shorter than the delay before the second one.
const PATIENCE: Duration = Duration::from_millis(100);

/// An arena that passes every stream to the test and serves some files.
struct Offered {
    streams: mpsc::Sender<Snapshots>,
    files: Files,
    /// Receives each published file.
    returned: mpsc::Sender<Vec<u8>>,
    /// Notified of each download. With `hangs`, a download never starts.
    asked: Arc<Notify>,
    hangs: bool,
}

#[tonic::async_trait]
impl PoolService for Offered {
    type FetchCheckpointStream = Chunks;
    type WatchPoolStream = ReceiverStream<Result<v1::WatchPoolResponse, Status>>;

    async fn watch_pool(
        &self,
        _: Request<v1::WatchPoolRequest>,
    ) -> Result<Response<Self::WatchPoolStream>, Status> {
        let (snapshots, receiver) = mpsc::channel(8);
        self.streams.send(snapshots).await.map_err(|_| Status::unavailable("the test is over"))?;
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn fetch_checkpoint(
        &self,
        request: Request<v1::FetchCheckpointRequest>,
    ) -> Result<Response<Chunks>, Status> {
        self.asked.notify_one();
        if self.hangs {
            std::future::pending::<()>().await;
        }
        let file = self.files.lock().unwrap().get(&request.get_ref().hash).cloned();
        let chunk = file.ok_or_else(|| Status::not_found("no such file"))?.into();
        Ok(Response::new(Box::pin(tokio_stream::once(Ok(v1::FetchCheckpointResponse { chunk })))))
    }

    async fn draw_opponents(
        &self,
        _: Request<v1::DrawOpponentsRequest>,
    ) -> Result<Response<v1::DrawOpponentsResponse>, Status> {
        Err(Status::unimplemented("no actor asks"))
    }

    async fn publish_checkpoint(
        &self,
        request: Request<Streaming<v1::PublishCheckpointRequest>>,
    ) -> Result<Response<v1::PublishCheckpointResponse>, Status> {
        use v1::publish_checkpoint_request::Part;
        let (mut parts, mut file) = (request.into_inner(), Vec::new());
        while let Some(part) = parts.message().await? {
            if let Some(Part::Chunk(chunk)) = part.part {
                file.extend(chunk);
            }
        }
        self.returned.send(file.clone()).await.map_err(|_| Status::unavailable("it is over"))?;
        let checkpoint = Some(checkpoint(1, &file));
        Ok(Response::new(v1::PublishCheckpointResponse { checkpoint }))
    }
}

struct Running {
    streams: mpsc::Receiver<Snapshots>,
    files: Files,
    returned: mpsc::Receiver<Vec<u8>>,
    asked: Arc<Notify>,
    roster: watch::Receiver<Option<Arc<Roster>>>,
    hints: watch::Sender<Generation>,
    stop: CancellationToken,
    watcher: JoinHandle<Result<(), ActorError>>,
    _server: Served,
}

impl Running {
    async fn stream(&mut self) -> Snapshots {
        self.streams.recv().await.unwrap()
    }

    fn add(&self, file: Vec<u8>) {
        self.files.lock().unwrap().insert(ContentHash::of(&file).to_string(), file);
    }

    /// The next roster: the generations of its newest weights and of its pool.
    async fn next(&mut self) -> (u32, Vec<u32>) {
        self.roster.changed().await.unwrap();
        let roster = self.roster.borrow().clone().unwrap();
        let pool = roster.pool.iter().map(|member| member.entry.generation.0);
        (roster.newest.generation.0, pool.collect())
    }
}

/// A watcher of the arena at `url`.
fn watcher(url: &str, cache: Option<Arc<Cache>>) -> PoolWatcher {
    PoolWatcher {
        arena: ArenaClient::new(url).unwrap(),
        loader: Loader::new(testing::config(), cache),
        rosters: watch::Sender::default(),
        run: watch::Sender::default(),
        hints: watch::Sender::new(Generation(0)).subscribe(),
        counters: Arc::default(),
        refusals: Refusals::new(PATIENCE),
        stop: CancellationToken::new(),
    }
}

async fn start_with(cache: Option<Arc<Cache>>, hangs: bool) -> Running {
    let (sender, streams) = mpsc::channel(8);
    let (files, asked) = (Files::default(), Arc::new(Notify::new()));
    let (returns, returned) = mpsc::channel(8);
    let arena = Offered {
        streams: sender,
        files: files.clone(),
        returned: returns,
        asked: asked.clone(),
        hangs,
    };
    let server = ouro_testkit::server::serve(PoolServiceServer::new(arena)).await;
    let (rosters, roster) = watch::channel(None);
    let (hints, receiver) = watch::channel(Generation(0));
    let stop = CancellationToken::new();
    let stop_token = stop.clone();
    let watcher =
        PoolWatcher { rosters, hints: receiver, stop: stop_token, ..watcher(&server.url, cache) };
    let watcher = tokio::spawn(watcher.run());
    Running { streams, files, returned, asked, roster, hints, stop, watcher, _server: server }
}

async fn start() -> Running {
    start_with(None, false).await
}

fn checkpoint(generation: u32, file: &[u8]) -> v1::Checkpoint {
    (&Checkpoint {
        hash: ContentHash::of(file),
        generation: Generation(generation),
        step: 0,
        size_bytes: file.len() as u64,
        status: CheckpointStatus::Pool,
        published_at: 0.0,
        parent: None,
    })
        .into()
}

fn file(generation: u32) -> Vec<u8> {
    testing::weights(generation).to_safetensors()
}

fn snapshot(newest: u32, members: &[(u32, Vec<u8>)]) -> Result<v1::WatchPoolResponse, Status> {
    let member = |(generation, file): &(u32, Vec<u8>)| v1::PoolMember {
        checkpoint: Some(checkpoint(*generation, file)),
        newest_wins: Some(0.25),
    };
    Ok(v1::WatchPoolResponse {
        newest: Some(checkpoint(newest, &file(newest))),
        members: members.iter().map(member).collect(),
        ..v1::WatchPoolResponse::default()
    })
}

#[tokio::test]
async fn a_member_of_the_pool_that_cannot_be_had_is_left_out_until_it_can() {
    let mut running = start().await;
    let stream = running.stream().await;
    let garbage = b"no weights".to_vec();
    let members = [(0, file(0)), (1, file(1)), (2, garbage.clone())];
    for file in [file(0), file(3), garbage] {
        running.add(file);
    }
    stream.send(snapshot(3, &members)).await.unwrap();
    assert_eq!(running.next().await, (3, vec![0]));
    let estimate = running.roster.borrow().as_ref().unwrap().pool[0].newest_wins;
    assert_eq!(estimate, Some(0.25));
    // The watcher retries by itself, without a new snapshot.
    running.add(file(1));
    assert_eq!(running.next().await, (3, vec![0, 1]));
}

#[tokio::test]
async fn an_arena_of_another_run_ends_the_actor_and_changes_no_roster() {
    let mut running = start().await;
    [3, 4].iter().for_each(|&generation| running.add(file(generation)));
    let of_run = |seed: &[u8], newest| {
        let run = ouro_net::RunId::of(seed).to_string();
        Ok(v1::WatchPoolResponse { run, ..snapshot(newest, &[]).unwrap() })
    };
    for _ in 0..2 {
        let stream = running.stream().await;
        stream.send(of_run(b"first", 3)).await.unwrap();
        if running.roster.borrow().is_none() {
            assert_eq!(running.next().await, (3, vec![]));
        }
    }
    running.stream().await.send(of_run(b"second", 4)).await.unwrap();
    let ended = running.watcher.await.unwrap().unwrap_err();
    assert!(matches!(ended, ActorError::OtherRun { .. }), "{ended}");
    assert!(running.stop.is_cancelled());
    assert_eq!(running.roster.borrow().as_ref().unwrap().newest.generation, Generation(3));
}

#[tokio::test]
async fn a_refusal_of_the_arena_ends_the_actor_only_before_its_first_answer() {
    let refuses = || Err(Status::unauthenticated("this token is not valid here"));
    let Running { mut streams, stop, watcher, _server, .. } = start().await;
    let refusing = async {
        while let Some(stream) = streams.recv().await {
            // The watcher may have ended.
            let _ = stream.send(refuses()).await;
        }
    };
    let ended = tokio::select! {
        ended = watcher => ended.unwrap().unwrap_err(),
        () = refusing => panic!("the arena ends after the watcher"),
    };
    let expected = "the arena refuses this actor: this token is not valid here";
    assert_eq!(ended.to_string(), expected);
    assert!(stop.is_cancelled());

    let mut running = start().await;
    running.add(file(3));
    // A snapshot without weights is an answer too.
    let first = running.stream().await;
    first.send(Ok(v1::WatchPoolResponse::default())).await.unwrap();
    first.send(refuses()).await.unwrap();
    for _ in 0..2 {
        running.stream().await.send(refuses()).await.unwrap();
    }
    running.stream().await.send(snapshot(3, &[])).await.unwrap();
    assert_eq!(running.next().await, (3, vec![]));
    assert!(!running.stop.is_cancelled());
}

#[tokio::test]
async fn a_refused_credential_is_presented_again_over_a_new_connection() {
    let (sender, mut callers) = mpsc::channel(8);
    let refuse = move |request: Request<()>| -> Result<Request<()>, Status> {
        // The test may be over.
        let _ = sender.try_send(request.remote_addr());
        Err(Status::unauthenticated("this certificate has expired; connect with a new one"))
    };
    let unused = Offered {
        streams: mpsc::channel(1).0,
        files: Files::default(),
        returned: mpsc::channel(1).0,
        asked: Arc::default(),
        hangs: false,
    };
    let listener = TcpListener::bind(ouro_testkit::server::free_port()).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // With tonic's own server, an interceptor has the address of the caller.
    let service = PoolServiceServer::with_interceptor(unused, refuse);
    let server = tonic::transport::Server::builder().add_service(service);
    let serving = tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    let watching = tokio::spawn(watcher(&url, None).run());
    let [first, second] = [callers.recv().await.unwrap(), callers.recv().await.unwrap()];
    assert!(first.is_some() && first != second, "{first:?} {second:?}");
    watching.abort();
    serving.abort();
}

#[tokio::test]
async fn weights_that_the_arena_has_lost_are_returned_from_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let now = std::time::SystemTime::now();
    let cache = Cache::open(folder.path().to_owned(), 1 << 20, now).unwrap();
    cache.put(ContentHash::of(&file(1)), &file(1), now).unwrap();
    let mut running = start_with(Some(Arc::new(cache)), false).await;
    running.add(file(3));
    let stream = running.stream().await;
    let missing = [2, 1].map(|generation| checkpoint(generation, &file(generation))).into();
    let lost = v1::WatchPoolResponse { missing, ..snapshot(3, &[]).unwrap() };
    stream.send(Ok(lost)).await.unwrap();
    assert_eq!(running.returned.recv().await.unwrap(), file(1));
    assert_eq!(running.next().await, (3, vec![]));
}

#[tokio::test]
async fn the_last_roster_stays_while_the_arena_is_away() {
    let mut running = start().await;
    running.add(file(3));
    running.add(file(4));
    let first = running.stream().await;
    // Before the first publication there is no roster.
    first.send(Ok(v1::WatchPoolResponse::default())).await.unwrap();
    first.send(snapshot(3, &[])).await.unwrap();
    assert_eq!(running.next().await, (3, vec![]));
    drop(first);
    let second = running.stream().await;
    assert_eq!(running.roster.borrow().as_ref().unwrap().newest.generation, Generation(3));
    // The same snapshot sends no new roster; newer weights do.
    second.send(snapshot(3, &[])).await.unwrap();
    second.send(snapshot(4, &[(3, file(3))])).await.unwrap();
    assert_eq!(running.next().await, (4, vec![3]));
}

#[tokio::test]
async fn newest_weights_that_do_not_fit_the_game_leave_the_last_roster() {
    let mut running = start().await;
    let stream = running.stream().await;
    running.add(file(3));
    stream.send(snapshot(3, &[])).await.unwrap();
    assert_eq!(running.next().await, (3, vec![]));
    let rules = ouro_game::connect_four::Config::default();
    let other = ouro_game::connect_four::ConnectFour::new(rules).unwrap();
    let other = testing::weights_for(&other, 4).to_safetensors();
    running.add(other.clone());
    running.add(file(5));
    let newest = Some(checkpoint(4, &other));
    let misfit = v1::WatchPoolResponse { newest, ..v1::WatchPoolResponse::default() };
    stream.send(Ok(misfit)).await.unwrap();
    // The misfit is fetched and checked, but not used.
    stream.send(snapshot(5, &[(4, other)])).await.unwrap();
    assert_eq!(running.next().await, (5, vec![]));
}

#[tokio::test]
async fn a_newer_generation_that_the_learner_speaks_of_is_asked_for() {
    let mut running = start().await;
    running.add(file(3));
    running.add(file(4));
    let stream = running.stream().await;
    stream.send(snapshot(3, &[])).await.unwrap();
    assert_eq!(running.next().await, (3, vec![]));
    running.hints.send(Generation(4)).unwrap();
    // The first stream is still open but silent.
    let second = running.stream().await;
    second.send(snapshot(4, &[])).await.unwrap();
    assert_eq!(running.next().await, (4, vec![]));
}

#[tokio::test]
async fn a_restart_finds_its_weights_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    for has_files in [true, false] {
        let cache = Cache::open(folder.path().into(), 1 << 20, SystemTime::now()).unwrap();
        let mut running = start_with(Some(Arc::new(cache)), false).await;
        if has_files {
            running.add(file(3));
            running.add(file(1));
        }
        let stream = running.stream().await;
        stream.send(snapshot(3, &[(1, file(1))])).await.unwrap();
        assert_eq!(running.next().await, (3, vec![1]));
    }
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_download_that_hangs() {
    let mut running = start_with(None, true).await;
    let stream = running.stream().await;
    stream.send(snapshot(0, &[])).await.unwrap();
    running.asked.notified().await;
    running.stop.cancel();
    // The arena never answers the call, so the stop must abandon it.
    running.watcher.await.unwrap().unwrap();
    assert!(running.roster.borrow().is_none());
}
