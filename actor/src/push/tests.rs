//! A pusher and a scripted learner over loopback.

use ouro_game::tic_tac_toe::TicTacToe;
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::learner_service_server::{LearnerService, LearnerServiceServer};
use ouro_proto::learner::v1::push_request::Message as Request;
use ouro_proto::learner::v1::push_response::Message as Response;
use ouro_proto::trajectory::from_wire;
use ouro_replay::Seat;
use ouro_replay::check::ClientLine;
use ouro_testkit::server::Served;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::*;
use crate::Worker;
use crate::testing;
use crate::worker::WorkerSettings;

/// Time after which refusals are final, shorter than the delay before the second one.
const PATIENCE: Duration = Duration::from_millis(100);

/// The learner's end of one stream. Dropping it closes the stream.
struct Connection {
    requests: Streaming<wire::PushRequest>,
    responses: mpsc::Sender<Result<wire::PushResponse, Status>>,
}

impl Connection {
    async fn request(&mut self) -> Option<Request> {
        self.requests.message().await.unwrap().and_then(|request| request.message)
    }

    /// Answers the hello of an actor with the epoch `known`.
    async fn welcome(&mut self, known: Option<u64>, epoch: u64, watermark: u64) {
        self.welcome_back(known, epoch, watermark, &[]).await;
    }

    /// Like [`welcome`](Self::welcome), with refusals whose first answer was lost.
    async fn welcome_back(&mut self, known: Option<u64>, epoch: u64, watermark: u64, lost: &[u64]) {
        let Some(Request::Hello(hello)) = self.request().await else { panic!("no hello") };
        let hello = Hello::try_from(hello).unwrap();
        assert_eq!((hello.actor.as_str(), hello.epoch), ("a", known));
        assert_eq!((hello.config, hello.version), (Arc::new(testing::config()), RECORD_VERSION));
        assert!(hello.answered <= watermark, "{} was answered", hello.answered);
        let refuse = |&sequence| wire::Refusal { sequence, ..wire::Refusal::default() };
        let refusals = lost.iter().map(refuse).collect();
        let welcome = wire::Welcome { epoch, watermark, newest_generation: 0, refusals };
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

    async fn refuse_token(&self) {
        let refusal = Status::unauthenticated("this token is not valid here");
        self.responses.send(Err(refusal)).await.unwrap();
    }

    async fn accept(&self, watermark: u64) {
        self.answer(Response::Ack(wire::Ack { watermark, ..wire::Ack::default() })).await;
    }

    /// Like [`accept`](Self::accept), with the refusal of one game.
    async fn refuse(&self, watermark: u64, sequence: u64) {
        let refusals = vec![wire::Refusal { sequence, ..wire::Refusal::default() }];
        self.answer(Response::Ack(wire::Ack { watermark, refusals, ..wire::Ack::default() })).await;
    }
}

/// A service that passes every stream to the test.
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
    /// Seeds of the games to push.
    seeds: Vec<u64>,
    counters: Arc<ActorCounters>,
    newest: watch::Receiver<Generation>,
    run: watch::Sender<Option<RunId>>,
    /// `None` once the workers have ended.
    games: Option<mpsc::Sender<FinishedGame>>,
    folder: TempDir,
    _server: Served,
}

impl Running {
    /// Stops the pusher after the workers have ended.
    fn end(&mut self) {
        self.stop.cancel();
        self.games = None;
    }

    async fn connection(&mut self) -> Connection {
        self.connections.recv().await.unwrap()
    }

    /// Lines of the send log: sequence number, whether acknowledged, and whether refused.
    fn fates(&self) -> Vec<(u64, bool, bool)> {
        let text = std::fs::read_to_string(self.folder.path().join("records")).unwrap();
        let line = |line: &str| -> ClientLine { serde_json::from_str(line).unwrap() };
        text.lines().map(line).map(|line| (line.sequence, line.acked, line.refused)).collect()
    }
}

fn some_games(count: usize) -> Vec<FinishedGame> {
    if count == 0 {
        return Vec::new();
    }
    let settings = WorkerSettings { max_plies: 5, ..testing::settings(count) };
    let mut worker =
        Worker::new(TicTacToe::default(), Arc::new(testing::config()), settings).unwrap();
    let roster = testing::roster(0, &[]);
    let played: Vec<FinishedGame> = (0..5).flat_map(|_| worker.tick(&roster).unwrap()).collect();
    assert_eq!(played.len(), count);
    played
}

