//! A learner and a stand-in for the arena.

use ouro_net::ContentHash;
use ouro_proto::arena::v1;
use ouro_proto::arena::v1::pool_service_server::{PoolService, PoolServiceServer};
use tonic::{Request, Response};

use super::*;

/// Knows the weights of one generation, if any, and refuses all others.
struct Stand {
    newest: Option<u32>,
}

#[tonic::async_trait]
impl PoolService for Stand {
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
        Err(Status::unimplemented("nobody asks"))
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
        Err(Status::unimplemented("nobody asks"))
    }
}

/// A stand-in and a configuration that names it.
async fn stand(newest: Option<u32>, directory: &std::path::Path) -> (Config, CancellationToken) {
    let server = GrpcServer::bind(([127, 0, 0, 1], 0).into(), Limits::default());
    let server =
        server.await.expect("a free port").add_service(PoolServiceServer::new(Stand { newest }));
    let mut config = config();
    config.arena = Some(format!("http://{}", server.local_addr()));
    config.checkpoint.directory = directory.into();
    let stop = CancellationToken::new();
    tokio::spawn(server.run_until(stop.clone()));
    (config, stop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_learner_behind_the_arena_takes_its_games_and_counts_on_from_there() {
    let directory = tempfile::tempdir().unwrap();
    let (config, stop_arena) = stand(Some(3), directory.path()).await;
    let running = Running::start(config).await;
    let mut actor = Actor::connect(running.address, Actor::hello(None)).await.unwrap();
    actor.answer().await.unwrap();
    let mut newest = random_game(1);
    for seat in &mut newest.seats {
        seat.generation = Some(ouro_net::Generation(3));
    }
    let answer = actor.push(newest.into()).await;
    assert_eq!(answer, accepted(1));
    drop(actor);
    // Its own weights, of generation 0, were not offered: that would have been refused.
    assert_eq!(running.stop().await.generation, ouro_net::Generation(3));
    stop_arena.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_learner_whose_weights_are_refused_ends_with_that_error() {
    let directory = tempfile::tempdir().unwrap();
    let (config, stop_arena) = stand(None, directory.path()).await;
    let running = Running::start(config).await;
    let ended = running.task.await.expect("no panic");
    let refused = LearnerError::Arena(ArenaError::Refused {
        code: Code::AlreadyExists,
        message: "another file has this generation".into(),
    });
    assert_eq!(ended.expect_err("a refusal").to_string(), refused.to_string());
    stop_arena.cancel();
}
