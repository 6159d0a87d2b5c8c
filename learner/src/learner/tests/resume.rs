//! Runs that resume from another training state than the newest.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ouro_net::{Generation, RunId};
use ouro_proto::arena::v1::pool_service_server::PoolServiceServer;
use ouro_replay::check::inspect;
use ouro_testkit::server::{self, Served};
use tokio::task::JoinHandle;

use super::arena::{FakeArena, FakePool, Publication, save_generation, until};
use super::*;
use crate::training_state::{FoundState, StoppedLearner, training_states};

/// Serves an arena whose newest generation is `newest`, and counts it there.
async fn arena(newest: Option<u32>) -> (Served, Arc<AtomicU32>, Arc<Mutex<FakePool>>) {
    let count = Arc::new(AtomicU32::new(newest.unwrap_or_default()));
    let away = Arc::new(AtomicBool::new(false));
    let answer = Publication::Take { newest: Arc::clone(&count), away };
    let arena = FakeArena::new(newest, answer);
    let pool = Arc::clone(&arena.pool);
    (server::serve(PoolServiceServer::new(arena)).await, count, pool)
}

/// An actor that plays the newest weights of the arena until it is aborted.
async fn play(running: &Running, newest: &Arc<AtomicU32>) -> JoinHandle<()> {
    let mut actor = Actor::connect(running.address, Actor::hello(None)).await.unwrap();
    actor.answer().await.unwrap();
    let newest = Arc::clone(newest);
    tokio::spawn(async move {
        for sequence in 1.. {
            let mut game = random_game(sequence);
            for seat in &mut game.seats {
                seat.generation = Some(Generation(newest.load(Ordering::Relaxed)));
            }
            actor.send(to_wire(sequence, &game)).await;
            while !matches!(
                actor.answer().await,
                Ok(Some(Answer::Ack(wire::Ack { watermark, .. }))) if watermark >= sequence
            ) {}
        }
    })
}

/// Trains until there are a few generations, and stops. Returns the last one, which was published.
async fn train(config: &mut Config) -> u32 {
    // No game becomes stale, even on a machine that trains fast.
    config.intake.max_staleness = 1_000;
    // Generation 0 stays, which fits every journal.
    config.training_states.kept = 1_000;
    config.training_states.publish_grace_ms = 60_000;
    let (arena, newest, _) = arena(None).await;
    config.arena = Some(arena.url.clone());
    let running = Running::start(config.clone()).await;
    let playing = play(&running, &newest).await;
    until(&running, |status| status.generation >= Generation(4)).await;
    playing.abort();
    let published = running.stop().await.generation.0;
    assert_eq!(newest.load(Ordering::Relaxed), published);
    published
}

