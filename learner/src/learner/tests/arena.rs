//! A learner and a fake arena.

use ouro_net::ContentHash;
use ouro_proto::arena::v1;
use ouro_proto::arena::v1::pool_service_server::{PoolService, PoolServiceServer};
use ouro_testkit::server::{self, Served};
use tonic::{Request, Response};

use super::*;

/// An arena that reports one newest generation, if any, and refuses every published one.
struct FakeArena {
    newest: Option<u32>,
}

#[tonic::async_trait]
impl PoolService for FakeArena {
    type WatchPoolStream = tokio_stream::Once<Result<v1::WatchPoolResponse, Status>>;

    async fn watch_pool(
        &self,
        _: Request<v1::WatchPoolRequest>,
    ) -> Result<Response<Self::WatchPoolStream>, Status> {
        let newest = self.newest.map(|generation| v1::Checkpoint {
            hash: ContentHash::of(b"").to_string(),
            generation,
            status: v1::CheckpointStatus::Candidate.into(),
            ..v1::Checkpoint::default()
        });
        let pool = v1::WatchPoolResponse { newest, ..v1::WatchPoolResponse::default() };
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
        _: Request<Streaming<v1::PublishCheckpointRequest>>,
    ) -> Result<Response<v1::PublishCheckpointResponse>, Status> {
        Err(Status::already_exists("another file has this generation"))
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
    let server = server::serve(PoolServiceServer::new(FakeArena { newest })).await;
    let mut config = config();
    config.arena = Some(server.url.clone());
    config.checkpoint.directory = directory.into();
    (config, server)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_learner_behind_the_arena_accepts_its_games_and_continues_from_its_generation() {
    let directory = tempfile::tempdir().unwrap();
    let (config, _arena) = serve(Some(3), directory.path()).await;
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
