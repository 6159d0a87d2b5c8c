//! A pusher against a learner over loopback that does what the test says.

use ouro_game::tic_tac_toe::TicTacToe;
use ouro_proto::learner::v1::learner_service_server::{LearnerService, LearnerServiceServer};
use tokio::task::JoinHandle;
use tokio_util::sync::DropGuard;

use super::*;
use crate::Worker;
use crate::testing;
use crate::worker::WorkerSettings;

/// The learner's end of one stream; dropping it closes the stream.
struct Connection {
    requests: Streaming<wire::PushRequest>,
    responses: mpsc::Sender<Result<wire::PushResponse, Status>>,
}

impl Connection {
    async fn request(&mut self) -> Option<Request> {
        self.requests.message().await.unwrap().and_then(|request| request.message)
    }

    /// Answers the hello of an actor that has lived through `known`.
    async fn welcome(&mut self, known: Option<u64>, epoch: u64, watermark: u64) {
        let Some(Request::Hello(hello)) = self.request().await else { panic!("no hello") };
        let hello = Hello::try_from(hello).unwrap();
        assert_eq!((hello.actor.as_str(), hello.epoch), ("a", known));
        assert_eq!((hello.config, hello.version), (testing::config(), RECORD_VERSION));
        let welcome = wire::Welcome { epoch, watermark, newest_generation: 0 };
        self.answer(Response::Welcome(welcome)).await;
    }

    /// Sequence number and seed of the next game.
    async fn game(&mut self) -> (u64, u64) {
        let Some(Request::Trajectory(game)) = self.request().await else { panic!("no game") };
        (game.sequence, game.seed)
    }

    async fn answer(&self, message: Response) {
        let response = wire::PushResponse { message: Some(message) };
        self.responses.send(Ok(response)).await.unwrap();
    }

    async fn accept(&self, watermark: u64) {
        self.answer(Response::Ack(wire::Ack { watermark, ..wire::Ack::default() })).await;
    }
}

/// Hands every stream to the test.
struct Learner(mpsc::Sender<Connection>);

#[tonic::async_trait]
impl LearnerService for Learner {
    type PushStream = ReceiverStream<Result<wire::PushResponse, Status>>;

    async fn push(
        &self,
        request: tonic::Request<Streaming<wire::PushRequest>>,
    ) -> Result<tonic::Response<Self::PushStream>, Status> {
        let (responses, receiver) = mpsc::channel(16);
        let connection = Connection { requests: request.into_inner(), responses };
        self.0.send(connection).await.map_err(|_| Status::unavailable("the test is over"))?;
        Ok(tonic::Response::new(ReceiverStream::new(receiver)))
    }

    async fn get_status(
        &self,
        _: tonic::Request<wire::GetStatusRequest>,
    ) -> Result<tonic::Response<wire::GetStatusResponse>, Status> {
        Err(Status::unimplemented("no pusher asks"))
    }
}

struct Running {
    connections: mpsc::Receiver<Connection>,
    stop: CancellationToken,
    pusher: JoinHandle<Result<usize, ActorError>>,
    /// Of the games that are waiting to be pushed.
    seeds: Vec<u64>,
    _games: mpsc::Sender<Played>,
    _server: DropGuard,
}

/// A pusher that has `count` games to push.
async fn start(count: usize) -> Running {
    let (sender, connections) = mpsc::channel(1);
    let (url, server) = testing::serve(LearnerServiceServer::new(Learner(sender))).await;
    let settings = WorkerSettings { max_plies: 5, ..testing::settings(count) };
    let mut worker = Worker::new(TicTacToe::default(), testing::config(), settings).unwrap();
    let roster = testing::roster(0, &[]);
    let played: Vec<Played> = (0..5).flat_map(|_| worker.tick(&roster).unwrap()).collect();
    assert_eq!(played.len(), count);
    let seeds = played.iter().map(|played| played.record.seed).collect();
    let (games, receiver) = mpsc::channel(count);
    for played in played {
        games.send(played).await.unwrap();
    }
    let stop = CancellationToken::new();
    let pusher = Pusher {
        endpoint: Endpoint::from_shared(url).unwrap(),
        name: "a".to_owned(),
        epoch: None,
        config: testing::config(),
        outbox: Outbox::new(count),
        games: receiver,
        stop: stop.clone(),
    };
    let pusher = tokio::spawn(pusher.run());
    Running { connections, stop, pusher, seeds, _games: games, _server: server }
}

#[tokio::test]
async fn a_reconnect_sends_what_is_not_decided_and_nothing_else() {
    let mut running = start(5).await;
    let mut first = running.connections.recv().await.unwrap();
    first.welcome(None, 77, 0).await;
    for (number, &seed) in (1..).zip(&running.seeds) {
        assert_eq!(first.game().await, (number, seed));
    }
    let refused = wire::Refusal { sequence: 2, ..wire::Refusal::default() };
    let ack = wire::Ack { watermark: 2, refusals: vec![refused], ..wire::Ack::default() };
    first.answer(Response::Ack(ack)).await;
    drop(first);

    // The learner has decided the third game too; that answer was lost.
    let mut second = running.connections.recv().await.unwrap();
    second.welcome(Some(77), 77, 3).await;
    assert_eq!(second.game().await, (4, running.seeds[3]));
    assert_eq!(second.game().await, (5, running.seeds[4]));
    // An actor that stops waits for the answers, then closes its side.
    running.stop.cancel();
    second.accept(4).await;
    second.accept(5).await;
    assert_eq!(second.request().await, None);
    assert_eq!(running.pusher.await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn an_actor_whose_name_another_has_taken_stops_and_says_so() {
    let mut running = start(1).await;
    let mut first = running.connections.recv().await.unwrap();
    first.welcome(None, 77, 0).await;
    assert_eq!(first.game().await.0, 1);
    let fenced = Status::failed_precondition("epoch 77 of actor a has ended");
    first.responses.send(Err(fenced)).await.unwrap();
    let ended = running.pusher.await.unwrap().expect_err("nothing can be pushed any more");
    assert!(ended.to_string().contains("epoch 77 of actor a has ended"), "{ended}");
}

#[tokio::test]
async fn a_game_is_on_the_wire_as_it_was_played() {
    let mut running = start(1).await;
    let mut connection = running.connections.recv().await.unwrap();
    connection.welcome(None, 77, 0).await;
    let Some(Request::Trajectory(game)) = connection.request().await else { panic!("no game") };
    let hello = Hello {
        actor: "a".to_owned(),
        epoch: None,
        config: testing::config(),
        version: RECORD_VERSION,
    };
    let game = Trajectory::unfold(game, &hello).unwrap();
    assert_eq!(game.seats, [Seat { generation: Some(0), learns: true }; 2]);
    assert_eq!(game.record.config, testing::config());
    let rules = TicTacToe::default();
    let replay = ouro_game::record::Replay::new(&rules, &game.record).unwrap();
    assert!(replay.finish().is_ok());
    connection.accept(1).await;
    running.stop.cancel();
    assert_eq!(running.pusher.await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn an_actor_that_stops_without_answers_says_how_many_games_it_leaves() {
    let mut running = start(3).await;
    let mut connection = running.connections.recv().await.unwrap();
    connection.welcome(None, 77, 0).await;
    for _ in 0..3 {
        connection.game().await;
    }
    connection.accept(1).await;
    running.stop.cancel();
    drop(connection);
    assert_eq!(running.pusher.await.unwrap().unwrap(), 2);
}
