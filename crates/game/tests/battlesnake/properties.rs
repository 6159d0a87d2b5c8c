//! Invariants of every game, for Battlesnake on all rulesets and boards.

use ouro_game::battlesnake::{Battlesnake, Cell, Config, Large, Small};
use ouro_game::record::{Recorder, Replay};
use ouro_game::{Action, Chance, Game, PlayerSet, Rng, StepError, Turn};
use proptest::prelude::*;

use crate::generate::configs;

/// Plays up to 40 turns of random moves, half of them safe, and passes every state to `check`.
fn every_state<G: Game>(
    game: &G,
    seed: u64,
    mut check: impl FnMut(&G::State, &[Action], &mut Rng) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut rng = Rng::new(seed, "property");
    let mut state = game.initial(&mut rng);
    for _ in 0..40 {
        let joint: Vec<Action> = (0..game.players()).map(|_| Action(rng.below(4))).collect();
        check(&state, &joint, &mut rng)?;
        if game.turn(&state) == Turn::Over {
            break;
        }
        game.step(&mut state, &joint).map_err(|error| TestCaseError::fail(error.to_string()))?;
        check(&state, &joint, &mut rng)?;
        game.settle(&mut state, &mut rng);
    }
    Ok(())
}

/// Runs a check on the rules of a configuration that can be played.
macro_rules! on_rules {
    ($config:expr, $check:expr) => {
        if let Ok(rules) = Small::new($config.clone()) {
            $check(&rules)?;
        } else if let Ok(rules) = Large::new($config.clone()) {
            $check(&rules)?;
        }
    };
}

fn a_clone_steps_alike<G: Game>(game: &G, seed: u64) -> Result<(), TestCaseError> {
    every_state(game, seed, |state, joint, rng| {
        let (mut left, mut right) = (state.clone(), state.clone());
        prop_assert_eq!(game.step(&mut left, joint), game.step(&mut right, joint));
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(game.digest(&left), game.digest(&right));
        let mut twin = rng.clone();
        game.settle(&mut left, rng);
        while game.turn(&right) == Turn::Chance {
            let outcome = game.sample_chance(&right, &mut twin);
            prop_assert_eq!(game.apply_chance(&mut right, outcome), Ok(()));
        }
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(&*rng, &twin);
        Ok(())
    })
}

fn states_survive_json<G: Game>(game: &G, seed: u64) -> Result<(), TestCaseError> {
    every_state(game, seed, |state, _, _| {
        let json = serde_json::to_string(state).expect("states serialise");
        let back: G::State = serde_json::from_str(&json)
            .map_err(|error| TestCaseError::fail(format!("{error} in {json}")))?;
        prop_assert_eq!(&back, state);
        prop_assert_eq!(game.digest(&back), game.digest(state));
        Ok(())
    })
}

fn symmetries_commute<G: Game>(game: &G, seed: u64) -> Result<(), TestCaseError> {
    every_state(game, seed, |state, joint, _| {
        for &symmetry in game.symmetries() {
            let turned: Vec<Action> =
                joint.iter().map(|&action| game.transform_action(action, symmetry)).collect();
            let mut image = game.transform(state, symmetry);
            prop_assert_eq!(&game.transform(&image, symmetry.inverse()), state);
            let mut after = state.clone();
            prop_assert_eq!(game.step(&mut image, &turned), game.step(&mut after, joint));
            prop_assert_eq!(&image, &game.transform(&after, symmetry));
            planes_turn_with_the_board(game, &after, &image, symmetry)?;
        }
        Ok(())
    })
}

/// The observation of an image is the image of the observation.
fn planes_turn_with_the_board<G: Game>(
    game: &G,
    state: &G::State,
    image: &G::State,
    symmetry: ouro_game::Symmetry,
) -> Result<(), TestCaseError> {
    let shape = game.planes();
    let (mut straight, mut turned) = (vec![f32::NAN; shape.len()], vec![f32::NAN; shape.len()]);
    game.observe(state, 0, &mut straight);
    game.observe(image, 0, &mut turned);
    for channel in 0..shape.channels {
        for y in 0..shape.height {
            for x in 0..shape.width {
                let (u, v) = symmetry.cell(x, y, shape.width, shape.height);
                let at = |x, y| (channel * shape.height + y) * shape.width + x;
                let (here, there) = (straight[at(x, y)], turned[at(u, v)]);
                prop_assert!((0.0..=1.0).contains(&here), "plane {} holds {}", channel, here);
                prop_assert_eq!(here.to_bits(), there.to_bits());
            }
        }
    }
    Ok(())
}

fn the_dead_do_not_matter<G: Game>(game: &G, seed: u64) -> Result<(), TestCaseError> {
    every_state(game, seed, |state, joint, _| {
        let mut other = joint.to_vec();
        for (player, action) in other.iter_mut().enumerate() {
            if !game.alive(state).contains(player) {
                *action = Action(77);
            }
        }
        let (mut left, mut right) = (state.clone(), state.clone());
        prop_assert_eq!(game.step(&mut left, joint), game.step(&mut right, &other));
        prop_assert_eq!(left, right);
        Ok(())
    })
}

