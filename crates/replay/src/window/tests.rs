//! Tests of windows against plain lists, and of their restart.

use ouro_game::Rng;
use proptest::prelude::*;

use super::*;

mod fifo;
mod restart;

/// A game with `positions` positions and a unique name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Game {
    pub(super) name: u64,
    pub(super) positions: u32,
    pub(super) generation: Generation,
    /// Weights of the positions with an even and with an odd index.
    pub(super) even: f32,
    pub(super) odd: f32,
    pub(super) is_void: bool,
}

impl Game {
    pub(super) fn new(name: u64, positions: u32) -> Self {
        Self {
            name,
            positions,
            generation: Generation((name / 10) as u32),
            even: 1.0,
            odd: 1.0,
            is_void: false,
        }
    }
}

impl Item for Game {
    fn positions(&self) -> u32 {
        self.positions
    }

    fn bytes(&self) -> usize {
        // A void game has lost its content, as in the replay of a learner.
        if self.is_void { 20 } else { 100 + self.positions as usize }
    }

    fn generation(&self) -> Generation {
        self.generation
    }

    fn is_void(&self) -> bool {
        self.is_void
    }

    fn weight(&self, position: u32) -> f32 {
        if position % 2 == 1 { self.odd } else { self.even }
    }
}

pub(super) fn settings(positions: u64) -> WindowSettings {
    WindowSettings {
        growth: Growth::fixed(positions),
        max_bytes: usize::MAX,
        min_positions: 1,
        seed: 5,
    }
}

/// Games and positions of a batch.
pub(super) fn drawn(batch: &Batch<Game>) -> Vec<(u64, u32)> {
    let place = |draw: &Draw<Game>| {
        assert!(draw.position < draw.item.positions);
        assert_eq!(draw.number, draw.item.name);
        (draw.number, draw.position)
    };
    batch.draws.iter().map(place).collect()
}

proptest! {
    #[test]
    fn the_newest_games_that_fit_are_held_whatever_their_lengths(
        lengths in proptest::collection::vec(0_u32..50, 1..80),
        capacity in 1_u64..400,
        max_bytes in 100_usize..3_000,
    ) {
        let mut window = Window::new(WindowSettings { max_bytes, ..settings(capacity) });
        for (count, &length) in lengths.iter().enumerate() {
            window.insert(count as u64, Game::new(count as u64, length)).expect("in order");
            let inserted = &lengths[..=count];
            let fits = |from: usize| {
                let positions: u64 = inserted[from..].iter().map(|&length| u64::from(length)).sum();
                let bytes: usize = inserted[from..].iter().map(|&l| 100 + l as usize).sum();
                positions <= capacity && bytes <= max_bytes
            };
            let first = (0..count).find(|&from| fits(from)).unwrap_or(count);
            prop_assert_eq!(window.cursor().first, first as u64);
            prop_assert_eq!(window.games(), inserted.len() - first);
            let positions: u64 = inserted[first..].iter().map(|&length| u64::from(length)).sum();
            prop_assert_eq!(window.positions(), positions);
            prop_assert_eq!(window.total(), inserted.iter().map(|&l| u64::from(l)).sum::<u64>());
            match window.sample(20, Generation(9)) {
                Ok(batch) => prop_assert!(
                    drawn(&batch).iter().all(|(number, _)| *number >= first as u64)
                ),
                Err(error) => {
                    prop_assert_eq!(error, WindowError::TooFew { held: positions, needed: 1 });
                    prop_assert_eq!(positions, 0);
                }
            }
        }
    }
}

#[test]
fn every_position_is_drawn_equally_often_whatever_the_length_of_its_game() {
    let mut window = Window::new(settings(100));
    for (number, length) in [60, 1, 0, 40, 9, 50].into_iter().enumerate() {
        window.insert(number as u64, Game::new(number as u64, length)).unwrap();
    }
    // The first game, with 60 positions, was dropped.
    assert_eq!((window.positions(), window.cursor().first), (100, 1));
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..100 {
        for place in drawn(&window.sample(1_000, Generation(0)).unwrap()) {
            *counts.entry(place).or_insert(0_u32) += 1;
        }
    }
    assert_eq!(counts.len(), 100);
    // Each is binomial(100,000, 1/100): 1,000 with deviation 31.5; 6 sigma.
    assert!(counts.values().all(|count| count.abs_diff(1_000) < 189), "{counts:?}");
}

