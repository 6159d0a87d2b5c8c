use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::samples::{RowShape, Samples};
use crate::testing::{config, random_game};
use crate::window::Window;

/// Rules with a fault.
struct Faulty;

impl Examiner for Faulty {
    fn examine(&self, _: &Trajectory, _: u32, _: Stream) -> Result<Examined, Refusal> {
        panic!("a fault in the rules");
    }

    fn shape(&self) -> RowShape {
        RowShape { planes: 1, actions: 1 }
    }
}

/// Takes any game as one move, and counts them.
struct Counting(Arc<AtomicUsize>);

impl Examiner for Counting {
    fn examine(&self, _: &Trajectory, _: u32, _: Stream) -> Result<Examined, Refusal> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let mut samples = Samples::new(self.shape());
        samples.planes.push(0.0);
        samples.legal.push(true);
        samples.actions.push(0);
        samples.behaviour.push(1.0);
        samples.returns.push(0.0);
        Ok(Examined { samples, returns: vec![0.0] })
    }

    fn shape(&self) -> RowShape {
        RowShape { planes: 1, actions: 1 }
    }
}

fn hello(actor: &ActorId) -> Hello {
    Hello { actor: actor.name.clone(), epoch: None, config: config().game, version: 1 }
}

#[tokio::test]
async fn a_game_that_waits_for_room_keeps_its_permit_so_that_no_more_are_expanded() {
    let examined = Arc::new(AtomicUsize::new(0));
    let examiner = Counting(Arc::clone(&examined));
    // Room for one move, and one replay at a time.
    let queue = Arc::new(Queue::new(Window::new(examiner.shape(), 1, &[])));
    let mut config = config();
    config.intake.replay_threads = 1;
    let (stop, progress) = (CancellationToken::new(), SharedProgress::default());
    let intake = Intake::new(Box::new(examiner), Arc::clone(&queue), progress, &config, stop);
    let take = |name: &str| {
        let (shared, name) = (Arc::clone(&intake.shared), name.to_owned());
        tokio::spawn(async move {
            let actor = ActorId { name, epoch: 1 };
            let message = random_game(1).into();
            shared.take(&actor, &hello(&actor), message).await.expect("an answer")
        })
    };
    take("first").await.expect("no panic");
    let waiting = take("second");
    while examined.load(Ordering::SeqCst) < 2 {
        tokio::task::yield_now().await;
    }
    let behind = take("third");
    // More turns than the second needs to get from its replay to the full queue.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(intake.shared.replays.available_permits(), 0);
    assert_eq!(examined.load(Ordering::SeqCst), 2);
    queue.take(1).expect("a batch");
    waiting.await.expect("no panic");
    while examined.load(Ordering::SeqCst) < 3 {
        tokio::task::yield_now().await;
    }
    queue.take(1).expect("a batch");
    behind.await.expect("no panic");
}

#[tokio::test]
async fn a_game_whose_replay_panics_is_refused_and_not_asked_for_again() {
    let queue = Arc::new(Queue::new(Window::new(Faulty.shape(), 8, &[])));
    let stop = CancellationToken::new();
    let progress = SharedProgress::default();
    let intake =
        Intake::new(Box::new(Faulty), Arc::clone(&queue), progress.clone(), &config(), stop);
    let actor = ActorId { name: "a".into(), epoch: 1 };
    let threads = config().intake.replay_threads as u64;
    for sequence in 1..=threads + 1 {
        let message = random_game(sequence).into();
        match intake.shared.take(&actor, &hello(&actor), message).await {
            Ok(Answer::Ack(ack)) => {
                assert_eq!((ack.watermark, ack.refusals[0].sequence), (sequence, sequence));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(queue.watermark(&actor), sequence);
    }
    assert_eq!(progress.get().refused.get(&RefusalReason::Internal), Some(&(threads + 1)));
}
