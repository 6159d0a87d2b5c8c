//! The acknowledgements that an actor receives while the journal writer accepts no game.

use ouro_proto::learner::v1::push_request::Message as Ask;
use ouro_proto::learner::v1::push_response::Message as Answer;
use ouro_replay::testing::{Faults, MemoryDisk};

use super::*;
use crate::testing::{fifo, won_game};

/// Positions of a [`won_game`] that can be trained on.
const POSITIONS: usize = 3;

/// An actor with an open session. Only the test draws from the service's replay.
struct Pushed {
    stream: PushStream,
    replay: Arc<SharedReplay>,
    disk: MemoryDisk,
    _server: DropGuard,
}

impl Pushed {
    async fn start(max_positions: u64) -> Self {
        let Served { url, replay, disk, server, .. } =
            Served::start(fifo(max_positions, 1, 9), None).await;
        let mut stream = PushStream::open(url, hello()).await;
        let welcome = stream.answer().await;
        assert!(matches!(welcome, Ok(Answer::Welcome(_))), "{welcome:?}");
        Self { stream, replay, disk, _server: server }
    }

    async fn send(&self, sequence: u64) {
        let message = Some(Ask::Trajectory(to_wire(sequence, &won_game())));
        let requests = &self.stream.requests;
        requests.send(wire::PushRequest { message }).await.expect("the stream is open");
    }

    /// Watermark and pause of the next acknowledgement.
    async fn answer(&mut self) -> (u64, u32) {
        let answer = self.stream.answer().await;
        let Ok(Answer::Ack(ack)) = answer else { panic!("{answer:?}") };
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
