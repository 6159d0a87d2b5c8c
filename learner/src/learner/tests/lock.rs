//! The lock of a learner's folder during a stop.

use ouro_net::Generation;
use ouro_replay::JournalError;

use super::*;
use crate::training_state::{ResumeError, StoppedLearner};

#[tokio::test]
async fn the_folder_stays_locked_after_the_journal_is_closed() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    let learner = Learner::bind(config).await.expect("a valid configuration");
    let Learner { journal_writer, journal_thread, lock, .. } = learner;
    journal_writer.close().await;
    journal_thread.join().await.expect("no panic").expect("the journal is sound");
    let refused = StoppedLearner::open(directory.path());
    let is_locked = matches!(refused, Err(ResumeError::Journal(JournalError::Locked { .. })));
    assert!(is_locked, "{refused:?}");
    drop(lock);
    StoppedLearner::open(directory.path()).expect("it is stopped");
}

/// Before, the lock ended with the journal, and a second learner could start before the last state
/// was there.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_opens_the_folder_of_a_stopping_learner_finds_its_last_state() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    // Only the stop makes a generation.
    config.training_states.every_steps = 1_000_000;
    let running = Running::start(config).await;
    let mut actor = Actor::connect(running.address, Actor::hello(None)).await.unwrap();
    actor.answer().await.unwrap();
    let mut sequence = 0;
    while running.progress.get().step == 0 {
        sequence += 1;
        actor.push(message(sequence)).await;
    }
    drop(actor);
    let folder = directory.path().to_owned();
    let opening = tokio::task::spawn_blocking(move || {
        loop {
            match StoppedLearner::open(&folder) {
                Ok(stopped) => {
                    let newest = stopped.states().last().expect("a state").content.as_ref();
                    return newest.expect("it is whole").generation;
                }
                Err(ResumeError::Journal(JournalError::Locked { .. })) => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        }
    });
    running.stop().await;
    assert_eq!(opening.await.expect("no panic"), Generation(1));
}
