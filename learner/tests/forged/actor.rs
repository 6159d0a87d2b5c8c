//! A running learner, a scripted actor, and games to forge.

use std::net::SocketAddr;
use std::sync::Arc;

use ouro_game::record::{Playthrough, RECORD_VERSION};
use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Action, GameConfig};
use ouro_learner::config::{AlgorithmConfig, AlphaZeroConfig, Config, DeviceChoice};
use ouro_learner::{Learner, LearnerError};
use ouro_net::{Architecture, Generation};
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::learner_service_client::LearnerServiceClient;
use ouro_proto::learner::v1::push_request::Message as Ask;
use ouro_proto::learner::v1::push_response::Message as Answer;
use ouro_proto::trajectory::{Hello, to_wire};
use ouro_replay::{Move, Ply, RecordHeader, SearchTarget, Seat, Trajectory};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Status, Streaming};

/// AlphaZero on tic-tac-toe with too few games for training, so generation 0 stays the newest.
pub(crate) fn config(directory: &std::path::Path) -> Config {
    let mut config = Config {
        device: DeviceChoice::Cpu,
        listen: ([127, 0, 0, 1], 0).into(),
        game: GameConfig::TicTacToe(tic_tac_toe::Config::default()),
        net: Architecture::Conv { channels: 4, layers: 1, hidden: 8 },
        ..Config::default()
    };
    config.train.algorithm = AlgorithmConfig::AlphaZero(AlphaZeroConfig::default());
    config.intake.max_plies = 8;
    config.training_states.directory = directory.into();
    config
}

/// A learner on a free port.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<Result<(), LearnerError>>,
}

impl Running {
    pub(crate) async fn start(config: Config) -> Self {
        let learner = Learner::bind(config).await.expect("a valid configuration");
        let (address, stop) = (learner.address(), CancellationToken::new());
        let task = tokio::spawn(learner.run_until(stop.clone()));
        Self { address, stop, task }
    }

    pub(crate) async fn client(&self) -> LearnerServiceClient<tonic::transport::Channel> {
        let url = format!("http://{}", self.address);
        LearnerServiceClient::connect(url).await.expect("the port is open")
    }

    pub(crate) async fn status(&self) -> wire::GetStatusResponse {
        self.status_as(None).await
    }

    /// Asks with a token.
    pub(crate) async fn status_as(&self, token: Option<&str>) -> wire::GetStatusResponse {
        let request = with_token(wire::GetStatusRequest {}, token);
        let answer = self.client().await.get_status(request).await;
        answer.expect("the learner answers").into_inner()
    }

    /// Drains the learner. An error in any part of the learner fails here.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.task.await.expect("no panic").expect("a clean drain");
    }
}

/// An actor with an open stream.
pub(crate) struct Actor {
    requests: mpsc::Sender<wire::PushRequest>,
    responses: Streaming<wire::PushResponse>,
    sequence: u64,
}

pub(crate) fn hello(actor: &str, epoch: Option<u64>, config: &GameConfig) -> wire::Hello {
    let (actor, config) = (actor.to_owned(), Arc::new(config.clone()));
    Hello { actor, epoch, answered: 0, config, version: 1, run: None }.into()
}

fn with_token<T>(message: T, token: Option<&str>) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    if let Some(token) = token {
        let value = format!("Bearer {token}").parse().expect("plain text");
        request.metadata_mut().insert("authorization", value);
    }
    request
}

impl Actor {
    /// Opens a stream that starts with the messages in `first`.
    pub(crate) async fn open(
        running: &Running,
        first: Vec<wire::PushRequest>,
    ) -> Result<Self, Status> {
        Self::open_as(running, first, None).await
    }

    /// Like [`open`](Self::open), with a token.
    pub(crate) async fn open_as(
        running: &Running,
        first: Vec<wire::PushRequest>,
        token: Option<&str>,
    ) -> Result<Self, Status> {
        Self::open_with(running.client().await, first, token).await
    }

    /// Like [`open_as`](Self::open_as), on this connection.
    pub(crate) async fn open_with(
        mut client: LearnerServiceClient<tonic::transport::Channel>,
        first: Vec<wire::PushRequest>,
        token: Option<&str>,
    ) -> Result<Self, Status> {
        let (requests, stream) = mpsc::channel(8);
        for message in first {
            // The send may fail. If the learner ended the stream, its status follows below.
            let _ = requests.try_send(message);
        }
        let responses = client.push(with_token(ReceiverStream::new(stream), token)).await?;
        Ok(Self { requests, responses: responses.into_inner(), sequence: 0 })
    }

