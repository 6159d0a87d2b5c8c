//! Sessions that another connection takes over, and sessions whose games the journal has lost.

use ouro_replay::Policy;

use super::*;
use crate::testing::{fifo, won_game};

/// Opens a session that continues `epoch` after `answered` games.
async fn opened(served: &Served, epoch: Option<u64>, answered: u64) -> PushStream {
    PushStream::open(served.url.clone(), Hello { epoch, answered, ..hello() }).await
}

/// The epoch and the watermark of the welcome.
async fn welcome(stream: &mut PushStream) -> (u64, u64) {
    match stream.answer().await {
        Ok(Answer::Welcome(welcome)) => (welcome.epoch, welcome.watermark),
        other => panic!("{other:?}"),
    }
}

/// Sends a game.
async fn send(stream: &PushStream, game: wire::Trajectory) {
    let message = Some(Ask::Trajectory(game));
    stream.requests.send(wire::PushRequest { message }).await.expect("the stream is open");
}

/// The watermark of the next acknowledgement, and the numbers of the refused games.
async fn acknowledged(stream: &mut PushStream) -> (u64, Vec<u64>) {
    match stream.answer().await {
        Ok(Answer::Ack(ack)) => {
            (ack.watermark, ack.refusals.iter().map(|refusal| refusal.sequence).collect())
        }
        other => panic!("{other:?}"),
    }
}

/// Before, the connection whose hello came first ended with the code after which an actor gives up,
/// although the other hello was only an older one that the network had delayed.
#[tokio::test]
async fn a_connection_that_is_replaced_under_its_epoch_may_connect_again() {
    let served = Served::start(fifo(100, 1, 9), None).await;
    let mut first = opened(&served, None, 0).await;
    assert_eq!(welcome(&mut first).await, (1, 0));
    let mut second = opened(&served, Some(1), 0).await;
    assert_eq!(welcome(&mut second).await, (1, 0));
    let status = first.answer().await.expect_err("it is replaced");
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    assert!(status.message().contains("another connection of actor a"), "{status:?}");

    let mut third = opened(&served, Some(1), 0).await;
    assert_eq!(welcome(&mut third).await, (1, 0));
    let status = second.answer().await.expect_err("it is replaced");
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    // Another process of that name still ends the epoch for good.
    let mut other = opened(&served, None, 0).await;
    assert_eq!(welcome(&mut other).await, (2, 0));
    let status = third.answer().await.expect_err("it is fenced");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
}

#[tokio::test]
async fn acknowledged_games_that_the_journal_lacks_are_named_to_their_actor() {
    let served = Served::start(fifo(100, 1, 9), None).await;
    let mut stream = opened(&served, None, 0).await;
    assert_eq!(welcome(&mut stream).await, (1, 0));
    send(&stream, to_wire(1, &won_game())).await;
    assert_eq!(acknowledged(&mut stream).await, (1, vec![]));

    let status = opened(&served, Some(1), 3).await.answer().await.expect_err("games are missing");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
    let expected =
        "the journal lacks games 2 to 3 of epoch 1 of actor a, which were acknowledged; ";
    assert!(status.message().starts_with(expected), "{status:?}");
    // Without an epoch, the number of answered games is ignored.
    assert_eq!(welcome(&mut opened(&served, Some(1), 1).await).await, (1, 1));
    assert_eq!(welcome(&mut opened(&served, None, 3).await).await, (2, 0));
}

/// Before, the epoch of an actor whose entry the journal had lost was issued to another process of
/// that name, so that both numbered their games alike.
#[tokio::test]
async fn an_epoch_that_the_journal_lost_is_refused_and_not_issued_again() {
    let served = Served::start(fifo(100, 1, 9), None).await;
    let status = opened(&served, Some(3), 7).await.answer().await.expect_err("a refusal");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
    assert!(status.message().starts_with("epoch 3 of actor a is not its last one"), "{status:?}");
    assert_eq!(welcome(&mut opened(&served, None, 0).await).await, (4, 0));
}