/// Starts a pusher with `count` games and a drain time of `grace`.
async fn start_with(count: usize, grace: Duration) -> Running {
    let (sender, connections) = mpsc::channel(1);
    let server = ouro_testkit::server::serve(LearnerServiceServer::new(Learner(sender))).await;
    let played = some_games(count);
    let seeds = played.iter().map(|game| game.trajectory.record.seed).collect();
    let (games, receiver) = mpsc::channel(count.max(1));
    for played in played {
        games.send(played).await.unwrap();
    }
    let (stop, counters) = (CancellationToken::new(), Arc::<ActorCounters>::default());
    let (newest, generations) = watch::channel(Generation(0));
    let (run, followed) = watch::channel(None);
    let folder = tempfile::tempdir().unwrap();
    let (records, dead) = (folder.path().join("records"), folder.path().join("dead"));
    let pusher = Pusher {
        connect: over_tcp(Endpoint::from_shared(server.url.clone()).unwrap(), None),
        credential: Credential::None,
        name: "a".to_owned(),
        config: Arc::new(testing::config()),
        outbox: Outbox::new(count.max(1)),
        games: receiver,
        send_log: SendLog::open(Some(&records)).unwrap(),
        dead_letters: DeadLetters::open(Some(&dead), u64::MAX).unwrap(),
        counters: Arc::clone(&counters),
        run: followed,
        newest,
        stop: stop.clone(),
        grace,
        closed: CancellationToken::new(),
        refusals: Refusals::new(PATIENCE),
        progress: Progress::default(),
    };
    Running {
        connections,
        stop,
        pusher: tokio::spawn(pusher.run()),
        seeds,
        counters,
        newest: generations,
        run,
        games: Some(games),
        folder,
        _server: server,
    }
}

async fn start(count: usize) -> Running {
    start_with(count, Duration::from_secs(3_600)).await
}