    /// Opens a session and returns the actor with the learner's welcome.
    pub(crate) async fn welcomed(running: &Running, hello: wire::Hello) -> (Self, wire::Welcome) {
        Self::welcomed_as(running, hello, None).await
    }

    /// Like [`welcomed`](Self::welcomed), with a token.
    pub(crate) async fn welcomed_as(
        running: &Running,
        hello: wire::Hello,
        token: Option<&str>,
    ) -> (Self, wire::Welcome) {
        let first = wire::PushRequest { message: Some(Ask::Hello(hello)) };
        let mut actor = Self::open_as(running, vec![first], token).await.expect("a stream");
        match actor.answer().await {
            Ok(Some(Answer::Welcome(welcome))) => (actor, welcome),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn answer(&mut self) -> Result<Option<Answer>, Status> {
        Ok(self.responses.message().await?.and_then(|response| response.message))
    }

    /// The status that ends the stream; earlier answers are skipped.
    pub(crate) async fn end(&mut self) -> Option<Status> {
        loop {
            match self.answer().await {
                Err(status) => return Some(status),
                Ok(None) => return None,
                Ok(Some(_)) => {}
            }
        }
    }

    pub(crate) async fn send(&self, message: wire::Trajectory) {
        let message = Some(Ask::Trajectory(message));
        self.requests.send(wire::PushRequest { message }).await.expect("the stream is open");
    }

    /// Sends a game under the next sequence number, without waiting for the answer. The learner may
    /// have ended the stream.
    pub(crate) async fn send_next(&mut self, game: wire::Trajectory) {
        self.sequence += 1;
        let message = Some(Ask::Trajectory(wire::Trajectory { sequence: self.sequence, ..game }));
        let _ = self.requests.send(wire::PushRequest { message }).await;
    }

    /// Pushes a game under the next sequence number. Returns its refusal, or `None` if the game was
    /// accepted.
    pub(crate) async fn push(&mut self, game: wire::Trajectory) -> Option<wire::Refusal> {
        self.sequence += 1;
        let sequence = self.sequence;
        self.send(wire::Trajectory { sequence, ..game }).await;
        let answer = self.answer().await.expect("no status");
        let Some(Answer::Ack(mut ack)) = answer else { panic!("{sequence}: {answer:?}") };
        assert_eq!(ack.watermark, sequence, "{ack:?}");
        assert!(ack.refusals.len() <= 1, "{ack:?}");
        let refusal = ack.refusals.pop();
        assert!(refusal.iter().all(|refusal| refusal.sequence == sequence), "{refusal:?}");
        refusal
    }

    /// Pushes a game that must be accepted.
    pub(crate) async fn push_honest(&mut self, game: wire::Trajectory, after: &str) {
        assert_eq!(self.push(game).await, None, "an honest game after {after}");
    }
}

/// A game of tic-tac-toe that the first player wins on the left column. The first and the last move
/// of the winner have policy targets.
pub(crate) fn won_game() -> wire::Trajectory {
    let game = TicTacToe::default();
    let mut playthrough = Playthrough::new(&game, 5);
    let mut play = |cell, policy: &[(u32, f32)], value| {
        playthrough.advance(&game, &[Action(cell); 2]).expect("a legal action");
        let policy = policy.iter().map(|&(action, share)| (Action(action), share)).collect();
        let search = Some(SearchTarget { policy, value, surprise: 0.0 });
        Ply { moves: vec![Move { action: Action(cell), behaviour: 0.5, search }] }
    };
    let plies = vec![
        play(0, &[(0, 0.75), (1, 0.25)], 0.5),
        play(1, &[], -0.5),
        play(3, &[], 0.5),
        play(4, &[], -0.5),
        play(6, &[(6, 1.0)], 0.5),
    ];
    let config = GameConfig::TicTacToe(tic_tac_toe::Config::default());
    let record = RecordHeader {
        version: RECORD_VERSION,
        config: Arc::new(config),
        seed: 5,
        digests: playthrough.into_digests(),
    };
    let seat = |learns, outcome| Seat { generation: Some(Generation(0)), learns, outcome };
    let seats = vec![seat(true, 1.0), seat(false, -1.0)];
    to_wire(1, &Trajectory { record, seats, plies })
}
