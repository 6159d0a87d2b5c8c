//! Tests that a queue uses every position at most once.

use super::*;

fn settings() -> FifoSettings {
    FifoSettings {
        max_positions: 100,
        max_bytes: 100_000,
        batch: 10,
        deal: Deal::default(),
        max_lag: 2,
    }
}

#[test]
fn every_position_leaves_once_and_in_order_also_across_restarts() {
    let lengths = [3, 0, 7, 1, 12, 5, 30, 2];
    let game = |number: u64| Game {
        generation: Generation(0),
        ..Game::new(number, lengths[number as usize])
    };
    let expected: Vec<(u64, u32)> = (0..lengths.len() as u64)
        .flat_map(|number| (0..game(number).positions).map(move |position| (number, position)))
        .collect();
    for restart in [false, true] {
        let mut queue = Fifo::new(settings());
        (0..8).for_each(|number| queue.insert(number, game(number)).unwrap());
        assert_eq!((queue.waiting(), queue.games()), (60, 8));
        let mut seen = Vec::new();
        while let Ok(batch) = queue.take(7, Generation(1)) {
            seen.extend(drawn(&batch));
            if restart {
                let cursor = queue.cursor();
                queue = Fifo::resume(settings(), cursor);
                let refilling =
                    matches!(queue.take(1, Generation(1)), Err(WindowError::Refilling { .. }));
                assert_eq!(refilling, cursor.first < cursor.next);
                (cursor.first..8).for_each(|number| queue.insert(number, game(number)).unwrap());
                assert_eq!(queue.cursor(), cursor);
            }
        }
        assert_eq!(seen, expected[..56]);
        assert_eq!((queue.waiting(), queue.cursor().batches, queue.bytes()), (4, 8, 232));
        let error = queue.take(7, Generation(1)).unwrap_err();
        assert_eq!(error, WindowError::TooFew { held: 4, needed: 7 });
    }
}

#[test]
fn a_game_that_is_too_old_goes_unused_wherever_it_waits() {
    let mut queue = Fifo::new(settings());
    for (number, generation) in [4, 1, 3, 0, 5].into_iter().enumerate() {
        let game = Game { generation: Generation(generation), ..Game::new(number as u64, 10) };
        queue.insert(number as u64, game).unwrap();
    }
    let first = queue.take(5, Generation(3)).unwrap();
    assert!(drawn(&first).iter().all(|&(number, _)| number == 0));
    assert_eq!((queue.dropped(), queue.waiting()), (10, 35));
    // Game 0 has five positions left when it becomes too old.
    let next = queue.take(10, Generation(7)).unwrap();
    assert_eq!(drawn(&next), (0..10).map(|position| (4, position)).collect::<Vec<_>>());
    assert_eq!((queue.dropped(), queue.waiting(), queue.games(), queue.bytes()), (35, 0, 0, 0));
    assert_eq!(next.staleness, Staleness { lag: 2.0, age: 0.0 });
    let cursor = Cursor { first: 5, next: 5, before: 50, batches: 2, ..Cursor::default() };
    assert_eq!(queue.cursor(), cursor);
}

#[test]
fn a_full_queue_has_no_room_until_a_batch_leaves() {
    let mut queue = Fifo::new(settings());
    queue.insert(0, Game::new(0, 99)).unwrap();
    assert!(queue.has_room(0));
    queue.insert(1, Game::new(1, 30)).unwrap();
    assert!(!queue.has_room(0));
    queue.take(50, Generation(0)).unwrap();
    assert!(queue.has_room(0));
    // The queue accepts a full batch, regardless of its size in bytes.
    let mut narrow = Fifo::new(FifoSettings { max_bytes: 100, ..settings() });
    narrow.insert(0, Game::new(0, 9)).unwrap();
    assert!(narrow.has_room(0));
    narrow.insert(1, Game::new(1, 1)).unwrap();
    assert!(!narrow.has_room(0));
}

fn mixed() -> FifoSettings {
    FifoSettings { deal: Deal { batches: 4, segment: 3, seed: 1 }, ..settings() }
}

/// A queue of games of these lengths.
fn filled(settings: FifoSettings, cursor: Cursor, lengths: &[u32]) -> Fifo<Game> {
    let mut queue = Fifo::resume(settings, cursor);
    for number in cursor.first..lengths.len() as u64 {
        let game =
            Game { generation: Generation(0), ..Game::new(number, lengths[number as usize]) };
        queue.insert(number, game).unwrap();
    }
    queue
}

