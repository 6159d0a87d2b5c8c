use ouro_replay::journal::Options;
use ouro_replay::testing::{Faults, MemoryDisk};
use ouro_replay::{EncodedTrajectory, PositionRef, Replay, ReplayState};

use super::*;
use crate::testing::fifo;

const RUN: &[u8] = b"a test";

fn replay(max_positions: u64) -> Arc<SharedReplay> {
    let replay =
        Replay::resume(fifo(max_positions, 1, 9), &ReplayState::default()).expect("possible");
    Arc::new(SharedReplay::new(replay, Generation(0)))
}

fn ledger(disk: &MemoryDisk, replay: &Arc<SharedReplay>) -> (Ledger, LedgerThread, SharedStatus) {
    let (journal, _) = Journal::open(disk.clone(), RUN, Options::default()).expect("a journal");
    let progress = SharedStatus::default();
    let (ledger, thread) =
        Ledger::start(journal, Arc::clone(replay), progress.clone()).expect("a thread");
    (ledger, thread, progress)
}

/// A game with two positions.
fn accept() -> Decision {
    let positions = [PositionRef { ply: 0, mover: 0, seat: 0 }; 2];
    let game = EncodedTrajectory::new(*b"a game", Generation(3), positions);
    Decision::Accept(Box::new(AcceptedGame { game, returns: vec![1.0] }))
}

async fn decide(ledger: &Ledger, life: &Life, sequence: u64, decision: Decision) {
    let (actor, epoch) = (Arc::clone(&life.actor), life.epoch);
    let permit = ledger.room().await.expect("it runs");
    permit.send(Order::Decide { actor, epoch, sequence, decision });
}

async fn life(ledger: &Ledger, claim: Option<u64>) -> Option<Life> {
    ledger.greet("a".to_owned(), claim).await.expect("it runs")
}

async fn reaches(life: &mut Life, watermark: u64) {
    life.watermark.wait_for(|known| *known >= watermark).await.expect("it runs");
}

#[tokio::test]
async fn what_is_told_as_decided_is_on_disk_and_in_the_replay() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (ledger, thread, progress) = ledger(&disk, &replay);
    let mut own = life(&ledger, None).await.expect("a new life");
    assert_eq!(own.epoch, 1);
    decide(&ledger, &own, 1, accept()).await;
    decide(&ledger, &own, 2, Decision::Refuse(RefusalReason::Stale, "old".to_owned())).await;
    decide(&ledger, &own, 3, accept()).await;
    // Again: decided before, so it changes nothing.
    decide(&ledger, &own, 3, accept()).await;
    reaches(&mut own, 3).await;
    assert_eq!(replay.status().0.counters.inserts, 4);
    let told = progress.get();
    assert_eq!((told.games, told.moves), (2, 4));
    assert_eq!(told.refused.get(&RefusalReason::Stale), Some(&1));
    drop((ledger, own));
    thread.join().await.expect("no panic").expect("a clean end");

    // Another process: the same state, and the life goes on.
    let (ledger, thread, _) = self::ledger(&disk, &self::replay(100));
    let mut again = life(&ledger, Some(1)).await.expect("its last life");
    assert_eq!((again.epoch, *again.watermark.borrow_and_update()), (1, 3));
    drop((ledger, again));
    thread.join().await.expect("no panic").expect("a clean end");
}

#[tokio::test]
async fn a_second_process_of_a_name_ends_the_first_ones_life() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (ledger, _thread, _) = ledger(&disk, &replay);
    let mut first = life(&ledger, None).await.expect("a new life");
    let second = life(&ledger, None).await.expect("a new life");
    assert_eq!((first.epoch, second.epoch), (1, 2));
    assert!(first.watermark.changed().await.is_err());
    assert!(life(&ledger, Some(1)).await.is_none());
    assert!(life(&ledger, Some(7)).await.is_none());
    decide(&ledger, &first, 1, accept()).await;
    let mut second = second;
    decide(&ledger, &second, 1, accept()).await;
    reaches(&mut second, 1).await;
    assert_eq!(replay.status().0.counters.inserts, 2);
}

#[tokio::test]
async fn while_there_is_no_room_nothing_more_is_taken_in() {
    let (disk, replay) = (MemoryDisk::default(), replay(4));
    let (ledger, _thread, _) = ledger(&disk, &replay);
    let mut own = life(&ledger, None).await.expect("a new life");
    for sequence in 1..=4 {
        decide(&ledger, &own, sequence, accept()).await;
    }
    reaches(&mut own, 2).await;
    assert_eq!(*own.watermark.borrow(), 2);
    assert_eq!(replay.draw(2).expect("it is open").batch.draws.len(), 2);
    reaches(&mut own, 3).await;
    assert_eq!(replay.draw(4).expect("it is open").batch.draws.len(), 4);
    reaches(&mut own, 4).await;
}