fn turns_and_chances_are_consistent<G: Game>(game: &G, seed: u64) -> Result<(), TestCaseError> {
    every_state(game, seed, |state, joint, _| {
        let mut mask = ouro_game::ActionMask::default();
        let movers = match game.turn(state) {
            Turn::Move(movers) => movers,
            _ => PlayerSet::EMPTY,
        };
        for player in 0..17 {
            game.legal(state, player, &mut mask);
            prop_assert_eq!(mask.count(), if movers.contains(player) { 4 } else { 0 });
            prop_assert!(game.returns(state, player).is_finite());
            prop_assert!((-1.0..=1.0).contains(&game.outcome(state, player)));
        }
        let mut copy = state.clone();
        prop_assert!(game.step(&mut copy, &joint[1..]).is_err());
        prop_assert_eq!(&copy, state);
        if game.turn(state) != Turn::Chance {
            prop_assert_eq!(game.apply_chance(&mut copy, 0), Err(StepError::NotAChanceNode));
            return Ok(());
        }
        let Chance::Enumerable { count } = game.chance(state) else {
            return Err(TestCaseError::fail("every chance node can be listed"));
        };
        let sum: f64 = (0..count).map(|outcome| game.chance_probability(state, outcome)).sum();
        prop_assert!((sum - 1.0).abs() < 1e-9, "probabilities add up to {}", sum);
        prop_assert!(game.chance_probability(state, count) == 0.0);
        let outcome = count;
        let error = Err(StepError::ImpossibleOutcome { outcome });
        prop_assert_eq!(game.apply_chance(&mut copy, count), error);
        prop_assert_eq!(&copy, state);
        for outcome in 0..count {
            prop_assert_eq!(game.apply_chance(&mut state.clone(), outcome), Ok(()));
        }
        Ok(())
    })
}

/// Viable moves are those that some moves of the others let the snake survive; all, if there are
/// none.
fn viable_moves_are_those_that_can_be_survived<G: Game>(
    game: &G,
    seed: u64,
) -> Result<(), TestCaseError> {
    every_state(game, seed, |state, _, _| {
        let Turn::Move(movers) = game.turn(state) else { return Ok(()) };
        // All joint actions of three snakes; a sample of those of more.
        let joints = 4_u32.pow(movers.len().min(3) as u32);
        let joint = |number: u32| -> Vec<Action> {
            let mut action = vec![Action(0); game.players()];
            let mut mixed = Rng::indexed(seed, "joint", number.into());
            let mut left = number;
            for player in movers.iter() {
                let all = movers.len() <= 3;
                action[player] = Action(if all { left % 4 } else { mixed.below(4) });
                left /= 4;
            }
            action
        };
        let mut survived = vec![0_u32; game.players()];
        for number in 0..joints {
            let (actions, mut after) = (joint(number), state.clone());
            prop_assert_eq!(game.step(&mut after, &actions), Ok(()));
            for player in game.alive(&after).iter() {
                survived[player] |= 1 << actions[player].0;
            }
        }
        let mut mask = ouro_game::ActionMask::default();
        for player in movers.iter() {
            game.viable(state, player, &mut mask);
            let viable = mask.iter().fold(0, |bits, action| bits | 1 << action.0);
            prop_assert_eq!(survived[player] & !viable, 0, "player {}: {:?}", player, state);
            if movers.len() <= 3 {
                let expected = if survived[player] == 0 { 0b1111 } else { survived[player] };
                prop_assert_eq!(viable, expected, "player {}: {:?}", player, state);
            }
        }
        Ok(())
    })
}

fn records_replay<G: Game<Config = Config>>(game: &G, seed: u64) -> Result<(), TestCaseError> {
    let mut rng = Rng::new(seed, "moves");
    let mut recorder = Recorder::new(game, seed);
    while game.turn(recorder.state()) != Turn::Over && recorder.plies() < 40 {
        let joint: Vec<Action> = (0..game.players()).map(|_| Action(rng.below(4))).collect();
        prop_assert_eq!(recorder.advance(game, &joint), Ok(()));
    }
    let last = recorder.state().clone();
    let record = recorder.into_record(game.config().clone());
    let replayed = Replay::new(game, &record)
        .and_then(Replay::finish)
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(replayed, last);
    Ok(())
}

