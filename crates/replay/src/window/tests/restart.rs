//! Tests that a restarted window has the same content and draws.

use std::ops::ControlFlow;

use super::*;
use crate::journal::{Journal, Options, Record};
use crate::testing::MemoryDisk;

fn game(number: u64) -> Game {
    let odd = [1.0, 0.4, 2.6][number as usize % 3];
    Game { odd, ..Game::new(number, (number * 37 % 23) as u32) }
}

fn grown() -> WindowSettings {
    let growth = Growth { start: 300, power: 0.75, slope: 0.4 };
    WindowSettings { growth, max_bytes: 40_000, min_positions: 50, seed: 9 }
}

#[test]
fn a_window_filled_again_from_the_journal_draws_the_same_batches() {
    let disk = MemoryDisk::new();
    let options = Options { segment_bytes: 1_000, ..Options::default() };
    let open = || Journal::open(disk.clone(), b"run", options).expect("opens").0;
    let mut journal = open();
    journal.greet("a", None).unwrap();
    let mut window = Window::new(grown());
    let mut cursor = Cursor::default();
    for number in 0..200_u64 {
        let payload = number.to_le_bytes();
        let record = Record {
            actor: "a",
            epoch: 1,
            sequence: number + 1,
            generation: Generation(0),
            payload: &payload,
        };
        journal.append(record).unwrap();
        journal.commit().unwrap();
        window.insert(number, game(number)).unwrap();
        if window.ready().is_ok() {
            window.sample(32, Generation(20)).unwrap();
        }
        if number == 160 {
            cursor = window.cursor();
        }
        journal.release_before(cursor.first).unwrap();
    }
    drop(journal);
    let stored = serde_json::to_string(&cursor).unwrap();
    let cursor: Cursor = serde_json::from_str(&stored).unwrap();

    // The window at the training state, from a repetition of the run up to it.
    let mut expected = Window::new(grown());
    for number in 0..=160 {
        expected.insert(number, game(number)).unwrap();
        if expected.ready().is_ok() {
            expected.sample(32, Generation(20)).unwrap();
        }
    }

    let journal = open();
    assert!(journal.oldest_record() > 10, "old segments are gone");
    let mut window = Window::resume(grown(), cursor);
    let stopped = journal.visit(cursor.first, |number, record| {
        let payload = record.payload.try_into().map(u64::from_le_bytes).ok();
        assert_eq!(payload, Some(number));
        if number == cursor.next {
            return ControlFlow::Break(());
        }
        if number > cursor.first {
            assert!(matches!(window.sample(1, Generation(0)), Err(WindowError::Refilling { .. })));
        }
        window.insert(number, game(number)).expect("in order");
        ControlFlow::Continue(())
    });
    assert_eq!(stopped.unwrap(), Some(()));
    assert_eq!(window.cursor(), expected.cursor());
    assert_eq!((window.bytes(), window.total()), (expected.bytes(), expected.total()));
    for number in 161..400 {
        let (left, right) = (
            window.sample(32, Generation(30)).unwrap(),
            expected.sample(32, Generation(30)).unwrap(),
        );
        assert_eq!((drawn(&left), left.staleness), (drawn(&right), right.staleness));
        window.insert(number, game(number)).unwrap();
        expected.insert(number, game(number)).unwrap();
        assert_eq!(window.cursor(), expected.cursor());
    }
}

#[test]
fn a_smaller_window_after_a_restart_takes_the_newest() {
    let mut window = Window::new(settings(500));
    (0..100).for_each(|number| window.insert(number, Game::new(number, 10)).unwrap());
    let cursor = window.cursor();
    assert_eq!((cursor.first, cursor.next, cursor.before), (50, 100, 500));
    let mut smaller = Window::resume(settings(100), cursor);
    (50..100).for_each(|number| smaller.insert(number, Game::new(number, 10)).unwrap());
    assert_eq!((smaller.positions(), smaller.cursor().first, smaller.total()), (100, 90, 1_000));
}

#[test]
fn a_purge_keeps_the_games_of_a_window_and_draws_all_but_the_void_ones() {
    let mut window = Window::new(grown());
    (0..120).for_each(|number| window.insert(number, game(number)).unwrap());
    let cursor = window.cursor();
    let is_void = |number: u64| number.is_multiple_of(4);
    let mut purged = Window::resume(grown(), cursor);
    let refill = |number| Game { is_void: is_void(number), ..game(number) };
    (cursor.first..cursor.next).for_each(|number| purged.insert(number, refill(number)).unwrap());
    assert_eq!(purged.cursor(), cursor);
    assert_eq!((purged.games(), purged.total()), (window.games(), window.total()));
    let held = cursor.first..cursor.next;
    let valid = held.filter(|&number| !is_void(number) && game(number).positions > 0);
    let valid: std::collections::BTreeSet<u64> = valid.collect();
    let positions = valid.iter().map(|&number| u64::from(game(number).positions)).sum::<u64>();
    assert_eq!(purged.positions(), positions);
    let mut drawn_games = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let batch = purged.sample(100, Generation(20)).unwrap();
        drawn_games.extend(drawn(&batch).into_iter().map(|(number, _)| number));
    }
    assert_eq!(drawn_games, valid);
    // Later games push the void ones out as they would have before.
    for number in 120..300 {
        window.insert(number, game(number)).unwrap();
        purged.insert(number, game(number)).unwrap();
        // Only one of the two has dealt batches.
        assert_eq!(purged.cursor(), Cursor { batches: 200, ..window.cursor() });
    }
    assert_eq!(purged.positions(), window.positions());
}

#[test]
fn a_window_at_its_limit_of_bytes_keeps_games_longer_after_a_purge() {
    let limited = WindowSettings { max_bytes: 1_100, ..settings(1_000) };
    let mut window = Window::new(limited);
    (0..20).for_each(|number| window.insert(number, Game::new(number, 10)).unwrap());
    let cursor = window.cursor();
    assert_eq!((cursor.first, cursor.next, window.bytes()), (10, 20, 1_100));
    let mut purged = Window::resume(limited, cursor);
    for number in 10..20 {
        let is_void = number < 15;
        purged.insert(number, Game { is_void, ..Game::new(number, 10) }).unwrap();
    }
    assert_eq!((purged.cursor(), purged.bytes()), (cursor, 650));
    for window in [&mut window, &mut purged] {
        window.insert(20, Game::new(20, 10)).unwrap();
    }
    assert_eq!((window.cursor().first, purged.cursor().first), (11, 10));
    assert_eq!((window.positions(), purged.positions()), (100, 60));
}

#[test]
fn a_window_whose_games_were_all_purged_waits_for_as_many_as_a_new_one() {
    let mut window = Window::new(grown());
    (0..120).for_each(|number| window.insert(number, game(number)).unwrap());
    let cursor = window.cursor();
    let mut purged = Window::resume(grown(), cursor);
    for number in cursor.first..cursor.next {
        purged.insert(number, Game { is_void: true, ..game(number) }).unwrap();
    }
    assert!(purged.lacks(49) && !purged.lacks(50) && !window.lacks(0));
    for number in cursor.next.. {
        let held = purged.positions();
        let needed = WindowError::TooFew { held, needed: 50 };
        assert_eq!(purged.ready(), if held < 50 { Err(needed) } else { Ok(()) });
        assert_eq!(purged.lacks(0), held < 50);
        if held >= 50 {
            break;
        }
        purged.insert(number, game(number)).unwrap();
    }
    let batch = purged.sample(100, Generation(20)).unwrap();
    assert!(drawn(&batch).iter().all(|(number, _)| *number >= cursor.next));
}
