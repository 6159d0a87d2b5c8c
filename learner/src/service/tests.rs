use ouro_game::Rng;
use ouro_net::Generation;
use ouro_proto::Hello;
use ouro_proto::learner::v1::learner_service_client::LearnerServiceClient;
use ouro_proto::learner::v1::learner_service_server::LearnerServiceServer;
use ouro_proto::learner::v1::push_request::Message as Ask;
use ouro_proto::learner::v1::push_response::Message as Answer;
use ouro_proto::trajectory::to_wire;
use ouro_replay::testing::MemoryDisk;
use ouro_replay::{
    AcceptedGame, Draw, EncodedTrajectory, GameSummary, Journal, Refusal, RefusalReason, Replay,
    ReplaySettings, ReplayState, Trajectory,
};
use ouro_service::GrpcServer;
use ouro_service::server::Limits;
use tokio_util::sync::DropGuard;

mod examination;
mod names;
mod pause;
mod run;
mod sessions;

use super::*;
use crate::alphazero::Positions;
use crate::batch::RowShape;
use crate::journal_writer::Decision;
use crate::reinforce::Segments;
use crate::rules::UnpackError;
use crate::testing::{config, random_game};

/// Rules with a bug.
struct Faulty;

impl Rules for Faulty {
    fn examine(&self, _: &Trajectory, _: Generation) -> Result<AcceptedGame, Refusal> {
        panic!("a fault in the rules");
    }

    fn restore(
        &self,
        _: &[u8],
        _: Generation,
    ) -> Result<(EncodedTrajectory, GameSummary), UnpackError> {
        panic!("a fault in the rules");
    }

    fn positions(
        &self,
        _: &[Draw<EncodedTrajectory>],
        _: &mut Rng,
    ) -> Result<Positions, UnpackError> {
        panic!("a fault in the rules");
    }

    fn segments(
        &self,
        _: &[Draw<EncodedTrajectory>],
        _: &mut Rng,
    ) -> Result<Segments, UnpackError> {
        panic!("a fault in the rules");
    }

    fn shape(&self) -> RowShape {
        RowShape { planes: 1, actions: 1, policies: 1 }
    }
}

/// The hello of a new actor that does not know its run.
fn hello() -> Hello {
    let config = Arc::new(config().game);
    Hello { actor: "a".to_owned(), epoch: None, answered: 0, config, version: 1, run: None }
}

/// A service over loopback without training.
struct Served {
    url: String,
    intake: Intake,
    replay: Arc<SharedReplay>,
    delivery: watch::Sender<Delivery>,
    disk: MemoryDisk,
    server: DropGuard,
}

impl Served {
    /// Serves the actors of `run`.
    async fn start(settings: ReplaySettings, run: Option<RunId>) -> Self {
        let disk = MemoryDisk::new();
        let (journal, _) = Journal::open(disk.clone(), b"", Default::default()).expect("empty");
        let start = |replay, progress| {
            let (journal_writer, _) =
                JournalWriter::start(journal, replay, progress).expect("a thread");
            journal_writer
        };
        Self::with_writer(settings, run, disk, start).await
    }

    /// Serves the actors of `run` with the journal writer that `start` starts on `disk`.
    async fn with_writer(
        settings: ReplaySettings,
        run: Option<RunId>,
        disk: MemoryDisk,
        start: impl FnOnce(Arc<SharedReplay>, SharedStatus) -> JournalWriter,
    ) -> Self {
        let config = config();
        let replay = Replay::resume(settings, &ReplayState::default()).expect("possible");
        let replay = Arc::new(SharedReplay::new(replay, Generation(0)));
        let (progress, stop) = (SharedStatus::default(), CancellationToken::new());
        let journal_writer = start(Arc::clone(&replay), progress.clone());
        let rules = crate::rules::rules(&config).expect("a valid configuration").into();
        let delivery = watch::Sender::default();
        let (kept, delivered) = (Arc::clone(&replay), delivery.subscribe());
        let intake =
            Intake::new(rules, journal_writer, kept, progress, delivered, &config, stop.clone());
        intake.welcome_actors(run);
        let server = GrpcServer::bind(config.listen, Limits::default()).await;
        let service = LearnerServiceServer::new(intake.clone());
        let server = server.expect("a free port").add_service(service, &[]);
        let url = format!("http://{}", server.local_addr());
        tokio::spawn(server.run_until(stop.clone()));
        Self { url, intake, replay, delivery, disk, server: stop.drop_guard() }
    }
}

/// The actor's end of a push.
struct PushStream {
    requests: mpsc::Sender<wire::PushRequest>,
    responses: Streaming<wire::PushResponse>,
}

impl PushStream {
    async fn open(url: String, hello: Hello) -> Self {
        let (requests, stream) = mpsc::channel(128);
        let hello = wire::PushRequest { message: Some(Ask::Hello(hello.into())) };
        requests.send(hello).await.expect("the receiver is here");
        let mut client = LearnerServiceClient::connect(url).await.expect("the port is open");
        let responses = client.push(ReceiverStream::new(stream)).await.expect("a stream");
        Self { requests, responses: responses.into_inner() }
    }

    /// The next answer, or the status that ends the stream.
    async fn answer(&mut self) -> Result<Answer, Status> {
        let response = self.responses.message().await?.expect("the stream is open");
        Ok(response.message.expect("an answer"))
    }
}

#[tokio::test]
async fn a_game_whose_replay_panics_is_refused_and_gives_its_permit_back() {
    let config = config();
    let settings = config.replay_settings().expect("valid");
    let replay = Replay::resume(settings, &ReplayState::default()).expect("valid");
    let replay = Arc::new(SharedReplay::new(replay, Generation(0)));
    let (progress, stop) = (SharedStatus::default(), CancellationToken::new());
    let disk = ouro_replay::testing::MemoryDisk::new();
    let (journal, _) = Journal::open(disk, b"", Default::default()).expect("an empty disk");
    let (journal_writer, _thread) =
        JournalWriter::start(journal, Arc::clone(&replay), progress.clone()).expect("a thread");
    let delivered = watch::Sender::default().subscribe();
    let rules = Arc::new(Faulty);
    let intake = Intake::new(rules, journal_writer, replay, progress, delivered, &config, stop);
    let hello = hello();
    for sequence in 1..=config.intake.replay_threads as u64 + 1 {
        let message = to_wire(sequence, &random_game(sequence));
        match stream::examine(&intake.shared, &hello, None, message).await.decision {
            Decision::Refuse(reason, _) => assert_eq!(reason, RefusalReason::Internal),
            Decision::Accept(_) => panic!("accepted"),
        }
    }
    assert_eq!(intake.shared.replays.available_permits(), config.intake.replay_threads);
}

#[test]
fn the_program_of_an_actor_is_the_first_word_of_a_plain_user_agent() {
    let named = |agent: &str| {
        let mut request = Request::new(());
        request.metadata_mut().insert("user-agent", agent.parse().expect("a header"));
        program(&request)
    };
    assert_eq!(named("ouro-actor/0.1.0 tonic/0.14.9"), "ouro-actor/0.1.0");
    assert_eq!(named(""), "");
    assert_eq!(named(&"x".repeat(MAX_PROGRAM)), "x".repeat(MAX_PROGRAM));
    assert_eq!(named(&"x".repeat(MAX_PROGRAM + 1)), "");
    assert_eq!(program(&Request::new(())), "");
}