#[tokio::test]
async fn a_full_disk_is_told_and_waited_for() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (ledger, _thread, progress) = ledger(&disk, &replay);
    let mut own = life(&ledger, None).await.expect("a new life");
    disk.set_faults(Faults { capacity: Some(1), ..Faults::default() });
    decide(&ledger, &own, 1, accept()).await;
    let conditions = || progress.get().conditions.describe();
    while conditions().is_none() {
        tokio::task::yield_now().await;
    }
    assert!(conditions().expect("some").starts_with("no space for"));
    // What the training thread waits for is its own.
    progress.set_condition(Condition::Checkpoint, Some("a checkpoint".to_owned()));
    assert_eq!(*own.watermark.borrow(), 0);
    disk.set_faults(Faults::default());
    reaches(&mut own, 1).await;
    assert_eq!(conditions().as_deref(), Some("a checkpoint"));
}

#[tokio::test]
async fn a_refusal_is_told_to_the_stream_that_is_there_when_it_is_decided() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (ledger, _thread, _) = ledger(&disk, &replay);
    let first = life(&ledger, None).await.expect("a new life");
    disk.set_faults(Faults { capacity: Some(1), ..Faults::default() });
    let refuse = || Decision::Refuse(RefusalReason::Stale, "old".to_owned());
    decide(&ledger, &first, 1, refuse()).await;
    decide(&ledger, &first, 2, accept()).await;
    // The connection breaks before anything is on disk; what it brought in is still on its way.
    let mut second = life(&ledger, Some(1)).await.expect("its last life");
    assert_eq!(*second.watermark.borrow_and_update(), 0);
    decide(&ledger, &second, 1, accept()).await;
    disk.set_faults(Faults::default());
    reaches(&mut second, 2).await;
    let told = second.refusals.tell(0, 2);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].sequence, told[0].reason), (1, RefusalReason::Stale));
    assert_eq!(replay.status().0.counters.inserts, 2, "the first decision stands");
}

#[tokio::test]
async fn what_an_actor_that_is_gone_may_have_missed_is_told_when_it_comes_back() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (ledger, _thread, _) = ledger(&disk, &replay);
    let mut first = life(&ledger, None).await.expect("a new life");
    let refusal = Decision::Refuse(RefusalReason::Stale, "old".to_owned());
    decide(&ledger, &first, 1, refusal).await;
    reaches(&mut first, 1).await;
    assert_eq!(first.refusals.tell(0, 1).len(), 1);
    drop(first);
    let mut other = ledger.greet("b".to_owned(), None).await.expect("it runs").expect("new");
    decide(&ledger, &other, 1, accept()).await;
    reaches(&mut other, 1).await;
    let second = life(&ledger, Some(1)).await.expect("its last life");
    assert_eq!(second.refusals.tell(0, 1).len(), 1);
    assert!(second.refusals.tell(1, 1).is_empty(), "it has seen that answer");
}

#[tokio::test]
async fn an_actor_is_greeted_while_there_is_no_room_for_games() {
    let (disk, replay) = (MemoryDisk::default(), replay(2));
    let (ledger, _thread, _) = ledger(&disk, &replay);
    let mut own = life(&ledger, None).await.expect("a new life");
    decide(&ledger, &own, 1, accept()).await;
    reaches(&mut own, 1).await;
    assert!(!replay.has_room(2, 0));
    let mut other = ledger.greet("b".to_owned(), None).await.expect("it runs").expect("new");
    let refusal = Decision::Refuse(RefusalReason::Stale, "old".to_owned());
    decide(&ledger, &other, 1, refusal).await;
    reaches(&mut other, 1).await;
}

#[tokio::test]
async fn the_stream_of_an_actor_that_was_forgotten_ends() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (ledger, _thread, _) = ledger(&disk, &replay);
    let mut forgotten = life(&ledger, None).await.expect("a new life");
    let mut others = tokio::task::JoinSet::new();
    for number in 0..ouro_replay::journal::MAX_ACTORS {
        let ledger = ledger.clone();
        others.spawn(async move { ledger.greet(format!("other {number}"), None).await });
    }
    others.join_all().await;
    assert!(forgotten.watermark.changed().await.is_err());
}

#[tokio::test]
async fn a_sync_that_fails_ends_the_ledger() {
    let (disk, replay) = (MemoryDisk::default(), replay(100));
    let (ledger, thread, _) = ledger(&disk, &replay);
    let own = life(&ledger, None).await.expect("a new life");
    disk.set_faults(Faults { sync_fails: true, ..Faults::default() });
    decide(&ledger, &own, 1, accept()).await;
    let ended = thread.join().await.expect("no panic").expect_err("it cannot go on");
    assert!(matches!(ended, LedgerError::Journal(JournalError::Fatal { .. })), "{ended}");
    assert!(ledger.greet("b".to_owned(), None).await.is_err());
    assert_eq!(*own.watermark.borrow(), 0);
}
