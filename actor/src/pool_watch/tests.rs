//! The watch against an arena over loopback whose files the test holds.

use std::pin::Pin;
use std::sync::Mutex;

use ouro_proto::arena::v1;
use ouro_proto::arena::v1::pool_service_server::{PoolService, PoolServiceServer};
use ouro_proto::{CheckpointStatus, Generation};
use tokio::sync::Notify;
use tonic::{Request, Response, Status, Streaming};

use super::*;
use crate::testing;

type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;
type Chunks =
    Pin<Box<dyn tokio_stream::Stream<Item = Result<v1::FetchCheckpointResponse, Status>> + Send>>;

/// An arena with a pool and some of its files.
#[derive(Default)]
struct Offered {
    pool: v1::WatchPoolResponse,
    files: Files,
    /// If set: told of each download, which then never begins.
    hangs: Option<Arc<Notify>>,
}

#[tonic::async_trait]
impl PoolService for Offered {
    type FetchCheckpointStream = Chunks;
    type WatchPoolStream = tokio_stream::Once<Result<v1::WatchPoolResponse, Status>>;

    async fn watch_pool(
        &self,
        _: Request<v1::WatchPoolRequest>,
    ) -> Result<Response<Self::WatchPoolStream>, Status> {
        Ok(Response::new(tokio_stream::once(Ok(self.pool.clone()))))
    }

    async fn fetch_checkpoint(
        &self,
        request: Request<v1::FetchCheckpointRequest>,
    ) -> Result<Response<Chunks>, Status> {
        if let Some(asked) = &self.hangs {
            asked.notify_one();
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
        _: Request<Streaming<v1::PublishCheckpointRequest>>,
    ) -> Result<Response<v1::PublishCheckpointResponse>, Status> {
        Err(Status::unimplemented("no actor publishes"))
    }
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

fn member(generation: u32, file: &[u8]) -> v1::PoolMember {
    v1::PoolMember { checkpoint: Some(checkpoint(generation, file)), newest_wins: None }
}

fn file(generation: u32) -> Vec<u8> {
    testing::weights(generation).to_safetensors()
}

fn add(files: &Files, file: Vec<u8>) {
    files.lock().unwrap().insert(ContentHash::of(&file).to_string(), file);
}

fn pool(roster: &Roster) -> Vec<u32> {
    roster.pool.iter().map(|member| member.entry.generation).collect()
}

#[tokio::test]
async fn a_member_of_the_pool_that_cannot_be_had_is_left_out_until_it_can() {
    let garbage = b"no weights".to_vec();
    let members = [(0, file(0)), (1, file(1)), (2, garbage.clone())];
    let offered = v1::WatchPoolResponse {
        newest: Some(checkpoint(3, &file(3))),
        members: members.iter().map(|(generation, file)| member(*generation, file)).collect(),
        ..v1::WatchPoolResponse::default()
    };
    let files = Files::default();
    let arena = Offered { pool: offered, files: files.clone(), hangs: None };
    let (url, _server) = testing::serve(PoolServiceServer::new(arena)).await;
    let (mut arena, mut loaded, mut last) =
        (ArenaClient::new(&url).unwrap(), Loaded::default(), None);

    // The newest has to be there.
    assert!(matches!(refresh(&mut arena, &mut loaded, &mut last).await, Err(LoadError::Arena(_))));
    for file in [file(0), file(3), garbage] {
        add(&files, file);
    }
    let first = refresh(&mut arena, &mut loaded, &mut last).await.unwrap();
    let roster = first.roster.unwrap();
    assert_eq!((roster.newest.generation, pool(&roster), first.missing), (3, vec![0], 2));
    let again = refresh(&mut arena, &mut loaded, &mut last).await.unwrap();
    assert!(again.roster.is_none() && again.missing == 2);
    add(&files, file(1));
    let healed = refresh(&mut arena, &mut loaded, &mut last).await.unwrap();
    assert_eq!((pool(&healed.roster.unwrap()), healed.missing), (vec![0, 1], 1));
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_download_that_hangs() {
    let asked = Arc::new(Notify::new());
    let newest = Some(checkpoint(0, &file(0)));
    let offered = v1::WatchPoolResponse { newest, ..v1::WatchPoolResponse::default() };
    let arena = Offered { pool: offered, files: Files::default(), hangs: Some(asked.clone()) };
    let (url, _server) = testing::serve(PoolServiceServer::new(arena)).await;
    let (rosters, roster) = watch::channel(None);
    let stop = CancellationToken::new();
    let arena = ArenaClient::new(&url).unwrap();
    let watcher = tokio::spawn(watch_pool(arena, rosters, Arc::default(), stop.clone()));
    asked.notified().await;
    stop.cancel();
    // The arena still holds the call, and would for ever.
    watcher.await.unwrap();
    assert!(roster.borrow().is_none());
}
