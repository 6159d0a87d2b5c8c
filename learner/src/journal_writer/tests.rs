use std::sync::Mutex;
use std::task::{Context, Wake, Waker};

use ouro_net::Generation;
use ouro_replay::journal::{MAX_ACTORS, Options};
use ouro_replay::testing::{Faults, MemoryDisk};
use ouro_replay::{EncodedTrajectory, GameSummary, PositionRef, Replay, ReplayState};

use super::*;
use crate::testing::fifo;

const RUN: &[u8] = b"a test";

fn replay(max_positions: u64) -> Arc<SharedReplay> {
    let replay =
        Replay::resume(fifo(max_positions, 1, 9), &ReplayState::default()).expect("possible");
    Arc::new(SharedReplay::new(replay, Generation(0)))
}

fn start(
    disk: &MemoryDisk,
    replay: &Arc<SharedReplay>,
) -> (JournalWriter, JournalWriterThread, SharedStatus) {
    let (journal, _) = Journal::open(disk.clone(), RUN, Options::default()).expect("a journal");
    let progress = SharedStatus::default();
    let (writer, thread) =
        JournalWriter::start(journal, Arc::clone(replay), progress.clone()).expect("a thread");
    (writer, thread, progress)
}

/// A game with two positions.
fn accept() -> Decision {
    let positions = [PositionRef { ply: 0, mover: 0, seat: 0 }; 2];
    let game = EncodedTrajectory::new(*b"a game", Generation(3), positions);
    let summary = GameSummary { seats: Box::default(), plies: 1 };
    Decision::Accept(Box::new(AcceptedGame { game, returns: vec![1.0], summary }))
}

async fn decide(writer: &JournalWriter, session: &PushSession, sequence: u64, decision: Decision) {
    let (actor, epoch) = (Arc::clone(&session.actor), session.epoch);
    let permit = writer.room().await.expect("it runs");
    permit.send(Command::Decide { actor, epoch, sequence, decision });
}

async fn open(writer: &JournalWriter, claim: Option<u64>) -> Option<PushSession> {
    writer.open_session("a".to_owned(), claim).await.expect("it runs").ok()
}

async fn reaches(session: &mut PushSession, watermark: u64) {
    session.watermark.wait_for(|known| *known >= watermark).await.expect("it runs");
}

#[tokio::test]
async fn what_is_acknowledged_is_on_disk_and_in_the_replay() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (writer, thread, progress) = start(&disk, &replay);
    let mut own = open(&writer, None).await.expect("a new epoch");
    assert_eq!(own.epoch, 1);
    decide(&writer, &own, 1, accept()).await;
    decide(&writer, &own, 2, Decision::Refuse(RefusalReason::Stale, "old".to_owned())).await;
    decide(&writer, &own, 3, accept()).await;
    // A repeated game changes nothing, because its decision stands.
    decide(&writer, &own, 3, accept()).await;
    reaches(&mut own, 3).await;
    assert_eq!(replay.status().0.counters.inserts, 4);
    let reported = progress.get();
    assert_eq!((reported.games, reported.moves), (2, 4));
    assert_eq!(reported.refused.get(&RefusalReason::Stale), Some(&1));
    drop((writer, own));
    thread.join().await.expect("no panic").expect("a clean end");

    // A new process loads the same state, and the session resumes.
    let (writer, thread, _) = start(&disk, &self::replay(100));
    let mut again = open(&writer, Some(1)).await.expect("its last epoch");
    assert_eq!((again.epoch, *again.watermark.borrow_and_update()), (1, 3));
    drop((writer, again));
    thread.join().await.expect("no panic").expect("a clean end");
}

#[tokio::test]
async fn a_second_process_of_a_name_ends_the_epoch_of_the_first() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (writer, _thread, _) = start(&disk, &replay);
    let mut first = open(&writer, None).await.expect("a new epoch");
    let second = open(&writer, None).await.expect("a new epoch");
    assert_eq!((first.epoch, second.epoch), (1, 2));
    assert!(first.watermark.changed().await.is_err());
    assert!(first.is_fenced.load(Ordering::Acquire));
    assert!(open(&writer, Some(1)).await.is_none());
    assert!(open(&writer, Some(7)).await.is_none());
    decide(&writer, &first, 1, accept()).await;
    let mut second = second;
    decide(&writer, &second, 1, accept()).await;
    reaches(&mut second, 1).await;
    assert_eq!(replay.status().0.counters.inserts, 2);
}

#[tokio::test]
async fn a_second_connection_of_an_epoch_replaces_the_first_without_fencing_it() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (writer, _thread, _) = start(&disk, &replay);
    let mut first = open(&writer, None).await.expect("a new epoch");
    let second = open(&writer, Some(1)).await.expect("its last epoch");
    assert!(first.watermark.changed().await.is_err());
    assert!(!first.is_fenced.load(Ordering::Acquire));
    let mut third = open(&writer, Some(1)).await.expect("its last epoch");
    assert!(!second.is_fenced.load(Ordering::Acquire));
    decide(&writer, &third, 1, accept()).await;
    reaches(&mut third, 1).await;
}