/// Resumes the run from generation `saved` with an arena that does not have the generation `last`.
/// Trains until the arena has two generations above it, which proves that training does not wait
/// for `last`. The first one continues `saved`.
async fn resume(mut config: Config, saved: u32, last: u32) {
    let (arena, newest, pool) = arena(Some(last - 1)).await;
    config.arena = Some(arena.url.clone());
    let running = Running::start(config).await;
    let playing = play(&running, &newest).await;
    until(&running, |_| newest.load(Ordering::Relaxed) > last + 1).await;
    playing.abort();
    let status = running.stop().await;
    assert!(status.refused.is_empty(), "{:?}", status.refused);
    let parents = pool.lock().unwrap().parents.clone();
    let first = parents.range(last + 1..).next();
    assert_eq!(first, Some((&(last + 1), &Some(saved))), "{parents:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn training_does_not_wait_for_a_damaged_generation_that_never_reached_the_arena() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    let last = train(&mut config).await;
    let states = training_states(directory.path()).unwrap();
    let newest = states.last().expect("a state");
    fs::remove_file(newest.path.join("state.json")).expect("it is whole");
    resume(config, last - 1, last).await;
}

fn segment(directory: &Path) -> PathBuf {
    directory.join("journal/segment-000000000001.journal")
}

/// Removes bytes from the end of the journal until the newest state needs games that are gone, and
/// a commit is cut short. Returns all states, the numbers of the games left, and the cut commit.
fn shorten(directory: &Path) -> (Vec<FoundState>, std::ops::Range<u64>, Vec<u8>) {
    let states = training_states(directory).unwrap();
    let newest = states.last().expect("a state").content.as_ref().expect("it is whole").replay;
    let mut bytes = fs::read(segment(directory)).unwrap();
    loop {
        bytes.pop();
        fs::write(segment(directory), &bytes).unwrap();
        let found = inspect(&directory.join("journal"), |_, _| {}).unwrap();
        if found.records.end < newest.cursor.next && found.torn > 0 {
            let torn = bytes.split_off(bytes.len() - found.torn as usize);
            return (states, found.records, torn);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_lost_games_is_refused_and_resumes_from_an_older_state_on_request() {
    let run = tempfile::tempdir().unwrap();
    let directory = run.path().join("learner");
    let mut config = config();
    config.training_states.directory = directory.clone();
    let published = train(&mut config).await;

    let (states, games, torn) = shorten(&directory);
    let fitting = states.iter().rfind(|state| state.fits(&games)).expect("one fits");
    let Generation(older) = fitting.content.as_ref().expect("it is whole").generation;
    assert!(older < published, "{states:?}");
    let refused = async || match Learner::bind(config.clone()).await {
        Err(refused @ LearnerError::Unfit(_)) => refused.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the start is refused"),
    };
    let said = refused().await;
    let newest = states.last().expect("a state").path.display();
    assert!(said.starts_with(&format!("{newest} (generation-{published}) needs ")), "{said}");
    assert!(said.contains(&format!("the journal holds 0 to {}; ", games.end)), "{said}");
    let command = format!("ouro states {} --resume-from {older}", run.path().display());
    assert!(said.contains(&fitting.path.display().to_string()) && said.ends_with(&command));
    // The refusal repeats, and nothing is lost.
    assert_eq!(refused().await, said);
    assert!(states.iter().all(|state| state.path.exists()));
    let cut = segment(&directory).with_added_extension("cut-1");
    assert_eq!(fs::read(cut).expect("the cut bytes are kept"), torn);

    let moved = StoppedLearner::open(&directory).unwrap().resume_from(Generation(older)).unwrap();
    assert!(!moved.is_empty() && moved.iter().all(|path| path.exists()), "{moved:?}");
    // The number of a generation that was set aside stays taken, published or not.
    resume(config, older, published).await;
    let generation = |state: &FoundState| state.content.as_ref().expect("it is whole").generation.0;
    let generations: Vec<_> = training_states(&directory).unwrap().iter().map(generation).collect();
    let is_free = |generation: &u32| *generation <= older || *generation > published;
    assert!(generations.iter().all(is_free), "{generations:?}, {older} to {published}");
}

#[test]
fn a_kill_after_the_first_save_above_lost_generations_does_not_end_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    config.training_states.kept = 10;
    let (run, rules) = (RunId::of(b"run"), crate::rules::rules(&config).unwrap());
    let load = || start::resume(&config, &*rules).unwrap().0;
    let arena = |newest| ArenaRun { run: Some(run), newest: Some(Generation(newest)) };
    let mut resumed = load();
    resumed.join(arena(0), directory.path()).expect("a new run");
    (1..=4).for_each(|generation| save_generation(&mut resumed, generation));

    // The arena has generation 2. Those after it, and 2 itself, are set aside.
    let stopped = StoppedLearner::open(directory.path()).unwrap();
    assert_eq!(stopped.resume_from(Generation(1)).unwrap().len(), 3);
    let mut resumed = load();
    resumed.join(arena(2), directory.path()).expect("3 and 4 may be unpublished");
    // The next generation is saved, and the learner is killed before the arena has it.
    let next = resumed.taken.next().0;
    save_generation(&mut resumed, next);
    let mut resumed = load();
    assert_eq!(resumed.taken, Generation(5));
    resumed.join(arena(2), directory.path()).expect("it has the generation before");
    check_arena_fits(directory.path(), run, Some(Generation(2))).expect("as at a start");

    // An arena without the generation that training resumed from is of an earlier time.
    let started = resumed.join(arena(0), directory.path());
    let checked = check_arena_fits(directory.path(), run, Some(Generation(0)));
    for behind in [started, checked.map(drop)] {
        assert!(matches!(behind, Err(LearnerError::ArenaBehind { .. })), "{behind:?}");
    }
}
