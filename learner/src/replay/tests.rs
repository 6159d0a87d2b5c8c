use std::sync::Arc;

use ouro_replay::{Growth, PositionRef, ReplaySettings, Settings, WindowSettings};

use super::*;
use crate::testing::fifo;

fn game(positions: usize) -> EncodedTrajectory {
    EncodedTrajectory::new(
        *b"",
        Generation(0),
        vec![PositionRef { ply: 0, mover: 0, seat: 0 }; positions],
    )
}

fn shared(settings: ReplaySettings) -> Arc<SharedReplay> {
    let replay = Replay::resume(settings, &ReplayState::default()).expect("possible");
    Arc::new(SharedReplay::new(replay, Generation(0)))
}

fn window() -> Arc<SharedReplay> {
    let window = WindowSettings {
        growth: Growth::fixed(1_000),
        max_bytes: 1 << 20,
        min_positions: 8,
        seed: 1,
    };
    let ratio = Settings {
        samples_per_insert: 2.0,
        warmup: 8,
        tolerance: 8.0,
        largest_insert: 4,
        largest_sample: 4,
    };
    shared(ReplaySettings::Window { window, ratio })
}

#[test]
fn actors_wait_for_training_and_training_for_actors() {
    let replay = window();
    for number in 0..3 {
        assert!(replay.has_room(4, 0));
        replay.insert(number, game(4)).expect("in order");
    }
    // 12 inserts allow 24 samples. 8 are due at the end of the warm-up, with a tolerance of 8.
    assert!(!replay.has_room(4, 0));
    for _ in 0..4 {
        assert_eq!(replay.draw(4).expect("it is open").batch.draws.len(), 4);
    }
    assert!(replay.has_room(4, 0) && !replay.has_room(4, 100));
    // A fifth draw would exceed the ratio, so it waits for another game.
    let drawing = std::thread::spawn({
        let replay = Arc::clone(&replay);
        move || replay.draw(4).is_some()
    });
    while replay.status().1.is_none() {
        std::thread::yield_now();
    }
    replay.insert(3, game(4)).expect("in order");
    assert!(drawing.join().expect("no panic"));
}

#[test]
fn a_batch_knows_where_the_replay_stood_after_it() {
    let replay = window();
    for number in 0..3 {
        replay.insert(number, game(4)).expect("in order");
    }
    let (first, second) = (replay.draw(4).unwrap(), replay.draw(4).unwrap());
    assert_eq!((first.index, second.index), (0, 1));
    assert_eq!(first.state.cursor.batches, 1);
    assert_eq!((first.state.counters.samples, second.state.counters.samples), (4, 8));
}

#[test]
fn whoever_leads_says_what_is_drawn_and_lets_everything_in() {
    let replay = window();
    replay.lead();
    for number in 0..9 {
        assert!(replay.has_room(1_000, 1_000));
        replay.insert(number, game(4)).expect("in order");
    }
    // 36 inserts allow 72 samples, and 8 more may be drawn ahead.
    assert!(replay.holds(16, 4) && !replay.holds(17, 4));
    let drawing = std::thread::spawn({
        let replay = Arc::clone(&replay);
        move || std::iter::from_fn(|| replay.draw(4)).map(|drawn| drawn.index).collect::<Vec<_>>()
    });
    for allowed in [2, 1] {
        let before = replay.status().0.counters.samples;
        replay.allow(allowed);
        while replay.status().0.counters.samples < before + 4 * allowed {
            std::thread::yield_now();
        }
        assert!(replay.holds(1, 4));
    }
    replay.close();
    assert_eq!(drawing.join().expect("no panic"), [0, 1, 2]);
}

#[test]
fn closing_wakes_whoever_draws_and_lets_in_what_is_journalled() {
    let replay = window();
    let drawing = std::thread::spawn({
        let replay = Arc::clone(&replay);
        move || replay.draw(4).is_none()
    });
    replay.close();
    assert!(drawing.join().expect("no panic"));
    assert!(replay.has_room(1_000, 1_000));
}

#[tokio::test]
async fn before_a_run_ends_there_is_room_for_all_and_training_goes_on() {
    let replay = shared(fifo(4, 4, 1));
    replay.insert(0, game(6)).expect("in order");
    let waiting = tokio::spawn({
        let replay = Arc::clone(&replay);
        async move { replay.room(1, 0).await }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    replay.take_all();
    waiting.await.expect("no panic");
    assert!(replay.has_room(1_000, 1_000));
    assert_eq!(replay.draw(4).expect("it is open").batch.draws.len(), 4);
}

#[tokio::test]
async fn whoever_waits_for_room_goes_on_when_a_batch_was_drawn() {
    let replay = shared(fifo(4, 4, 1));
    replay.insert(0, game(6)).expect("in order");
    assert!(!replay.has_room(1, 0));
    let waiting = tokio::spawn({
        let replay = Arc::clone(&replay);
        async move { replay.room(1, 0).await }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    assert_eq!(replay.draw(4).expect("it is open").batch.draws.len(), 4);
    waiting.await.expect("no panic");
    let (status, _) = replay.status();
    assert_eq!((status.positions, status.counters.inserts, status.counters.samples), (2, 6, 4));
}
