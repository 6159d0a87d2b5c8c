use super::*;
use crate::testing::{config, random_game};
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::learner_service_client::LearnerServiceClient;
use ouro_proto::learner::v1::push_request::Message as Ask;
use ouro_proto::learner::v1::push_response::Message as Answer;
use ouro_proto::trajectory::{Hello, to_wire};
use ouro_replay::RefusalReason;
use ouro_service::ExitStatus;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

mod arena;
mod arena_watch;
mod deviation;
mod from;
mod lock;
mod metrics;
mod missing_journal;
mod offers;
mod optimizer;
mod resume;

struct Actor {
    requests: mpsc::Sender<wire::PushRequest>,
    responses: Streaming<wire::PushResponse>,
}

impl Actor {
    async fn connect(address: SocketAddr, first: Ask) -> Result<Self, Status> {
        let mut client = LearnerServiceClient::connect(format!("http://{address}"))
            .await
            .expect("the port is open");
        let (requests, stream) = mpsc::channel(4);
        let first = wire::PushRequest { message: Some(first) };
        requests.send(first).await.expect("the receiver is here");
        let responses = client.push(ReceiverStream::new(stream)).await?.into_inner();
        Ok(Self { requests, responses })
    }

    fn hello(epoch: Option<u64>) -> Ask {
        let (actor, config) = ("tester".to_owned(), Arc::new(config().game));
        Ask::Hello(Hello { actor, epoch, answered: 0, config, version: 1, run: None }.into())
    }

    async fn send(&self, message: wire::Trajectory) {
        let message = Some(Ask::Trajectory(message));
        // A learner that closed the stream answers with a status.
        let _ = self.requests.send(wire::PushRequest { message }).await;
    }

    async fn answer(&mut self) -> Result<Option<Answer>, Status> {
        let answer = self.responses.message().await?.and_then(|response| response.message);
        Ok(answer.map(|answer| match answer {
            // The newest generation and the pause depend on the speed of the machine.
            Answer::Ack(ack) => Answer::Ack(wire::Ack { newest_generation: 0, pause_ms: 0, ..ack }),
            Answer::Welcome(_) => answer,
        }))
    }

    async fn push(&mut self, message: wire::Trajectory) -> Answer {
        self.send(message).await;
        self.answer().await.expect("no status").expect("an answer")
    }
}

fn message(sequence: u64) -> wire::Trajectory {
    to_wire(sequence, &random_game(sequence))
}

/// The acknowledgement of all games up to `watermark`, without refusals.
fn accepted(watermark: u64) -> Answer {
    Answer::Ack(wire::Ack { watermark, ..wire::Ack::default() })
}

struct Running {
    address: SocketAddr,
    progress: SharedStatus,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<Result<(), LearnerError>>,
}

impl Running {
    async fn start(config: Config) -> Self {
        let learner = Learner::bind(config).await.expect("a valid configuration");
        let (address, progress) = (learner.address(), learner.status());
        let stop = CancellationToken::new();
        let task = tokio::spawn(learner.run_until(stop.clone()));
        Self { address, progress, stop, task }
    }

