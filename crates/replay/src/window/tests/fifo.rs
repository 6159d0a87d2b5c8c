//! Every position once, in order, or not at all.

use super::*;

fn settings() -> FifoSettings {
    FifoSettings { max_positions: 100, max_bytes: 100_000, batch: 10, max_lag: 2 }
}

#[test]
fn every_position_leaves_once_and_in_order_also_across_restarts() {
    let lengths = [3, 0, 7, 1, 12, 5, 30, 2];
    let game = |number: u64| Game { generation: 0, ..Game::new(number, lengths[number as usize]) };
    let expected: Vec<(u64, u32)> = (0..lengths.len() as u64)
        .flat_map(|number| (0..game(number).positions).map(move |position| (number, position)))
        .collect();
    for restart in [false, true] {
        let mut queue = Fifo::new(settings());
        (0..8).for_each(|number| queue.insert(number, game(number)).unwrap());
        assert_eq!((queue.waiting(), queue.games()), (60, 8));
        let mut seen = Vec::new();
        while let Ok(batch) = queue.take(7, 1) {
            seen.extend(drawn(&batch));
            if restart {
                let cursor = queue.cursor();
                queue = Fifo::resume(settings(), cursor);
                let refilling = matches!(queue.take(1, 1), Err(WindowError::Refilling { .. }));
                assert_eq!(refilling, cursor.first < cursor.next);
                (cursor.first..8).for_each(|number| queue.insert(number, game(number)).unwrap());
                assert_eq!(queue.cursor(), cursor);
            }
        }
        assert_eq!(seen, expected[..56]);
        assert_eq!((queue.waiting(), queue.cursor().batches, queue.bytes()), (4, 8, 232));
        let error = queue.take(7, 1).unwrap_err();
        assert_eq!(error, WindowError::TooFew { held: 4, needed: 7 });
    }
}

#[test]
fn a_game_that_is_too_old_goes_unused_wherever_it_waits() {
    let mut queue = Fifo::new(settings());
    for (number, generation) in [4, 1, 3, 0, 5].into_iter().enumerate() {
        let game = Game { generation, ..Game::new(number as u64, 10) };
        queue.insert(number as u64, game).unwrap();
    }
    let first = queue.take(5, 3).unwrap();
    assert!(drawn(&first).iter().all(|&(number, _)| number == 0));
    assert_eq!((queue.dropped(), queue.waiting()), (10, 35));
    // Of game 0 five positions are left when its time is over.
    let next = queue.take(10, 7).unwrap();
    assert_eq!(drawn(&next), (0..10).map(|position| (4, position)).collect::<Vec<_>>());
    assert_eq!((queue.dropped(), queue.waiting(), queue.games(), queue.bytes()), (35, 0, 0, 0));
    assert_eq!(next.staleness, Staleness { lag: 2.0, age: 0.0 });
    assert_eq!(queue.cursor(), Cursor { first: 5, next: 5, before: 50, used: 0, batches: 2 });
}

#[test]
fn a_full_queue_has_no_room_until_a_batch_leaves() {
    let mut queue = Fifo::new(settings());
    queue.insert(0, Game::new(0, 99)).unwrap();
    assert!(queue.has_room(0));
    queue.insert(1, Game::new(1, 30)).unwrap();
    assert!(!queue.has_room(0));
    queue.take(50, 0).unwrap();
    assert!(queue.has_room(0));
    // Whatever it weighs, a whole batch must come together.
    let mut narrow = Fifo::new(FifoSettings { max_bytes: 100, ..settings() });
    narrow.insert(0, Game::new(0, 9)).unwrap();
    assert!(narrow.has_room(0));
    narrow.insert(1, Game::new(1, 1)).unwrap();
    assert!(!narrow.has_room(0));
}
