//! Probabilities match the rules. Seeds are fixed, so tests are deterministic; each bound is so
//! wide that a correct engine fails it for about one seed in a million.

use std::collections::BTreeMap;

use ouro_game::battlesnake::{Config, Large, Pending, Point, Position, Ruleset, Small, Snake};
use ouro_game::{Chance, Game, Rng};

/// A single snake in the middle of a 7×7 board with one food.
fn solitaire(food_spawn_chance: u8, minimum_food: u16) -> Small {
    let body = [(3, 3), (3, 2), (3, 1)].map(Point::from).to_vec();
    let start = Position {
        width: 7,
        height: 7,
        turn: 0,
        snakes: vec![Snake { health: 100, body, death: None }],
        food: vec![(0, 0).into()],
        hazards: Vec::new(),
        shrunk: [0; 4],
    };
    Small::new(Config {
        ruleset: Ruleset::Solo,
        width: 7,
        height: 7,
        snakes: 1,
        food_spawn_chance,
        minimum_food,
        start: Some(start),
        ..Config::default()
    })
    .expect("the position is playable")
}

/// Food that appeared in one turn, many times over.
fn spawns(rules: &Small, draws: u32) -> Vec<Vec<usize>> {
    let mut rng = Rng::new(7, "statistics");
    let mut after = rules.initial(&mut rng);
    rules.step_moves(&mut after, &[0; 8], &mut ());
    (0..draws)
        .map(|_| {
            let mut state = after;
            rules.settle(&mut state, &mut rng);
            state.food().skip(1).collect()
        })
        .collect()
}

/// Whether counts over equally likely cells are plausible. The bound is the
/// mean of chi-square plus five deviations, which 1 to 60 degrees of freedom exceed with a
/// probability below 2e-5.
fn is_uniform(counts: impl IntoIterator<Item = u32>) -> bool {
    let counts: Vec<f64> = counts.into_iter().map(f64::from).collect();
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let square: f64 = counts.iter().map(|count| (count - mean).powi(2) / mean).sum();
    let freedom = counts.len() as f64 - 1.0;
    square < freedom + 5.0 * (2.0 * freedom).sqrt()
}

#[test]
fn food_appears_with_one_percent_less_than_the_setting() {
    const DRAWS: u32 = 20_000;
    for (setting, percent) in [(0, 0.0), (1, 0.0), (2, 1.0), (15, 14.0), (50, 49.0), (100, 99.0)] {
        let spawned =
            spawns(&solitaire(setting, 0), DRAWS).iter().filter(|food| !food.is_empty()).count();
        let (n, p) = (f64::from(DRAWS), percent / 100.0);
        // Binomial; five deviations leave 6e-7.
        let bound = 5.0 * (n * p * (1.0 - p)).sqrt();
        assert!((spawned as f64 - n * p).abs() <= bound, "setting {setting}: {spawned} of {DRAWS}");
    }
}

#[test]
fn food_is_spread_evenly_over_the_legal_cells_alone_and_in_order() {
    let rules = solitaire(0, 4);
    let mut state = rules.initial(&mut Rng::new(1, "statistics"));
    rules.step_moves(&mut state, &[0; 8], &mut ());
    assert_eq!(state.pending(), Pending::Food(3));
    let legal = rules.legal_food(&state);
    // 49 cells, less 3 of the body, 1 food and 3 free neighbours of the head.
    assert_eq!(legal.count(), 42);
    let spawned = spawns(&rules, 30_000);
    for place in 0..3 {
        let mut counts: BTreeMap<usize, u32> = legal.iter().map(|cell| (cell, 0)).collect();
        for food in &spawned {
            *counts.get_mut(&food[place]).expect("only legal cells get food") += 1;
        }
        assert!(is_uniform(counts.into_values()), "food number {place}");
    }
    assert!(
        spawned.iter().all(|food| food[0] != food[1] && food[0] != food[2] && food[1] != food[2])
    );
}

