use super::*;
use crate::samples::RowShape;
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
        let message = random_game(sequence).try_into().expect("the configuration serialises");
        match intake.shared.take(&actor, message).await {
            Ok(Answer::Refused(refused)) => assert_eq!(refused.sequence, sequence),
            other => panic!("{other:?}"),
        }
        assert_eq!(queue.watermark(&actor), sequence);
    }
    assert_eq!(progress.get().refused.get("panicked"), Some(&(threads + 1)));
}