fn sets_of_cells_say_what_cells_say<C: Cell, const W: usize, const S: usize>(
    game: &Battlesnake<C, W, S>,
    seed: u64,
) -> Result<(), TestCaseError> {
    every_state(game, seed, |state, _, _| {
        let (food, hazards) = (state.food_cells(), game.hazard_cells(state));
        let mut bodies: Vec<usize> =
            state.living().flat_map(|snake| state.trail(snake).collect::<Vec<_>>()).collect();
        bodies.sort_unstable();
        prop_assert_eq!(state.occupied().iter().collect::<Vec<_>>(), bodies);
        for cell in 0..game.geometry().cells() {
            prop_assert_eq!(hazards.contains(cell), game.hazards_on(state, cell) > 0);
            prop_assert_eq!(food.contains(cell), state.food().any(|food| food == cell));
        }
        for snake in state.living() {
            let (distinct, stack) = (state.trail(snake).count(), state.tail_stack(snake));
            prop_assert_eq!(distinct + usize::from(stack), usize::from(state.length(snake)));
            let mut cell = state.tail(snake);
            for next in state.trail(snake).skip(1) {
                cell = game.towards_head(state, cell);
                prop_assert_eq!(cell, next);
            }
            prop_assert_eq!(cell, state.head(snake));
        }
        let mut idle = *state;
        game.settle_idle(&mut idle);
        prop_assert!(game.turn(&idle) != Turn::Chance);
        prop_assert!(idle.food().eq(state.food()));
        Ok(())
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_clone_steps_alike_and_settling_is_one_draw_after_the_other(
        config in configs(), seed in any::<u64>(),
    ) {
        on_rules!(config, |rules| a_clone_steps_alike(rules, seed));
    }

    #[test]
    fn states_come_back_from_json_unchanged(config in configs(), seed in any::<u64>()) {
        on_rules!(config, |rules| states_survive_json(rules, seed));
    }

    #[test]
    fn symmetries_commute_with_steps_and_observations(
        config in configs(), seed in any::<u64>(),
    ) {
        on_rules!(config, |rules| symmetries_commute(rules, seed));
    }

    #[test]
    fn viable_moves_can_be_survived_and_no_other(config in configs(), seed in any::<u64>()) {
        on_rules!(config, |rules| viable_moves_are_those_that_can_be_survived(rules, seed));
    }

    #[test]
    fn queries_of_cells_and_of_sets_of_cells_agree(
        config in configs(), seed in any::<u64>(),
    ) {
        on_rules!(config, |rules| sets_of_cells_say_what_cells_say(rules, seed));
    }

    #[test]
    fn moves_of_dead_snakes_have_no_effect(config in configs(), seed in any::<u64>()) {
        on_rules!(config, |rules| the_dead_do_not_matter(rules, seed));
    }

    #[test]
    fn legal_moves_chances_and_errors_are_consistent(config in configs(), seed in any::<u64>()) {
        on_rules!(config, |rules| turns_and_chances_are_consistent(rules, seed));
    }

    #[test]
    fn a_recorded_game_replays_to_the_same_state(config in configs(), seed in any::<u64>()) {
        on_rules!(config, |rules| records_replay(rules, seed));
    }
}

#[test]
fn a_small_state_fits_six_cache_lines() {
    assert!(size_of::<<Small as Game>::State>() <= 384, "{}", size_of::<<Small as Game>::State>());
    assert!(size_of::<<Large as Game>::State>() <= 2304, "{}", size_of::<<Large as Game>::State>());
}

#[test]
fn a_state_of_another_board_panics_nothing() {
    let rules = |side| {
        let config = Config { width: side, height: side, ..Config::default() };
        Small::new(config).expect("the side is in range")
    };
    for (side, other) in [(11, 7), (7, 11), (3, 11), (11, 3)] {
        let (home, away) = (rules(side), rules(other));
        let mut planes = vec![0.0; away.planes().len()];
        for seed in 0..50 {
            let mut rng = Rng::new(seed, "property");
            let mut state = home.initial(&mut rng);
            for _ in 0..8 {
                home.random_turn(&mut state, &mut rng);
            }
            for _ in 0..20 {
                away.observe(&state, 0, &mut planes);
                assert!(!away.render(&state).is_empty());
                assert!(away.returns(&state, 0).is_finite());
                away.random_turn(&mut state, &mut rng);
            }
        }
    }
}

#[test]
fn an_invalid_state_is_an_error() {
    let rules = Small::new(Config::default()).expect("the default is playable");
    let state = rules.initial(&mut Rng::new(1, "test"));
    let json = serde_json::to_value(state).expect("states serialise");
    for (pointer, value) in [
        ("/position/width", serde_json::json!(26)),
        ("/position/snakes/0/health", serde_json::json!(0)),
        ("/position/snakes/0/body", serde_json::json!([])),
        ("/position/food/0", serde_json::json!([11, 0])),
        ("/position/hazards", serde_json::json!([[1, 1]])),
        ("/lengths/0", serde_json::json!(9)),
        ("/lengths", serde_json::json!([3, 3])),
        ("/pending", serde_json::json!({"food": 121})),
        ("/pending", serde_json::json!({"food": 0})),
    ] {
        let mut wrong = json.clone();
        *wrong.pointer_mut(pointer).expect("the field exists") = value;
        assert!(serde_json::from_value::<<Small as Game>::State>(wrong).is_err(), "{pointer}");
    }
}