#[test]
fn a_position_of_weight_three_is_drawn_three_times_as_often() {
    let mut window = Window::new(settings(1_000));
    for number in 0..10 {
        let game = Game { odd: if number < 5 { 3.0 } else { 1.0 }, ..Game::new(number, 10) };
        window.insert(number, game).unwrap();
    }
    assert_eq!((window.positions(), window.total()), (100, 100));
    let drawn = drawn(&window.sample(150_000, Generation(0)).unwrap());
    let share = |chosen: fn(&(u64, u32)) -> bool| drawn.iter().filter(|d| chosen(d)).count();
    // 150 copies: 25 positions with three, 75 with one. Deviations are below 200; 6 sigma.
    let odd = share(|(number, position)| *number < 5 && position % 2 == 1);
    assert!(odd.abs_diff(75_000) < 1_200, "{odd}");
    let first = share(|(number, position)| *number == 0 && *position == 0);
    assert!(first.abs_diff(1_000) < 190, "{first}");
}

#[test]
fn nothing_is_sampled_before_there_is_enough() {
    let mut window = Window::new(WindowSettings { min_positions: 25, ..settings(1_000) });
    window.insert(0, Game::new(0, 24)).unwrap();
    let error = window.sample(1, Generation(0)).unwrap_err();
    assert_eq!(error.to_string(), "24 positions are in, 25 are needed before sampling");
    assert_eq!(window.cursor().batches, 0);
    window.insert(1, Game::new(1, 1)).unwrap();
    assert_eq!(window.sample(3, Generation(0)).unwrap().draws.len(), 3);
    let error = window.insert(3, Game::new(3, 1)).unwrap_err();
    assert_eq!(error.to_string(), "game 3 was inserted where game 2 was due");
    // The window is so small that it drops games before it holds 25 positions. A full window can
    // be sampled nevertheless.
    let mut narrow =
        Window::new(WindowSettings { min_positions: 25, max_bytes: 150, ..settings(1_000) });
    narrow.insert(0, Game::new(0, 10)).unwrap();
    assert!(narrow.sample(1, Generation(0)).is_err());
    narrow.insert(1, Game::new(1, 10)).unwrap();
    assert_eq!((narrow.games(), narrow.sample(1, Generation(0)).is_ok()), (1, true));
    // Positions without copies cannot be drawn.
    let mut window = Window::new(settings(10));
    window.insert(0, Game { even: 0.0, odd: 0.0, ..Game::new(0, 8) }).unwrap();
    assert_eq!((window.positions(), window.sample(1, Generation(0)).is_err()), (8, true));
}

#[test]
fn a_growing_window_lets_games_go_more_slowly_than_they_come() {
    let growth = Growth { start: 1_000, power: 0.75, slope: 0.4 };
    let mut window = Window::new(WindowSettings { growth, ..settings(0) });
    for number in 0..1_000 {
        window.insert(number, Game::new(number, 10)).unwrap();
    }
    let size = growth.size(10_000);
    assert_eq!((window.total(), window.capacity()), (10_000, size));
    assert!(window.positions() <= size && window.positions() > size - 10);
}

#[test]
fn staleness_tells_generations_behind_and_positions_since() {
    let mut window = Window::new(settings(1_000));
    window.insert(0, Game { generation: Generation(3), ..Game::new(0, 10) }).unwrap();
    window.insert(1, Game { generation: Generation(9), ..Game::new(1, 0) }).unwrap();
    let batch = window.sample(8, Generation(5)).unwrap();
    assert_eq!(batch.staleness, Staleness { lag: 2.0, age: 0.0 });
    window.insert(2, Game { generation: Generation(3), odd: 0.0, ..Game::new(2, 1) }).unwrap();
    let batch = window.sample(4_000, Generation(5)).unwrap();
    assert_eq!(batch.staleness.lag, 2.0);
    // Of 11 positions, 10 were followed by one more.
    assert!((batch.staleness.age - 10.0 / 11.0).abs() < 0.03);
    assert_eq!(window.staleness(), batch.staleness);
}

#[test]
fn more_copies_than_fit_32_bits_are_drawn_from_evenly() {
    let mut rng = Rng::new(1, "test");
    let bound = 3_u64 << 40;
    let draws: Vec<u64> = (0..30_000).map(|_| below(&mut rng, bound)).collect();
    assert!(draws.iter().all(|&drawn| drawn < bound));
    for third in 0..3 {
        let inside = draws.iter().filter(|&&drawn| drawn >> 40 == third).count();
        // Binomial(30,000, 1/3): deviation 82; 6 sigma.
        assert!(inside.abs_diff(10_000) < 490, "{inside}");
    }
}