#[tokio::test]
async fn a_reconnect_sends_what_is_not_decided_and_nothing_else() {
    let mut running = start(6).await;
    let mut first = running.connection().await;
    first.welcome(None, 77, 0).await;
    for (number, &seed) in (1..).zip(&running.seeds) {
        assert_eq!(first.game().await, (number, seed));
    }
    first.refuse(2, 2).await;
    drop(first);

    // The learner has decided two more games. The answer was lost, and the welcome repeats it.
    let mut second = running.connection().await;
    second.welcome_back(Some(77), 77, 4, &[4]).await;
    assert_eq!(second.game().await, (5, running.seeds[4]));
    assert_eq!(second.game().await, (6, running.seeds[5]));
    // An actor that stops waits for the answers, then closes its side.
    running.end();
    // The learner repeats a refusal. Only that with the decision of its game is noted.
    second.refuse(5, 6).await;
    second.refuse(6, 6).await;
    assert_eq!(second.request().await, None);
    let fates = running.fates();
    let of = |number: u64| -> Vec<&str> {
        let name = |fate: &(u64, bool, bool)| match fate {
            (_, false, _) => "sent",
            (_, true, false) => "accepted",
            (_, true, true) => "refused",
        };
        fates.iter().filter(|fate| fate.0 == number).map(name).collect()
    };
    assert_eq!(of(1), ["sent", "accepted"]);
    assert_eq!(of(2), ["sent", "refused"]);
    // A restarted learner would not know of a refusal.
    assert_eq!(of(3), ["sent"]);
    assert_eq!(of(4), ["sent", "refused"]);
    assert_eq!(of(5), ["sent", "sent", "accepted"]);
    assert_eq!(of(6), ["sent", "sent", "refused"]);
    let snapshot = running.counters.snapshot();
    assert_eq!((snapshot.accepted, snapshot.refused, snapshot.unanswered), (3, 3, 0));
    let dead = std::fs::read_to_string(running.folder.path().join("dead")).unwrap();
    let seed = |letter| -> Option<u64> {
        let letter: serde_json::Value = serde_json::from_str(letter).unwrap();
        letter["record"]["seed"].as_u64()
    };
    let buried: Vec<_> = dead.lines().filter_map(seed).collect();
    assert_eq!(buried, [1, 3, 5].map(|game: usize| running.seeds[game]));
    assert_eq!(running.pusher.await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn whatever_the_learner_has_is_in_the_record_log() {
    let mut running = start(3).await;
    let mut learner = running.connection().await;
    learner.welcome(None, 77, 0).await;
    for number in 1..=3 {
        assert_eq!(learner.game().await.0, number);
        assert!(running.fates().contains(&(number, false, false)));
    }
}

#[tokio::test]
async fn a_learner_that_goes_on_with_another_life_gets_nothing_twice() {
    let mut running = start(1).await;
    let mut first = running.connection().await;
    first.welcome(None, 77, 0).await;
    assert_eq!(first.game().await.0, 1);
    drop(first);
    let mut second = running.connection().await;
    second.welcome(Some(77), 78, 0).await;
    let ended = running.pusher.await.unwrap().expect_err("what it has taken is unknown");
    assert!(ended.to_string().contains("epoch 77 with epoch 78"), "{ended}");
}

#[tokio::test]
async fn games_that_wait_when_the_actor_is_told_to_stop_are_pushed() {
    let mut running = start(3).await;
    // The stop signal comes before the first game is received.
    running.end();
    let mut connection = running.connection().await;
    connection.welcome(None, 77, 0).await;
    for number in 1..=3 {
        assert_eq!(connection.game().await.0, number);
    }
    connection.accept(3).await;
    assert_eq!(running.pusher.await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn an_actor_without_games_stops_without_a_learner() {
    let mut running = start_with(1, Duration::from_secs(3_600)).await;
    let mut connection = running.connection().await;
    connection.welcome(None, 77, 0).await;
    connection.game().await;
    connection.accept(1).await;
    running.end();
    assert_eq!(running.pusher.await.unwrap().unwrap(), 0);
}

/// An acknowledgement of the first game that requests the longest possible pause.
fn pause(newest_generation: u32) -> Response {
    let ack =
        wire::Ack { watermark: 1, pause_ms: u32::MAX, newest_generation, ..wire::Ack::default() };
    Response::Ack(ack)
}

/// Starts a pusher that pauses and has a second game to push. Also checks that the pusher forwards
/// the learner's newest generation.
async fn start_paused() -> (Running, Connection) {
    let mut running = start(1).await;
    let mut connection = running.connection().await;
    connection.welcome(None, 77, 0).await;
    assert_eq!(connection.game().await.0, 1);
    connection.answer(pause(3)).await;
    running.newest.wait_for(|&newest| newest == Generation(3)).await.unwrap();
    running.games.as_ref().unwrap().send(some_games(1).remove(0)).await.unwrap();
    (running, connection)
}

#[tokio::test]
async fn a_pause_ends_with_an_answer_that_asks_for_none() {
    let (_running, mut connection) = start_paused().await;
    connection.accept(1).await;
    assert_eq!(connection.game().await.0, 2);
}

#[tokio::test]
async fn nothing_is_sent_while_the_learner_asks_for_a_pause() {
    let (mut running, mut connection) = start_paused().await;
    // The game is in the outbox, and one answer later it is still not sent.
    for newest in 4.. {
        connection.answer(pause(newest)).await;
        running.newest.wait_for(|&known| known == Generation(newest)).await.unwrap();
        if running.counters.snapshot().unanswered == 1 {
            break;
        }
    }
    let early = tokio::time::timeout(Duration::ZERO, connection.game()).await;
    assert!(early.is_err());
    // A stopping actor does not pause.
    running.end();
    assert_eq!(connection.game().await.0, 2);
    connection.accept(2).await;
    assert_eq!(running.pusher.await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn a_token_that_stays_refused_ends_the_actor() {
    let mut running = start(1).await;
    // The learner may not have read its tokens file since the token was made.
    running.connection().await.refuse_token().await;
    let mut second = running.connection().await;
    second.welcome(None, 77, 0).await;
    assert_eq!(second.game().await, (1, running.seeds[0]));
    // After a welcome, a refusal is the first again.
    second.refuse_token().await;
    running.connection().await.refuse_token().await;
    let ended = running.pusher.await.unwrap().unwrap_err();
    let expected = "the learner refuses this actor: this token is not valid here";
    assert_eq!(ended.to_string(), expected);
    assert!(running.stop.is_cancelled());
}

#[tokio::test]
async fn an_actor_whose_name_another_has_taken_stops_and_says_so() {
    let mut running = start(1).await;
    let mut first = running.connection().await;
    first.welcome(None, 77, 0).await;
    assert_eq!(first.game().await.0, 1);
    let fenced = Status::failed_precondition("epoch 77 of actor a has ended");
    first.responses.send(Err(fenced)).await.unwrap();
    let ended = running.pusher.await.unwrap().expect_err("nothing can be pushed any more");
    assert!(ended.to_string().contains("epoch 77 of actor a has ended"), "{ended}");
}

#[tokio::test]
async fn without_games_the_first_hello_waits_for_the_run() {
    let mut running = start(0).await;
    // Lets the pusher come as far as it can.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let own = Some(RunId::of(b"own"));
    running.run.send_replace(own);
    let Some(Request::Hello(hello)) = running.connection().await.request().await else {
        panic!("no hello")
    };
    assert_eq!(Hello::try_from(hello).unwrap().run, own);
    // A pusher without a run, a game and a learner ends with its workers.
    let mut running = start(0).await;
    running.end();
    assert_eq!(running.pusher.await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn a_reconnect_names_the_first_run_that_was_known() {
    let [own, replacement] = [b"old", b"new"].map(|seed| RunId::of(seed));
    let mut running = start(1).await;
    let mut named = Vec::new();
    for next in [own, replacement, replacement] {
        let mut connection = running.connection().await;
        let Some(Request::Hello(hello)) = connection.request().await else { panic!("no hello") };
        named.push(Hello::try_from(hello).unwrap().run);
        // The run becomes known, or another one replaces it, before the connection breaks.
        running.run.send_replace(Some(next));
    }
    assert_eq!(named, [None, Some(own), Some(own)]);
}

#[tokio::test]
async fn games_are_received_while_the_learner_has_not_welcomed_the_actor() {
    let mut running = start_with(3, Duration::ZERO).await;
    let _silent = running.connection().await;
    let received = async {
        while running.counters.snapshot().unanswered < 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), received).await.unwrap();
    running.end();
    assert_eq!(running.pusher.await.unwrap().unwrap(), 3);
}

#[tokio::test]
async fn games_that_a_full_outbox_left_to_the_threads_count_as_unanswered() {
    let mut running = start_with(2, Duration::ZERO).await;
    let mut connection = running.connection().await;
    connection.welcome(None, 77, 0).await;
    for _ in 0..2 {
        connection.game().await;
    }
    for game in some_games(2) {
        running.games.as_ref().unwrap().send(game).await.unwrap();
    }
    running.end();
    assert_eq!(running.pusher.await.unwrap().unwrap(), 4);
}

#[tokio::test]
async fn a_game_is_on_the_wire_as_it_was_played() {
    let mut running = start(1).await;
    let mut connection = running.connection().await;
    connection.welcome(None, 77, 0).await;
    let Some(Request::Trajectory(game)) = connection.request().await else { panic!("no game") };
    let hello = Hello {
        actor: "a".to_owned(),
        epoch: None,
        answered: 0,
        config: Arc::new(testing::config()),
        version: RECORD_VERSION,
        run: None,
    };
    let (_, game) = from_wire(game, &hello).unwrap();
    let learns = |seat: &Seat| seat.generation == Some(Generation(0)) && seat.learns;
    assert!(game.seats.len() == 2 && game.seats.iter().all(learns));
    assert_eq!(*game.record.config, testing::config());
    let rules = TicTacToe::default();
    assert!(game.replay(&rules).unwrap().finish().is_ok());
    connection.accept(1).await;
    running.end();
    assert_eq!(running.pusher.await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn an_actor_that_stops_without_answers_says_how_many_games_it_leaves() {
    let mut running = start_with(3, Duration::ZERO).await;
    let mut connection = running.connection().await;
    connection.welcome(None, 77, 0).await;
    for _ in 0..3 {
        connection.game().await;
    }
    let ack = wire::Ack { watermark: 1, newest_generation: 1, ..wire::Ack::default() };
    connection.answer(Response::Ack(ack)).await;
    running.newest.wait_for(|&newest| newest == Generation(1)).await.unwrap();
    running.end();
    assert_eq!(running.pusher.await.unwrap().unwrap(), 2);
}