#[test]
fn a_deal_gives_every_batch_segments_of_many_games() {
    let lengths = [8; 10];
    let mut queue = filled(mixed(), Cursor::default(), &lengths);
    let mut seen = Vec::new();
    for left in [70, 60, 50, 40] {
        let batch = drawn(&queue.take(10, Generation(0)).unwrap());
        assert_eq!((batch.len(), queue.waiting()), (10, left));
        assert!(batch.is_sorted());
        let games = batch.chunk_by(|(one, _), (other, _)| one == other).count();
        assert!(games >= 3, "{batch:?}");
        seen.extend(batch);
    }
    // The oldest forty positions, in another order.
    assert!(!seen.is_sorted());
    seen.sort_unstable();
    let expected = (0..5).flat_map(|number| (0..8).map(move |position| (number, position)));
    assert_eq!(seen, expected.collect::<Vec<_>>());
    // Segments end with a batch or after three moves, never earlier.
    let again = filled(mixed(), Cursor::default(), &lengths).take(10, Generation(0)).unwrap();
    let other = FifoSettings { deal: Deal { seed: 2, ..mixed().deal }, ..mixed() };
    let other = filled(other, Cursor::default(), &lengths).take(10, Generation(0)).unwrap();
    assert_ne!(drawn(&again), drawn(&other));
}

#[test]
fn a_queue_goes_on_in_the_middle_of_a_deal() {
    let lengths = [3, 0, 7, 1, 12, 5, 30, 2, 9, 9, 9, 9];
    let mut whole = filled(mixed(), Cursor::default(), &lengths);
    let mut parts = filled(mixed(), Cursor::default(), &lengths);
    for step in 0..9 {
        // Newer generations do not change batches that are already dealt.
        let newest = Generation(u32::from(step > 2));
        let held = (1..).take_while(|&batches| whole.holds(batches, 10, newest)).count();
        assert_eq!(held, [8, 7, 6, 5, 4, 3, 2, 1, 0][step]);
        match (whole.take(10, newest), parts.take(10, newest)) {
            (Ok(one), Ok(other)) => {
                assert_eq!(drawn(&one), drawn(&other), "batch {step}");
                assert_eq!(one.staleness, other.staleness);
            }
            (one, other) => assert_eq!((step, one.unwrap_err()), (8, other.unwrap_err())),
        }
        let cursor = parts.cursor();
        parts = filled(mixed(), cursor, &lengths);
        assert_eq!((parts.cursor(), parts.next()), (cursor, 12));
    }
    assert_eq!(whole.cursor(), parts.cursor());
}

#[test]
fn what_is_dealt_is_not_too_old_any_more_after_a_restart() {
    let lengths = [10; 8];
    let mut queue = filled(mixed(), Cursor::default(), &lengths);
    queue.take(10, Generation(2)).unwrap();
    // Generation 0 is now three behind, and `max_lag` is two.
    let mut again = filled(mixed(), queue.cursor(), &lengths);
    for _ in 1..4 {
        assert_eq!(
            drawn(&queue.take(10, Generation(3)).unwrap()),
            drawn(&again.take(10, Generation(3)).unwrap())
        );
    }
    assert_eq!(
        queue.take(10, Generation(3)).unwrap_err(),
        WindowError::TooFew { held: 0, needed: 40 }
    );
    assert_eq!(
        (queue.dropped(), again.take(10, Generation(3)).is_err(), again.dropped()),
        (40, true, 40)
    );
}

#[test]
fn other_settings_in_the_middle_of_a_deal_stall_nothing() {
    let lengths = [10; 20];
    let mut queue = filled(mixed(), Cursor::default(), &lengths);
    (0..3).for_each(|_| assert!(queue.take(10, Generation(0)).is_ok()));
    let cursor = queue.cursor();
    for batches in [1, 2, 7] {
        let deal = Deal { batches, ..mixed().deal };
        let mut other = filled(FifoSettings { deal, ..mixed() }, cursor, &lengths);
        let draws = other.take(10, Generation(0)).unwrap().draws;
        assert_eq!((draws.len(), other.cursor().batches), (10, 4));
        assert!((0..4).all(|_| other.take(10, Generation(0)).is_ok()));
    }
}