/// Before, the second acknowledgement had no refusal. The actor sends the game again only after the
/// first one, so it counted the game as accepted.
#[tokio::test]
async fn a_refusal_that_came_before_its_game_was_sent_again_is_repeated() {
    let disk = MemoryDisk::new();
    let (mut journal, _) = Journal::open(disk.clone(), b"", Default::default()).expect("empty");
    journal.greet("a", None).expect("a short name");
    journal.commit().expect("there is room");
    // The first refusal stays uncommitted until another actor gets an epoch.
    let commits = Policy { delay: Duration::from_secs(3_600), entries: 2, ..Policy::default() };
    let start = |replay, progress| {
        let (journal_writer, writing) = JournalWriter::new(journal, replay, progress, commits);
        tokio::spawn(writing);
        journal_writer
    };
    let served = Served::with_writer(fifo(100, 1, 9), None, disk, start).await;
    let forged = || wire::Trajectory { seats: Vec::new(), ..to_wire(1, &won_game()) };

    let mut first = opened(&served, Some(1), 0).await;
    assert_eq!(welcome(&mut first).await, (1, 0));
    send(&first, forged()).await;
    let actors = &served.intake.shared.progress.figures().actors;
    // A refusal is counted in the step that sends it to the journal writer, before any later hello.
    while actors.list(Instant::now()).iter().all(|actor| actor.refused == 0) {
        tokio::task::yield_now().await;
    }
    let mut second = opened(&served, Some(1), 0).await;
    assert_eq!(welcome(&mut second).await, (1, 0));
    let hello = Hello { actor: "b".to_owned(), ..hello() };
    let mut other = PushStream::open(served.url.clone(), hello).await;
    assert_eq!(welcome(&mut other).await, (2, 0));
    assert_eq!(acknowledged(&mut second).await, (1, vec![1]));
    send(&second, forged()).await;
    assert_eq!(acknowledged(&mut second).await, (1, vec![1]));
}

/// Before, the actor got no answer until training had made room, and the metric of connected actors did not
/// count it.
#[tokio::test]
async fn an_actor_is_welcomed_and_counted_while_a_game_waits_for_room() {
    // A game has three positions.
    let served = Served::start(fifo(3, 1, 9), None).await;
    let mut first = opened(&served, None, 0).await;
    assert_eq!(welcome(&mut first).await, (1, 0));
    for sequence in [1, 2] {
        send(&first, to_wire(sequence, &won_game())).await;
    }
    assert_eq!(acknowledged(&mut first).await, (1, vec![]));
    let figures = served.intake.shared.progress.figures();
    // Nothing is drawn, so the second game waits from then on.
    while figures.intake.seconds(Instant::now())[0] == ("training", 0.0) {
        tokio::task::yield_now().await;
    }
    let hello = Hello { actor: "b".to_owned(), ..hello() };
    let mut other = PushStream::open(served.url.clone(), hello).await;
    assert_eq!(welcome(&mut other).await, (2, 0));
    assert_eq!(figures.actors.count(), 2);
    // The first actor may connect again as well.
    assert_eq!(welcome(&mut opened(&served, Some(1), 1).await).await, (1, 1));
}

/// Before, actors learned of generations that the arena did not have yet, and asked it for them.
#[tokio::test]
async fn actors_learn_of_the_newest_generation_of_the_arena_and_not_of_training() {
    let served = Served::start(fifo(100, 1, 9), None).await;
    served.intake.shared.progress.update(|progress| progress.generation = Generation(5));
    served.delivery.send_replace(Delivery { newest: Some(Generation(4)), error: None });
    let mut stream = opened(&served, None, 0).await;
    let answer = stream.answer().await;
    assert!(
        matches!(&answer, Ok(Answer::Welcome(welcome)) if welcome.newest_generation == 4),
        "{answer:?}"
    );
    send(&stream, to_wire(1, &won_game())).await;
    let answer = stream.answer().await;
    assert!(matches!(&answer, Ok(Answer::Ack(ack)) if ack.newest_generation == 4), "{answer:?}");
}
