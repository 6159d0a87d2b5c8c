//! Snake: the rules against a slow reference, the paper's details, the laws on every size.

use ouro_game::snake::{Config, Ending, Large, Small, Snake, Snapshot, State};
use ouro_game::{
    Action, ActionMask, Chance, Game, Rng, StepError, Symmetry, Turn, check_laws, record,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

#[path = "snake/slow.rs"]
mod slow;

use slow::Slow;

fn config(size: u8, time_limit: u32) -> Config {
    Config { size, time_limit: Some(time_limit), ..Config::default() }
}

fn small(size: u8) -> Small {
    Small::new(config(size, 500)).expect("the size is in range")
}

/// A state of `small(size)`: body head first, and the apple.
fn state(size: u8, body: &[(u8, u8)], apple: Option<(u8, u8)>) -> State<2> {
    let snapshot = Snapshot { size, body: body.to_vec(), apple, elapsed: 0 };
    State::try_from(snapshot).expect("the state is one")
}

fn legal<const W: usize>(game: &Snake<W>, state: &State<W>) -> Vec<u32> {
    let mut mask = ActionMask::default();
    game.legal(state, 0, &mut mask);
    mask.iter().map(|action| action.0).collect()
}

/// Plays one random game beside the slow board and compares everything at every ply; returns
/// its ending.
fn play_beside_slow<const W: usize>(game: &Snake<W>, seed: u64) -> Ending {
    let mut rng = Rng::new(seed, "test");
    let mut state = game.initial(&mut rng);
    let mut slow = Slow::new(game.config());
    loop {
        assert_eq!(Snapshot::from(state), slow.snapshot());
        let mut planes = vec![f32::NAN; game.planes().len()];
        game.observe(&state, 0, &mut planes);
        assert_eq!(planes, slow.planes());
        assert_eq!(game.ending(&state), slow.ending());
        assert!((game.returns(&state, 0) - slow.returns()).abs() < 1e-6);
        assert_eq!(game.elapsed(&state), slow.elapsed);
        match game.turn(&state) {
            Turn::Over => return slow.ending().expect("the slow game is over, too"),
            Turn::Chance => {
                assert_eq!(slow.apple, None);
                let empty = slow.empty();
                let count = empty.len() as u32;
                assert_eq!(game.chance(&state), Chance::Enumerable { count });
                let drawn = rng.below(count);
                game.apply_chance(&mut state, drawn).expect("an empty cell");
                slow.apple = Some(empty[drawn as usize]);
            }
            Turn::Move(movers) => {
                assert_eq!(movers.iter().collect::<Vec<_>>(), [0]);
                let moves = slow.legal();
                assert_eq!(legal(game, &state), moves);
                let action = moves[rng.below(moves.len() as u32) as usize];
                game.step(&mut state, &[Action(action)]).expect("a legal action");
                slow.step(action);
            }
        }
    }
}

#[test]
fn random_games_agree_with_a_slow_board_on_both_classes() {
    let mut endings = [0; 3];
    for size in 2..=11 {
        for seed in 0..60 {
            let (small, large) = (config(size, 80), config(size, 80));
            let ending = play_beside_slow(&Small::new(small).expect("in range"), seed);
            assert_eq!(ending, play_beside_slow(&Large::new(large).expect("in range"), seed));
            endings[ending as usize] += 1;
        }
    }
    assert!(endings.iter().all(|&count| count > 10), "{endings:?}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn games_of_any_size_and_length_agree_with_a_slow_board(
        size in 2_u8..=21, limit in 1_u32..400, seed: u64,
    ) {
        play_beside_slow(&Large::new(config(size, limit)).expect("in range"), seed);
    }

    #[test]
    fn any_snapshot_is_refused_or_played_without_a_panic((snapshot, rules) in snapshots()) {
        if let Ok(mut state) = State::<2>::try_from(snapshot.clone()) {
            prop_assert_eq!(Snapshot::from(state), snapshot);
            let game = small(rules);
            let mut rng = Rng::new(1, "test");
            game.settle(&mut state, &mut rng);
            for _ in 0..PLIES {
                let _ = (game.render(&state), game.digest(&state), game.returns(&state, 0));
                game.observe(&state, 0, &mut vec![0.0; game.planes().len()]);
                for action in 0..5 {
                    let _ = game.step(&mut state.clone(), &[Action(action)]);
                    let _ = game.apply_chance(&mut state.clone(), action);
                }
                for &symmetry in Symmetry::SQUARE {
                    let _ = game.transform(&state, symmetry);
                }
                let moves = legal(&game, &state);
                if moves.is_empty() {
                    break;
                }
                let action = moves[rng.below(moves.len() as u32) as usize];
                game.advance(&mut state, &[Action(action)], &mut rng).expect("a legal action");
            }
        }
    }
}

/// Most moves from a snapshot.
const PLIES: usize = 10;

/// Snapshots, each with the side of the rules that play it. In most of them the body is a walk that
/// enters no cell twice, and the rules have the same side; in the others one thing is damaged.
fn snapshots() -> impl Strategy<Value = (Snapshot, u8)> {
    let elapsed = prop_oneof![19 => 0_u32..500, 1 => any::<u32>()];
    (2_u8..=11, any::<u64>(), elapsed).prop_map(|(size, seed, elapsed)| {
        let rng = &mut Rng::new(seed, "snapshot");
        let body = walk(size, rng);
        let apple = Some(cell(size, rng)).filter(|apple| !body.contains(apple));
        let (mut snapshot, mut rules) = (Snapshot { size, body, apple, elapsed }, size);
        match rng.below(25) {
            // One column and row beyond the board are possible.
            0 => {
                let index = rng.below(snapshot.body.len() as u32) as usize;
                snapshot.body[index] = cell(size + 1, rng);
            }
            1 => snapshot.apple = Some(cell(size + 1, rng)),
            2 => snapshot.size = rng.below(25) as u8,
            3 => snapshot.body.truncate(rng.below(2) as usize),
            4 => rules = 2 + rng.below(10) as u8,
            _ => {}
        }
        (snapshot, rules)
    })
}

/// A random cell of a board of this side.
fn cell(size: u8, rng: &mut Rng) -> (u8, u8) {
    let mut below = || rng.below(size.into()) as u8;
    (below(), below())
}

/// The cells of a random walk that enters no cell twice: at least two, and at most half of the board
/// and one more. Either end may be the head.
fn walk(size: u8, rng: &mut Rng) -> Vec<(u8, u8)> {
    let cells = u32::from(size) * u32::from(size);
    let longest = 2 + rng.below(cells / 2) as usize;
    let mut body = vec![cell(size, rng)];
    while body.len() < longest {
        let (x, y) = body[body.len() - 1];
        let near = [(x, y + 1), (x, y.wrapping_sub(1)), (x.wrapping_sub(1), y), (x + 1, y)];
        let is_free = |&(x, y): &(u8, u8)| x < size && y < size && !body.contains(&(x, y));
        let free: Vec<(u8, u8)> = near.into_iter().filter(is_free).collect();
        if free.is_empty() {
            break;
        }
        body.push(free[rng.below(free.len() as u32) as usize]);
    }
    if rng.below(2) == 0 {
        body.reverse();
    }
    body
}

#[test]
fn most_generated_snapshots_are_accepted_and_played() {
    // Otherwise the test above would pass without playing anything.
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let played = (0..200)
        .filter(|_| {
            let tree = snapshots().new_tree(&mut runner).expect("the strategy makes values");
            let (snapshot, rules) = proptest::strategy::ValueTree::current(&tree);
            let Ok(mut state) = State::<2>::try_from(snapshot) else { return false };
            let game = small(rules);
            game.settle(&mut state, &mut Rng::new(1, "test"));
            !legal(&game, &state).is_empty()
        })
        .count();
    assert!(played >= 100, "{played} of 200");
}

#[test]
fn every_size_keeps_the_laws() {
    for size in 2..=21 {
        let games = if size < 8 { 10 } else { 2 };
        let config = config(size, 60);
        let coverage = if Small::fits(&config) {
            check_laws(&Small::new(config).expect("in range"), 5, games)
        } else {
            check_laws(&Large::new(config).expect("in range"), 5, games)
        };
        let coverage = coverage.unwrap_or_else(|broken| panic!("{size}: {broken}"));
        assert_eq!(coverage.ended, games, "{size}");
        assert!(coverage.chance_nodes > 0, "{size}");
    }
}

#[test]
fn the_start_is_that_of_the_paper() {
    let game = Small::new(Config::default()).expect("the default is in range");
    let start = game.initial(&mut Rng::new(1, "test"));
    let expected = Snapshot { size: 10, body: vec![(2, 5), (1, 5)], apple: None, elapsed: 0 };
    assert_eq!(Snapshot::from(start), expected);
    assert_eq!(game.chance(&start), Chance::Enumerable { count: 98 });
    assert_eq!(game.config().limit(), 1_200);
    assert_eq!((game.planes().channels, game.planes().height, game.planes().width), (7, 10, 10));
    assert!(game.collapse_forced());
}

#[test]
fn every_empty_cell_is_an_equally_likely_apple_outcome() {
    let game = small(5);
    let start = game.initial(&mut Rng::new(1, "test"));
    let mut apples = Vec::new();
    for outcome in 0..23 {
        assert!((game.chance_probability(&start, outcome) - 1.0 / 23.0).abs() < 1e-12);
        let mut after = start;
        game.apply_chance(&mut after, outcome).expect("an empty cell");
        apples.push(after.apple().expect("an apple"));
    }
    let empty: Vec<usize> = game.empty_cells(&start).iter().collect();
    assert_eq!(apples, empty);
    assert!(!game.skip_chance(&mut start.clone()), "searches see every apple, as in the paper");
    let error = game.apply_chance(&mut start.clone(), 23);
    assert_eq!(error, Err(StepError::ImpossibleOutcome { outcome: 23 }));
}

#[test]
fn the_cell_of_the_tail_cannot_be_entered_although_it_is_about_to_be_left() {
    // Four cells in a square: the tail is next to the head.
    let state = state(4, &[(1, 1), (1, 2), (2, 2), (2, 1)], Some((3, 3)));
    let game = small(4);
    assert_eq!(legal(&game, &state), [1, 2]);
    let refused = game.step(&mut state.clone(), &[Action(3)]);
    assert_eq!(refused, Err(StepError::IllegalAction { player: 0, action: 3 }));
}

#[test]
fn a_snake_without_a_legal_action_has_lost_ten() {
    let stuck = state(3, &[(0, 0), (1, 0), (1, 1), (0, 1)], Some((2, 2)));
    let game = small(3);
    assert_eq!(game.ending(&stuck), Some(Ending::Stuck));
    assert_eq!(game.turn(&stuck), Turn::Over);
    assert!((game.returns(&stuck, 0) - (2.0 - 10.0)).abs() < 1e-6);
    assert!((game.outcome(&stuck, 0) + 1.0).abs() < 1e-6);
    // The same without an apple: a finished game has no chance node.
    let stuck = state(3, &[(0, 0), (1, 0), (1, 1), (0, 1)], None);
    assert_eq!(game.turn(&stuck), Turn::Over);
}

#[test]
fn filling_the_board_wins_ten_even_at_the_time_limit() {
    let game = Small::new(config(2, 1)).expect("in range");
    let mut last = state(2, &[(0, 0), (0, 1), (1, 1)], Some((1, 0)));
    assert_eq!(legal(&game, &last), [3]);
    game.step(&mut last, &[Action(3)]).expect("a legal action");
    assert_eq!(game.ending(&last), Some(Ending::Won));
    assert!((game.returns(&last, 0) - (2.0 + 10.0)).abs() < 1e-6);
    assert!((game.outcome(&last, 0) - 1.0).abs() < 1e-6);
}

#[test]
fn the_time_limit_ends_a_game_with_what_was_eaten_and_nothing_more() {
    let game = Small::new(config(3, 1)).expect("in range");
    // The step leads into a dead end, but time is up before that matters.
    let mut last = state(3, &[(1, 0), (1, 1), (0, 1), (0, 2)], Some((2, 2)));
    game.step(&mut last, &[Action(2)]).expect("a legal action");
    assert_eq!(game.free_moves(&last), 0);
    assert_eq!(game.ending(&last), Some(Ending::OutOfTime));
    assert!((game.returns(&last, 0) - 2.0).abs() < 1e-6);
    assert!(game.outcome(&last, 0).abs() < 1e-6);
}

#[test]
fn planes_turn_with_the_board() {
    let game = small(6);
    let mut rng = Rng::new(8, "test");
    let mut state = game.initial(&mut rng);
    game.settle(&mut state, &mut rng);
    for _ in 0..30 {
        let moves = legal(&game, &state);
        if moves.is_empty() {
            break;
        }
        for &symmetry in Symmetry::SQUARE {
            let (mut planes, mut image) = (vec![0.0; 7 * 36], vec![0.0; 7 * 36]);
            game.observe(&state, 0, &mut planes);
            game.observe(&game.transform(&state, symmetry), 0, &mut image);
            for plane in 0..7 {
                // Planes of directions change places, too.
                let direction = Action(plane.min(3) as u32);
                let turned = game.transform_action(direction, symmetry).index();
                let to = if plane < 4 { turned } else { plane };
                for cell in 0..36 {
                    let (x, y) = symmetry.cell(cell % 6, cell / 6, 6, 6);
                    let (before, after) = (planes[plane * 36 + cell], image[to * 36 + y * 6 + x]);
                    assert!((before - after).abs() < 1e-6, "{symmetry:?}, plane {plane}");
                }
            }
        }
        let action = moves[rng.below(moves.len() as u32) as usize];
        game.advance(&mut state, &[Action(action)], &mut rng).expect("a legal action");
    }
}

#[test]
fn a_drawing_shows_where_the_body_runs() {
    let game = small(4);
    let drawn = game.render(&state(4, &[(1, 1), (1, 2), (2, 2), (2, 1)], Some((3, 3))));
    assert_eq!(drawn, "step 0, length 4\n. . . *\n. v < .\n. O ^ .\n. . . .\n");
    let drawn = game.render(&state(4, &[(0, 0), (1, 0), (1, 1), (0, 1)], None));
    assert!(drawn.starts_with("step 0, length 4, stuck\n"), "{drawn}");
}

#[test]
fn a_state_of_another_board_is_over() {
    let foreign = state(4, &[(1, 1), (1, 2)], Some((3, 3)));
    let game = small(6);
    assert_eq!(game.turn(&foreign), Turn::Over);
    assert_eq!(game.step(&mut foreign.clone(), &[Action(0)]), Err(StepError::GameOver));
    assert_eq!(legal(&game, &foreign), [0; 0]);
}

#[test]
fn states_are_small_and_have_distinct_digests() {
    assert_eq!(size_of::<State<2>>(), 64);
    assert_eq!(size_of::<State<7>>(), 184);
    let game = small(10);
    let mut digests = std::collections::BTreeSet::new();
    let mut steps = 0;
    for seed in 0..20 {
        let mut rng = Rng::new(seed, record::GAME_RNG);
        let mut state = game.initial(&mut rng);
        game.settle(&mut state, &mut rng);
        while let Turn::Move(_) = game.turn(&state) {
            let moves = legal(&game, &state);
            let action = moves[rng.below(moves.len() as u32) as usize];
            game.advance(&mut state, &[Action(action)], &mut rng).expect("a legal action");
            digests.insert(game.digest(&state));
            steps += 1;
        }
    }
    assert!(steps > 500, "{steps}");
    assert!(digests.len() + 20 > steps, "{} of {steps}", digests.len());
}
