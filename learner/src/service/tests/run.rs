//! The runs whose actors a learner welcomes.

use ouro_proto::learner::v1::push_response::Message as Answer;

use super::*;
use crate::testing::fifo;

#[tokio::test]
async fn an_actor_of_another_run_is_refused_and_takes_no_epoch() {
    let [own, other] = [b"own", b"old"].map(|seed| RunId::of(seed));
    let served = Served::start(fifo(9, 1, 9), Some(own)).await;
    let first = async |run, epoch| {
        let hello = Hello { run, epoch, ..hello() };
        PushStream::open(served.url.clone(), hello).await.answer().await
    };
    let issued = |answer| match answer {
        Ok(Answer::Welcome(welcome)) => welcome.epoch,
        other => panic!("{other:?}"),
    };
    assert_eq!(issued(first(Some(own), None).await), 1);
    // An epoch of the other run may have the number of one that is valid here.
    for epoch in [None, Some(1)] {
        let status = first(Some(other), epoch).await.expect_err("a refusal");
        assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
        let says = format!("actor a plays for run {other}; this learner serves run {own}; ");
        assert!(status.message().starts_with(&says), "{status:?}");
    }
    assert_eq!(issued(first(Some(own), Some(1)).await), 1);
    // An actor that does not know its run yet is welcome.
    assert_eq!(issued(first(None, None).await), 2);
}

#[tokio::test]
async fn without_an_arena_actors_of_any_run_are_welcome() {
    let served = Served::start(fifo(9, 1, 9), None).await;
    let hello = Hello { run: Some(RunId::of(b"any")), ..hello() };
    let answer = PushStream::open(served.url.clone(), hello).await.answer().await;
    assert!(matches!(answer, Ok(Answer::Welcome(_))), "{answer:?}");
}