/// Whether the queue was closed each time that a watermark changed.
struct Closings {
    writer: JournalWriter,
    closed: Mutex<Vec<bool>>,
}

impl Wake for Closings {
    fn wake(self: Arc<Self>) {
        self.closed.lock().expect("no panic").push(self.writer.is_closed());
    }
}

/// Before, the watermarks were closed first. A connection that looked in between took the end of the
/// thread for that of its session, and ended its actor for good.
#[tokio::test]
async fn the_queue_is_closed_before_the_watermarks() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (writer, thread, _) = start(&disk, &replay);
    let mut own = open(&writer, None).await.expect("a new epoch");
    let closings = Arc::new(Closings { writer: writer.clone(), closed: Mutex::default() });
    let waker = Waker::from(Arc::clone(&closings));
    let mut changed = Box::pin(own.watermark.changed());
    assert!(changed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    writer.close().await;
    thread.join().await.expect("no panic").expect("a clean end");
    assert_eq!(*closings.closed.lock().expect("no panic"), [true]);
}

#[tokio::test]
async fn while_there_is_no_room_no_game_is_accepted() {
    let (disk, replay) = (MemoryDisk::default(), replay(4));
    let (writer, _thread, _) = start(&disk, &replay);
    let mut own = open(&writer, None).await.expect("a new epoch");
    for sequence in 1..=4 {
        decide(&writer, &own, sequence, accept()).await;
    }
    reaches(&mut own, 2).await;
    assert_eq!(*own.watermark.borrow(), 2);
    assert_eq!(replay.draw(2).expect("it is open").batch.draws.len(), 2);
    reaches(&mut own, 3).await;
    assert_eq!(replay.draw(4).expect("it is open").batch.draws.len(), 4);
    reaches(&mut own, 4).await;
}

#[tokio::test]
async fn a_full_disk_is_reported_until_there_is_space() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (writer, _thread, progress) = start(&disk, &replay);
    let mut own = open(&writer, None).await.expect("a new epoch");
    disk.set_faults(Faults { capacity: Some(1), ..Faults::default() });
    decide(&writer, &own, 1, accept()).await;
    let conditions = || progress.get().conditions.describe();
    while conditions().is_none() {
        tokio::task::yield_now().await;
    }
    assert!(conditions().expect("some").starts_with("no space for"));
    // The condition of the training thread is independent of the journal's condition.
    progress.set_condition(Condition::TrainingState, Some("a training state".to_owned()));
    assert_eq!(*own.watermark.borrow(), 0);
    disk.set_faults(Faults::default());
    reaches(&mut own, 1).await;
    assert_eq!(conditions().as_deref(), Some("a training state"));
}

#[tokio::test]
async fn a_refusal_is_reported_to_the_session_that_is_open_when_it_is_decided() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (writer, _thread, _) = start(&disk, &replay);
    let first = open(&writer, None).await.expect("a new epoch");
    disk.set_faults(Faults { capacity: Some(1), ..Faults::default() });
    let refuse = || Decision::Refuse(RefusalReason::Stale, "old".to_owned());
    decide(&writer, &first, 1, refuse()).await;
    decide(&writer, &first, 2, accept()).await;
    // A second connection replaces the first while its games are not on disk yet.
    let mut second = open(&writer, Some(1)).await.expect("its last epoch");
    assert_eq!(*second.watermark.borrow_and_update(), 0);
    decide(&writer, &second, 1, accept()).await;
    disk.set_faults(Faults::default());
    reaches(&mut second, 2).await;
    let reported = second.refusals.report(0, 2);
    assert_eq!(reported.len(), 1);
    assert_eq!((reported[0].sequence, reported[0].reason), (1, RefusalReason::Stale));
    assert_eq!(replay.status().0.counters.inserts, 2, "the first decision stands");
}

#[tokio::test]
async fn a_refusal_that_a_disconnected_actor_may_have_missed_is_reported_again() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (writer, _thread, _) = start(&disk, &replay);
    let mut first = open(&writer, None).await.expect("a new epoch");
    let refusal = Decision::Refuse(RefusalReason::Stale, "old".to_owned());
    decide(&writer, &first, 1, refusal).await;
    reaches(&mut first, 1).await;
    assert_eq!(first.refusals.report(0, 1).len(), 1);
    drop(first);
    let mut other = writer.open_session("b".to_owned(), None).await.expect("it runs").expect("new");
    decide(&writer, &other, 1, accept()).await;
    reaches(&mut other, 1).await;
    let second = open(&writer, Some(1)).await.expect("its last epoch");
    assert_eq!(second.refusals.report(0, 1).len(), 1);
    assert!(second.refusals.report(1, 1).is_empty(), "it has seen that answer");
}

