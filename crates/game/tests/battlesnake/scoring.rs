//! Rewards, outcomes, drawings and errors in constructed positions.

use ouro_game::battlesnake::{Config, Map, Position, Rewards, Ruleset, Small, Snake};
use ouro_game::{Action, Game, Rng, Turn};

const UP: u32 = 0;
const DOWN: u32 = 1;
const LEFT: u32 = 2;
const RIGHT: u32 = 3;

fn snake(health: i32, body: &[(i32, i32)]) -> Snake {
    Snake { health, body: body.iter().map(|&cell| cell.into()).collect(), death: None }
}

/// A 7×7 board on which no food appears.
fn rules(ruleset: Ruleset, snakes: Vec<Snake>, food: &[(i32, i32)]) -> Small {
    let start = Position {
        width: 7,
        height: 7,
        turn: 30,
        food: food.iter().map(|&cell| cell.into()).collect(),
        hazards: Vec::new(),
        shrunk: [0; 4],
        snakes,
    };
    let config = Config {
        ruleset,
        width: 7,
        height: 7,
        snakes: start.snakes.len() as u8,
        food_spawn_chance: 0,
        minimum_food: 0,
        start: Some(start),
        ..Config::default()
    };
    Small::new(config).expect("the position is playable")
}

fn play(rules: &Small, plies: &[&[u32]]) -> <Small as Game>::State {
    let mut rng = Rng::new(1, "scoring");
    let mut state = rules.initial(&mut rng);
    for ply in plies {
        let joint: Vec<Action> = ply.iter().map(|&action| Action(action)).collect();
        rules.advance(&mut state, &joint, &mut rng).expect("the game is not over");
    }
    state
}

fn near(left: f32, right: f32) -> bool {
    (left - right).abs() < 1e-5
}

#[test]
fn the_last_snake_alive_wins_and_rewards_add_up() {
    let rules = rules(
        Ruleset::Standard,
        vec![snake(50, &[(3, 3), (3, 2), (3, 1)]), snake(50, &[(0, 5), (0, 4), (0, 3)])],
        &[(3, 4)],
    );
    let first = play(&rules, &[&[UP, UP]]);
    assert_eq!(rules.turn(&first), Turn::Move(rules.alive(&first)));
    assert!(near(rules.returns(&first, 0), 0.01 + 1.0));
    assert_eq!((rules.outcome(&first, 0), rules.outcome(&first, 1)), (0.0, 0.0));
    let last = play(&rules, &[&[UP, UP], &[UP, LEFT]]);
    assert_eq!(rules.turn(&last), Turn::Over);
    assert_eq!((rules.outcome(&last, 0), rules.outcome(&last, 1)), (1.0, -1.0));
    assert!(near(rules.returns(&last, 0), 0.02 + 1.0 + 5.0));
    assert!(near(rules.returns(&last, 1), 0.01 - 1.0));
    assert_eq!(rules.elapsed(&last), 32);
}

#[test]
fn snakes_that_die_last_together_draw_and_earlier_ones_lose() {
    let rules = rules(
        Ruleset::Standard,
        vec![
            snake(50, &[(2, 3), (1, 3), (0, 3)]),
            snake(50, &[(5, 3), (6, 3), (6, 4)]),
            snake(1, &[(0, 0), (1, 0), (2, 0)]),
        ],
        &[],
    );
    let state = play(&rules, &[&[RIGHT, UP, UP]]);
    assert_eq!(rules.alive(&state).len(), 2);
    assert_eq!(rules.outcome(&state, 2), -1.0);
    let state = play(&rules, &[&[RIGHT, LEFT, UP], &[DOWN, DOWN, UP], &[RIGHT, LEFT, UP]]);
    assert_eq!(rules.turn(&state), Turn::Over);
    let results: Vec<f32> = (0..3).map(|snake| rules.outcome(&state, snake)).collect();
    assert_eq!(results, [0.0, 0.0, -1.0]);
    let config = Config { draw: -0.5, ..rules.config().clone() };
    let wary = Small::new(config).expect("a draw may cost something");
    let results: Vec<f32> = (0..3).map(|snake| wary.outcome(&state, snake)).collect();
    assert_eq!(results, [-0.5, -0.5, -1.0]);
    let config = Config { draw: -1.0, ..wary.config().clone() };
    let strict = Small::new(config).expect("a draw may count like a loss");
    let results: Vec<f32> = (0..3).map(|snake| strict.outcome(&state, snake)).collect();
    assert_eq!(results, [-0.9, -0.9, -1.0], "the last two rank first among three");
}

#[test]
fn a_draw_of_two_snakes_may_cost_as_much_as_a_loss() {
    let snakes = vec![snake(50, &[(2, 3), (1, 3), (0, 3)]), snake(50, &[(4, 3), (5, 3), (6, 3)])];
    let rules = rules(Ruleset::Standard, snakes, &[]);
    let config = Config { draw: -1.0, ..rules.config().clone() };
    let strict = Small::new(config).expect("a draw may count like a loss");
    let state = play(&strict, &[&[RIGHT, LEFT]]);
    assert_eq!(strict.turn(&state), Turn::Over);
    assert_eq!((strict.outcome(&state, 0), strict.outcome(&state, 1)), (-1.0, -1.0));
}

#[test]
fn automatic_growth_is_not_rewarded() {
    let snakes = vec![snake(50, &[(1, 1), (1, 0)]), snake(50, &[(5, 1), (5, 0)])];
    let rules = rules(Ruleset::Constrictor, snakes, &[(1, 2)]);
    let state = play(&rules, &[&[UP, UP], &[UP, UP]]);
    assert!(state.length(0) > 3);
    assert!(near(rules.returns(&state, 0), 0.02));
}

