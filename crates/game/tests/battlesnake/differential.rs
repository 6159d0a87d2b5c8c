//! The engine and the slow reference play the same games.

use ouro_game::battlesnake::{
    Battlesnake, Cell, Config, DeadBodies, Large, Pending, Point, Small, State,
};
use ouro_game::{Action, Game, Rng, StepError, Turn};
use proptest::prelude::*;

use crate::generate::configs;
use crate::reference::Reference;

/// Turns of a game that are compared.
const TURNS: usize = 60;

/// Plays one game on both engines; sometimes a snake makes an unsafe move.
fn compare<C: Cell, const W: usize, const S: usize>(
    rules: &Battlesnake<C, W, S>,
    seed: u64,
) -> Result<(), TestCaseError> {
    let mut rng = Rng::new(seed, "differential");
    let mut state = rules.initial(&mut rng);
    let config = rules.config();
    let mut dead_bodies = config
        .start
        .as_ref()
        .map_or_else(|| DeadBodies::new(config.snakes.into()), DeadBodies::from_position);
    let position = rules.position(&state, &dead_bodies);
    if let Some(start) = &config.start {
        prop_assert_eq!(&position, start);
    }
    let mut reference = Reference { config: config.clone(), position };
    for _ in 0..TURNS {
        prop_assert_eq!(rules.turn(&state) == Turn::Over, reference.is_over());
        if reference.is_over() {
            let joint = vec![Action(0); config.snakes.into()];
            prop_assert_eq!(rules.step(&mut state, &joint), Err(StepError::GameOver));
            return Ok(());
        }
        let mut moves = [0; S];
        for snake in reference.living() {
            let safe: Vec<u8> =
                (0..4).filter(|step| rules.safe_moves(&state, snake) >> step & 1 == 1).collect();
            moves[snake] = match rng.below(8) {
                0 => rng.below(4) as u8,
                1 => rules.default_move(&state, snake),
                _ if safe.is_empty() => 0,
                _ => safe[rng.below(safe.len() as u32) as usize],
            };
        }
        rules.step_moves(&mut state, &moves, &mut dead_bodies);
        prop_assert_eq!(state.pending() == Pending::Shrink, reference.shrinks_next());
        let side = reference.shrinks_next().then(|| rules.sample_chance(&state, &mut rng));
        if let Some(side) = side {
            prop_assert_eq!(rules.apply_chance(&mut state, side), Ok(()));
        }
        reference.step(&moves[..config.snakes.into()], side.map(|side| side as usize));
        prop_assert_eq!(&rules.position(&state, &dead_bodies), &reference.position);
        spawn(rules, &mut state, &mut reference, &mut rng)?;
        prop_assert_eq!(&rules.position(&state, &dead_bodies), &reference.position);
    }
    Ok(())
}

/// Lets food appear and checks its number and its cells.
fn spawn<C: Cell, const W: usize, const S: usize>(
    rules: &Battlesnake<C, W, S>,
    state: &mut State<C, W, S>,
    reference: &mut Reference,
    rng: &mut Rng,
) -> Result<(), TestCaseError> {
    let legal = reference.legal_food();
    let (least, most) = reference.food_range();
    let point = |cell| rules.geometry().point(cell);
    prop_assert_eq!(rules.legal_food(state).iter().map(point).collect::<Vec<_>>(), &legal[..]);
    let before = state.food().len();
    rules.settle(state, rng);
    let spawned: Vec<Point> = state.food().skip(before).map(point).collect();
    prop_assert!((least..=most).contains(&spawned.len()), "{} foods", spawned.len());
    for food in spawned {
        prop_assert!(legal.contains(&food) && !reference.position.food.contains(&food));
        reference.position.food.push(food);
    }
    Ok(())
}

fn compare_in_every_class(config: &Config, seed: u64) -> Result<(), TestCaseError> {
    if let Ok(rules) = Small::new(config.clone()) {
        compare(&rules, seed)?;
    }
    if let Ok(rules) = Large::new(config.clone()) {
        compare(&rules, seed)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3_000,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_engine_agrees_with_the_reference_on_every_turn(
        config in configs(),
        seed in any::<u64>(),
    ) {
        compare_in_every_class(&config, seed)?;
    }
}

#[test]
fn almost_all_generated_games_can_be_played() {
    // Otherwise the comparison above would pass without comparing anything.
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let playable = (0..200)
        .filter(|_| {
            let tree = configs().new_tree(&mut runner).expect("the strategy makes values");
            Large::new(proptest::strategy::ValueTree::current(&tree)).is_ok()
        })
        .count();
    assert!(playable > 150, "{playable} of 200");
}