    async fn stop(self) -> LearnerStatus {
        self.stop.cancel();
        self.task.await.expect("no panic").expect("a clean drain");
        self.progress.get()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn games_are_acknowledged_in_order_trained_on_and_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    // No game becomes stale, even on a machine that trains fast.
    config.intake.max_staleness = 1_000;
    let running = Running::start(config.clone()).await;
    let mut actor = Actor::connect(running.address, Actor::hello(None)).await.unwrap();
    let welcome = actor.answer().await.unwrap();
    let expected = wire::Welcome { epoch: 1, ..wire::Welcome::default() };
    assert_eq!(welcome, Some(Answer::Welcome(expected)));
    for sequence in 1..=20 {
        assert_eq!(actor.push(message(sequence)).await, accepted(sequence));
    }
    // A repeated game is acknowledged, but not counted. A game with a wrong state is refused.
    assert_eq!(actor.push(message(20)).await, accepted(20));
    let mut forged = message(21);
    forged.digests[1] ^= 1;
    match actor.push(forged).await {
        Answer::Ack(ack) => {
            let refusal = &ack.refusals[0];
            assert_eq!(refusal.reason(), wire::RefusalReason::Replay);
            assert!(refusal.detail.contains("ply 0"), "{refusal:?}");
        }
        other => panic!("{other:?}"),
    }
    let mut client =
        LearnerServiceClient::connect(format!("http://{}", running.address)).await.unwrap();
    let status = client.get_status(wire::GetStatusRequest {}).await.unwrap().into_inner();
    let refused = wire::RefusalCount { reason: wire::RefusalReason::Replay.into(), games: 1 };
    assert_eq!((status.games, status.refused), (20.0, vec![refused]));
    assert_eq!(status.connected[0].address, "127.0.0.1");
    // A welcome repeats refusals that the actor has not acknowledged.
    let mut again = Actor::connect(running.address, Actor::hello(Some(1))).await.unwrap();
    let Some(Answer::Welcome(welcome)) = again.answer().await.unwrap() else { panic!("welcome") };
    let refused: Vec<u64> = welcome.refusals.iter().map(|refusal| refusal.sequence).collect();
    assert_eq!((welcome.watermark, refused), (21, vec![21]));
    drop((actor, again, client));
    let end = running.stop().await;
    assert!(end.step > 0 || end.moves < 64, "{end:?}");

    // The restarted learner has the same step, generation, games and watermark.
    let running = Running::start(config.clone()).await;
    let again = running.progress.get();
    assert_eq!((again.step, again.generation), (end.step, end.generation));
    let mut actor = Actor::connect(running.address, Actor::hello(Some(1))).await.unwrap();
    let Some(Answer::Welcome(welcome)) = actor.answer().await.unwrap() else { panic!("welcome") };
    assert_eq!((welcome.epoch, welcome.watermark, again.games), (1, 21, 20));
    drop(actor);
    running.stop().await;

    // A configuration with another network is refused in the same directory.
    config.net = ouro_net::Architecture::Conv { channels: 5, layers: 1, hidden: 8 };
    let refused = Learner::bind(config.clone()).await.err();
    let Some(LearnerError::OtherRun { what, stored, asked, .. }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!((what, &*asked), ("network", "net.channels = 5"));
    assert!(stored.starts_with("net.channels = ") && stored != asked, "{stored}");
    config.net = ouro_net::Architecture::Mlp {
        layers: 1,
        hidden: 8,
        value: ouro_net::ValueRange::Unbounded,
    };
    let refused = Learner::bind(config).await.err();
    let Some(LearnerError::OtherRun { stored, asked, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!([stored, asked], ["net.kind = \"conv\"", "net.kind = \"mlp\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_without_training_states_is_refused_and_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    let running = Running::start(config.clone()).await;
    let mut actor = Actor::connect(running.address, Actor::hello(None)).await.unwrap();
    actor.answer().await.unwrap();
    actor.push(message(1)).await;
    drop(actor);
    running.stop().await;

    let states = directory.path().join("training-states");
    let aside = directory.path().join("aside");
    std::fs::rename(&states, &aside).unwrap();
    let refused = Learner::bind(config.clone()).await.err().expect("its states are gone");
    assert!(matches!(refused, LearnerError::NoTrainingState { games: 1, .. }), "{refused}");
    assert_eq!(refused.exit_status(), ExitStatus::Unavailable);
    // With its states back, the run resumes.
    std::fs::remove_dir_all(&states).unwrap();
    std::fs::rename(&aside, &states).unwrap();
    let running = Running::start(config).await;
    assert_eq!(running.progress.get().games, 1);
    running.stop().await;
}

#[test]
fn training_that_diverged_is_a_matter_of_the_settings() {
    let (what, value) = ("loss", "NaN".to_owned());
    let error = crate::error::TrainError::NotFinite { step: 3, what, value };
    let error = LearnerError::from(TrainingLoopError::from(error));
    assert_eq!(error.exit_status(), ExitStatus::BadConfiguration);
    assert!(error.to_string().contains("lower train.learning_rate"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_ends_open_streams_with_a_retryable_code() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    let running = Running::start(config).await;
    let mut actor = Actor::connect(running.address, Actor::hello(None)).await.unwrap();
    actor.answer().await.unwrap();
    actor.push(message(1)).await;
    running.stop.cancel();
    let status = actor.answer().await.expect_err("the stream ends");
    assert_eq!(status.code(), Code::Unavailable);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_break_the_protocol_are_ended_with_a_status() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    let running = Running::start(config).await;
    let code = async |first: Ask, then: Option<wire::Trajectory>| {
        let mut actor = Actor::connect(running.address, first).await?;
        if let Some(message) = then {
            actor.answer().await?;
            actor.send(message).await;
        }
        actor.answer().await.map(|_| ())
    };
    let refused = |result: Result<(), Status>| result.expect_err("a status").code();
    assert_eq!(refused(code(Ask::Trajectory(message(1)), None).await), Code::InvalidArgument);
    let nameless = Ask::Hello(wire::Hello::default());
    assert_eq!(refused(code(nameless, None).await), Code::InvalidArgument);
    let unnumbered = wire::Trajectory { sequence: 0, ..message(1) };
    let ended = code(Actor::hello(None), Some(unnumbered)).await;
    assert_eq!(refused(ended), Code::InvalidArgument);
    let huge = wire::Trajectory { digests: vec![1; MAX_MESSAGE_BYTES / 8], ..message(1) };
    assert_eq!(refused(code(Actor::hello(None), Some(huge)).await), Code::OutOfRange);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_a_hello_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    config.intake.hello_ms = 1;
    let running = Running::start(config).await;
    let mut client =
        LearnerServiceClient::connect(format!("http://{}", running.address)).await.unwrap();
    let (_silent, stream) = mpsc::channel(1);
    let opened = client.push(ReceiverStream::new(stream)).await;
    let ended = match opened {
        Ok(responses) => responses.into_inner().message().await,
        Err(status) => Err(status),
    };
    assert_eq!(ended.expect_err("a status").code(), Code::DeadlineExceeded);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_its_answers_does_not_delay_the_drain() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    let learner = Learner::bind(config).await.expect("a valid configuration");
    let (address, progress) = (learner.address(), learner.status());
    let (intake, stop_streams) = (learner.intake.clone(), learner.stop_streams.clone());
    let stop = CancellationToken::new();
    let task = tokio::spawn(learner.run_until(stop.clone()));
    // HTTP/2's default window is the smallest that the client can set, so it fills up soonest.
    let channel = tonic::transport::Endpoint::from_shared(format!("http://{address}"))
        .expect("a URL")
        .initial_stream_window_size(65_535)
        .connect()
        .await
        .expect("the port is open");
    let (requests, stream) = mpsc::channel(16);
    let ask = |message| wire::PushRequest { message: Some(message) };
    requests.send(ask(Actor::hello(None))).await.expect("the receiver is here");
    let mut client = LearnerServiceClient::new(channel);
    let unread = client.push(ReceiverStream::new(stream)).await.unwrap();
    // Causes many small answers that the client does not read. They fill the window and all buffers
    // between service and client.
    let flood = async {
        for sequence in 1.. {
            let spoilt = wire::Trajectory { seats: Vec::new(), ..message(sequence) };
            if requests.send(ask(Ask::Trajectory(spoilt))).await.is_err() {
                return;
            }
        }
    };
    let stuck = async {
        let malformed = || progress.get().refused.get(&RefusalReason::Malformed).copied();
        let mut before = None;
        loop {
            // The service is stuck if many turns of the runtime add no refusal.
            for _ in 0..10_000 {
                tokio::task::yield_now().await;
            }
            let now = malformed();
            if now.is_some() && now == before {
                return;
            }
            before = now;
        }
    };
    tokio::select! {
        () = flood => {}
        () = stuck => {}
    }
    stop_streams.cancel();
    intake.drained().await;
    drop((unread, requests));
    stop.cancel();
    task.await.expect("no panic").expect("a clean drain");
}