#[test]
fn a_game_that_ends_still_gets_its_food_and_its_turn() {
    let mut config = rules(
        Ruleset::Standard,
        vec![snake(50, &[(3, 3), (3, 2), (3, 1)]), snake(50, &[(0, 5), (0, 4), (0, 3)])],
        &[],
    )
    .config()
    .clone();
    config.minimum_food = 2;
    let rules = Small::new(config).expect("only the food changed");
    let state = play(&rules, &[&[UP, LEFT]]);
    assert_eq!(rules.turn(&state), Turn::Over);
    assert_eq!((state.turn(), state.food().len()), (31, 2));
}

#[test]
fn the_default_move_continues_and_a_stacked_snake_moves_up() {
    let snakes = vec![snake(50, &[(0, 3), (6, 3), (5, 3), (5, 3)]), snake(50, &[(3, 3); 3])];
    let rules = rules(Ruleset::Wrapped, snakes, &[]);
    let state = play(&rules, &[]);
    assert_eq!(u32::from(rules.default_move(&state, 0)), RIGHT);
    assert_eq!(u32::from(rules.default_move(&state, 1)), UP);
}

#[test]
fn safe_moves_avoid_walls_and_bodies_but_not_moving_tails() {
    let snakes = vec![
        snake(50, &[(0, 0), (0, 1), (1, 1), (1, 0)]),
        snake(50, &[(3, 0), (3, 1), (2, 1), (2, 0), (2, 0)]),
    ];
    let rules = rules(Ruleset::Standard, snakes, &[]);
    let state = play(&rules, &[]);
    assert_eq!(rules.safe_moves(&state, 0), 1 << RIGHT);
    assert_eq!(rules.safe_moves(&state, 1), 1 << RIGHT);
    assert_eq!(rules.safe_moves(&state, 9), 0);
}

#[test]
fn a_drawing_shows_the_board_and_one_line_per_snake() {
    let snakes = vec![
        snake(42, &[(1, 5), (1, 4), (2, 4)]),
        snake(50, &[(6, 0), (5, 0), (4, 0)]),
        snake(99, &[(5, 5), (5, 4)]),
    ];
    let rules = rules(Ruleset::Standard, snakes, &[(3, 3)]);
    let state = play(&rules, &[&[UP, RIGHT, LEFT]]);
    let drawing = "turn 31\n\
        . A . . . . .\n\
        . a . . C c .\n\
        . a . . . . .\n\
        . . . * . . .\n\
        . . . . . . .\n\
        . . . . . . .\n\
        . . . . . . .\n\
        A health 41, length 3\n\
        B died on turn 31: wall collision, length 3\n\
        C health 98, length 2\n";
    assert_eq!(rules.render(&state), drawing);
}

#[test]
fn configurations_out_of_range_name_their_field() {
    let good = Config::default();
    let start = rules(Ruleset::Standard, vec![snake(5, &[(1, 1)]); 1], &[]).config().start.clone();
    let unclocked = Config { shrink_every_n_turns: 0, ..good.clone() };
    let rewarded = |rewards| Config { rewards, ..good.clone() };
    let plain = Rewards::default();
    for (field, config) in [
        ("width", Config { width: 2, ..good.clone() }),
        ("height", Config { height: 26, ..good.clone() }),
        ("snakes", Config { snakes: 0, ..good.clone() }),
        ("snakes", Config { snakes: 17, ..good.clone() }),
        ("snakes", Config { snakes: 1, ..good.clone() }),
        ("food_spawn_chance", Config { food_spawn_chance: 101, ..good.clone() }),
        ("hazard_damage_per_turn", Config { hazard_damage_per_turn: 101, ..good.clone() }),
        ("shrink_every_n_turns", Config { ruleset: Ruleset::Royale, ..unclocked.clone() }),
        ("shrink_every_n_turns", Config { map: Map::Royale, ..unclocked.clone() }),
        ("rewards.food", rewarded(Rewards { food: f32::NAN, ..plain })),
        ("rewards.turn", rewarded(Rewards { turn: 1e38, ..plain })),
        ("rewards.win", rewarded(Rewards { win: 1_000_001.0, ..plain })),
        ("rewards.death", rewarded(Rewards { death: -1_000_001.0, ..plain })),
        ("draw", Config { draw: -1.5, ..good.clone() }),
        ("draw", Config { draw: f32::NAN, ..good.clone() }),
        ("start.width", Config { start, ..good.clone() }),
    ] {
        let error = Small::new(config).expect_err(field);
        assert_eq!(error.field, field);
    }
    let most = Rewards { death: -1e6, turn: 1e6, food: 1e6, win: 1e6 };
    assert!(Small::new(rewarded(most)).is_ok());
    let large = Config { width: 12, height: 12, ..good };
    let error = Small::new(large.clone()).expect_err("144 cells do not fit 128");
    assert_eq!(error.field, "width");
    assert!(ouro_game::battlesnake::Large::new(large).is_ok());
}

#[test]
fn games_without_shrinking_ignore_the_turns_between_shrinks() {
    for ruleset in [
        Ruleset::Standard,
        Ruleset::Solo,
        Ruleset::Wrapped,
        Ruleset::Constrictor,
        Ruleset::WrappedConstrictor,
    ] {
        let config = Config { ruleset, shrink_every_n_turns: 0, ..Config::default() };
        let game = Small::new(config).expect("nothing closes in");
        let laws = ouro_game::check_laws(&game, 3, 3).expect("it is a game like any other");
        assert!(laws.plies > 0, "{ruleset:?}");
    }
}
