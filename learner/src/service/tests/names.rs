//! More names of actors than a learner remembers.

use super::*;
use crate::testing::{fifo, won_game};

#[tokio::test]
async fn a_name_too_many_is_refused_for_now_and_the_connected_actor_goes_on() {
    let served = Served::start(fifo(100, 1, 9), None).await;
    let mut connected = PushStream::open(served.url.clone(), hello()).await;
    let welcome = connected.answer().await;
    assert!(matches!(welcome, Ok(Answer::Welcome(_))), "{welcome:?}");
    let mut others = tokio::task::JoinSet::new();
    for number in 1..MAX_ACTORS {
        let writer = served.intake.shared.journal_writer.clone();
        // Each session ends at once.
        others.spawn(async move {
            let opened = writer.open_session(format!("other {number}"), None).await;
            opened.expect("it runs").is_ok()
        });
    }
    assert!(others.join_all().await.into_iter().all(|is_opened| is_opened));
    let last = async || {
        let hello = Hello { actor: "last".to_owned(), ..hello() };
        PushStream::open(served.url.clone(), hello).await.answer().await
    };
    let status = last().await.expect_err("a refusal");
    // A code after which actors try again.
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert!(status.message().starts_with("this learner remembers 4096 names"), "{status:?}");

    let message = Some(Ask::Trajectory(to_wire(1, &won_game())));
    let game = wire::PushRequest { message };
    connected.requests.send(game).await.expect("the stream is open");
    let answer = connected.answer().await;
    assert!(matches!(&answer, Ok(Answer::Ack(ack)) if ack.watermark == 1), "{answer:?}");
    let welcome = last().await;
    assert!(matches!(welcome, Ok(Answer::Welcome(_))), "{welcome:?}");
}