#[test]
fn every_side_of_a_royale_board_closes_in_equally_often() {
    let config = Config { ruleset: Ruleset::Royale, shrink_every_n_turns: 1, ..Config::default() };
    let rules = Small::new(config).expect("the configuration is in range");
    let mut rng = Rng::new(3, "statistics");
    let mut after = rules.initial(&mut rng);
    rules.step_moves(&mut after, &[0; 8], &mut ());
    assert_eq!(rules.chance(&after), Chance::Enumerable { count: 4 });
    let mut counts = [0; 4];
    for _ in 0..20_000 {
        counts[rules.sample_chance(&after, &mut rng) as usize] += 1;
    }
    assert!(is_uniform(counts), "{counts:?}");
}

/// How often each snake starts on each cell.
fn starts(config: &Config, draws: u64) -> Vec<BTreeMap<usize, u32>> {
    let rules = Large::new(config.clone()).expect("the configuration is in range");
    let mut counts = vec![BTreeMap::new(); config.snakes.into()];
    for seed in 0..draws {
        let state = rules.initial(&mut Rng::new(seed, "statistics"));
        for (snake, counts) in counts.iter_mut().enumerate() {
            *counts.entry(state.head(snake)).or_insert(0) += 1;
        }
    }
    counts
}

#[test]
fn every_snake_starts_on_every_fixed_point_equally_often() {
    for (side, snakes, points) in [(11, 4, 8), (11, 8, 8), (7, 2, 8), (11, 16, 16)] {
        let config = Config { width: side, height: side, snakes, ..Config::default() };
        for counts in starts(&config, 8_000) {
            assert_eq!(counts.len(), points);
            assert!(is_uniform(counts.into_values()), "{side}x{side}, {snakes} snakes");
        }
    }
}

#[test]
fn four_snakes_start_all_in_corners_or_all_at_edges() {
    let rules = Small::new(Config::default()).expect("the default is playable");
    let mut corners = 0;
    for seed in 0..4_000 {
        let state = rules.initial(&mut Rng::new(seed, "statistics"));
        let in_corner = |snake: &usize| {
            let at = rules.geometry().point(state.head(*snake));
            at.x != 5 && at.y != 5
        };
        let count = (0..4).filter(in_corner).count();
        assert!(count == 0 || count == 4);
        corners += u32::from(count == 4);
    }
    // Binomial(4000, 1/2): deviation 31.6, five of them.
    assert!(corners.abs_diff(2_000) < 158, "{corners}");
}

#[test]
fn on_oblong_boards_snakes_start_evenly_on_one_colour_without_the_centre() {
    let config = Config { width: 7, height: 5, snakes: 3, ..Config::default() };
    for counts in starts(&config, 20_000) {
        // 18 cells with an even sum; the centre (3, 2) has an odd one.
        assert_eq!(counts.len(), 18);
        assert!(counts.keys().all(|cell| (cell % 7 + cell / 7) % 2 == 0));
        assert!(is_uniform(counts.into_values()));
    }
    let config = Config { width: 5, height: 5, snakes: 3, ..Config::default() };
    for counts in starts(&config, 20_000) {
        // 13 cells with an even sum, the centre (2, 2) among them.
        assert_eq!(counts.len(), 12);
        assert!(!counts.contains_key(&12) && is_uniform(counts.into_values()));
    }
}

#[test]
fn a_snake_of_a_fixed_start_finds_food_further_out_and_one_in_the_centre() {
    let rules = Small::new(Config::default()).expect("the default is playable");
    let mut choices: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    for seed in 0..16_000 {
        let state = rules.initial(&mut Rng::new(seed, "statistics"));
        let food: Vec<usize> = state.food().collect();
        assert_eq!((food.len(), food[4]), (5, 60));
        for (snake, &food) in food[..4].iter().enumerate() {
            *choices.entry((state.head(snake), food)).or_insert(0) += 1;
        }
    }
    // Eight points with two outward diagonals each.
    assert_eq!(choices.len(), 16);
    assert!(is_uniform(choices.into_values()));
}