#[tokio::test]
async fn a_session_opens_while_there_is_no_room_for_games() {
    let (disk, replay) = (MemoryDisk::default(), replay(2));
    let (writer, _thread, _) = start(&disk, &replay);
    let mut own = open(&writer, None).await.expect("a new epoch");
    decide(&writer, &own, 1, accept()).await;
    reaches(&mut own, 1).await;
    assert!(!replay.has_room(2, 0));
    let mut other = writer.open_session("b".to_owned(), None).await.expect("it runs").expect("new");
    let refusal = Decision::Refuse(RefusalReason::Stale, "old".to_owned());
    decide(&writer, &other, 1, refusal).await;
    reaches(&mut other, 1).await;
}

/// Before, the request for a session was behind the games in the queue, so no actor that connected got
/// an answer until training had made room for all of them.
#[tokio::test]
async fn a_session_opens_while_games_wait_for_room_and_each_game_counts_once() {
    let (disk, replay) = (MemoryDisk::default(), replay(2));
    let (writer, _thread, _) = start(&disk, &replay);
    let mut own = open(&writer, None).await.expect("a new epoch");
    // The first game is accepted, the second waits for room, and the others fill the queue.
    let last = MAX_COMMANDS as u64 + 2;
    for sequence in 1..=last {
        decide(&writer, &own, sequence, accept()).await;
    }
    reaches(&mut own, 1).await;
    assert_eq!(writer.commands.capacity(), 0);
    let other = writer.open_session("b".to_owned(), None).await.expect("it runs");
    assert_eq!(other.expect("a new epoch").epoch, 2);
    let mut again = open(&writer, Some(1)).await.expect("its last epoch");
    assert_eq!(*again.watermark.borrow_and_update(), 1);
    assert!(own.watermark.changed().await.is_err(), "it is replaced");
    assert_eq!(writer.commands.capacity(), 0, "no game was accepted meanwhile");
    replay.take_all();
    // The actor sends the games without an acknowledgement again, and another one.
    for sequence in 2..=last + 1 {
        decide(&writer, &again, sequence, accept()).await;
    }
    reaches(&mut again, last + 1).await;
    assert_eq!(replay.status().0.counters.inserts, 2 * (last + 1));
}

#[tokio::test]
async fn games_that_wait_for_room_are_not_accepted_after_their_epoch_has_ended() {
    let (disk, replay) = (MemoryDisk::default(), replay(2));
    let (writer, _thread, _) = start(&disk, &replay);
    let mut first = open(&writer, None).await.expect("a new epoch");
    for sequence in 1..=3 {
        decide(&writer, &first, sequence, accept()).await;
    }
    reaches(&mut first, 1).await;
    let mut second = open(&writer, None).await.expect("a new epoch");
    assert_eq!(second.epoch, 2);
    assert!(first.watermark.changed().await.is_err());
    assert!(first.is_fenced.load(Ordering::Acquire));
    replay.take_all();
    decide(&writer, &second, 1, accept()).await;
    reaches(&mut second, 1).await;
    assert_eq!(replay.status().0.counters.inserts, 4, "one game of each epoch");
}

/// Before, the session of the longest silent actor ended, although it was connected. One caller that
/// opened sessions under many names thereby ended all other actors for good.
#[tokio::test]
async fn an_actor_is_not_forgotten_while_it_is_connected() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (writer, _thread, _) = start(&disk, &replay);
    let mut own = open(&writer, None).await.expect("a new epoch");
    let mut others = tokio::task::JoinSet::new();
    for number in 0..MAX_ACTORS {
        let writer = writer.clone();
        // Each session ends at once.
        others.spawn(async move {
            let opened = writer.open_session(format!("other {number}"), None).await;
            opened.expect("it runs").err()
        });
    }
    let refused: Vec<NotOpened> = others.join_all().await.into_iter().flatten().collect();
    assert_eq!(refused, [NotOpened::Full], "one name is too many");
    decide(&writer, &own, 1, accept()).await;
    reaches(&mut own, 1).await;
    // Now an actor that is not connected is the longest silent one, and is forgotten.
    let late = writer.open_session("late".to_owned(), None).await.expect("it runs");
    assert_eq!(late.expect("a new epoch").epoch, MAX_ACTORS as u64 + 1);
    let back = writer.open_session("other 0".to_owned(), Some(2)).await.expect("it runs");
    assert_eq!(back.err(), Some(NotOpened::Fenced));
    decide(&writer, &own, 2, accept()).await;
    reaches(&mut own, 2).await;
}

#[tokio::test]
async fn a_sync_that_fails_ends_the_thread() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (writer, thread, _) = start(&disk, &replay);
    let own = open(&writer, None).await.expect("a new epoch");
    disk.set_faults(Faults { sync_fails: true, ..Faults::default() });
    decide(&writer, &own, 1, accept()).await;
    let ended = thread.join().await.expect("no panic").expect_err("it cannot continue");
    assert!(matches!(ended, JournalWriterError::Journal(JournalError::Fatal { .. })), "{ended}");
    assert!(writer.open_session("b".to_owned(), None).await.is_err());
    assert_eq!(*own.watermark.borrow(), 0);
}
