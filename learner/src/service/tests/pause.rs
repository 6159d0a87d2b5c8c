//! The acknowledgements that an actor receives while the journal writer accepts no game.

use ouro_proto::learner::v1::learner_service_client::LearnerServiceClient;
use ouro_proto::learner::v1::learner_service_server::LearnerServiceServer;
use ouro_proto::learner::v1::push_request::Message as Ask;
use ouro_proto::learner::v1::push_response::Message as Answer;
use ouro_replay::testing::{Faults, MemoryDisk};
use ouro_service::GrpcServer;
use ouro_service::server::Limits;
use tokio_util::sync::DropGuard;

use super::*;
use crate::testing::{fifo, won_game};

/// Positions of a [`won_game`] that can be trained on.
const POSITIONS: usize = 3;

/// An actor with an open session. Only the test draws from the service's replay.
struct Pushed {
    requests: mpsc::Sender<wire::PushRequest>,
    responses: Streaming<wire::PushResponse>,
    replay: Arc<SharedReplay>,
    disk: MemoryDisk,
    _server: DropGuard,
}

impl Pushed {
    async fn start(max_positions: u64) -> Self {
        let config = config();
        let replay = Replay::resume(fifo(max_positions, 1, 9), &ReplayState::default());
        let replay = Arc::new(SharedReplay::new(replay.expect("possible"), Generation(0)));
        let (progress, stop) = (SharedStatus::default(), CancellationToken::new());
        let disk = MemoryDisk::new();
        let (journal, _) = Journal::open(disk.clone(), b"", Default::default()).expect("empty");
        let (journal_writer, _) =
            JournalWriter::start(journal, Arc::clone(&replay), progress.clone()).expect("a thread");
        let rules = crate::rules::rules(&config).expect("a valid configuration").into();
        let intake = Intake::new(
            rules,
            journal_writer,
            Arc::clone(&replay),
            progress,
            tokio::sync::watch::Sender::default().subscribe(),
            &config,
            stop.clone(),
        );
        intake.welcome_actors();
        let server = GrpcServer::bind(config.listen, Limits::default()).await;
        let server =
            server.expect("a free port").add_service(LearnerServiceServer::new(intake), &[]);
        let url = format!("http://{}", server.local_addr());
        tokio::spawn(server.run_until(stop.clone()));

        let (requests, stream) = mpsc::channel(128);
        let hello = Hello {
            actor: "a".to_owned(),
            epoch: None,
            answered: 0,
            config: Arc::new(config.game),
            version: 1,
        };
        let hello = wire::PushRequest { message: Some(Ask::Hello(hello.into())) };
        requests.send(hello).await.expect("the receiver is here");
        let mut client = LearnerServiceClient::connect(url).await.expect("the port is open");
        let responses = client.push(ReceiverStream::new(stream)).await.expect("a stream");
        let mut responses = responses.into_inner();
        let welcome = responses.message().await.expect("no status").expect("an answer").message;
        assert!(matches!(welcome, Some(Answer::Welcome(_))), "{welcome:?}");
        Self { requests, responses, replay, disk, _server: stop.drop_guard() }
    }

    async fn send(&self, sequence: u64) {
        let message = Some(Ask::Trajectory(to_wire(sequence, &won_game())));
        self.requests.send(wire::PushRequest { message }).await.expect("the stream is open");
    }

    /// Watermark and pause of the next acknowledgement.
    async fn answer(&mut self) -> (u64, u32) {
        let answer = self.responses.message().await.expect("no status").expect("an answer");
        let Some(Answer::Ack(ack)) = answer.message else { panic!("{answer:?}") };
        assert_eq!(ack.refusals, []);
        (ack.watermark, ack.pause_ms)
    }
}

#[tokio::test]
async fn on_a_full_disk_actors_are_asked_to_wait_for_each_attempt() {
    let mut actor = Pushed::start(100).await;
    actor.send(1).await;
    assert_eq!(actor.answer().await, (1, 0));
    actor.disk.set_faults(Faults { capacity: Some(1), ..Faults::default() });
    actor.send(2).await;
    assert_eq!([actor.answer().await, actor.answer().await], [(1, 1_000); 2]);
    actor.disk.set_faults(Faults::default());
    let mut last = (1, 1_000);
    while last == (1, 1_000) {
        last = actor.answer().await;
    }
    assert_eq!(last, (2, 0));
}

#[tokio::test]
async fn far_ahead_of_training_actors_are_asked_to_wait_and_close_to_it_they_are_not() {
    const GAMES: u64 = 100;
    let mut actor = Pushed::start(POSITIONS as u64 + 1).await;
    for sequence in 1..=GAMES {
        actor.send(sequence).await;
    }
    // Two games fill the replay.
    let mut answers = Vec::new();
    while answers.last().is_none_or(|&(watermark, _)| watermark < 2) {
        answers.push(actor.answer().await);
    }
    // Each drawn game makes room for another.
    for watermark in 3..=GAMES {
        assert_eq!(actor.replay.draw(POSITIONS).expect("open").batch.draws.len(), POSITIONS);
        answers.push(actor.answer().await);
        assert_eq!(answers.last().map(|answer| answer.0), Some(watermark));
    }
    assert!(answers.iter().all(|&(_, pause)| [0, 50].contains(&pause)), "{answers:?}");
    assert!(answers.iter().any(|&(_, pause)| pause == 50), "{answers:?}");
    // By then fewer than half of the journal writer's queue is left.
    assert!(answers.iter().rev().take(32).all(|&(_, pause)| pause == 0), "{answers:?}");
}
