//! Battlesnake: endings behind food that is still to be drawn, fatal moves, and chance.

use ouro_game::battlesnake::{Config, Point, Position, Small, Snake};
use ouro_game::{Action, Game, Rng, Symmetry, Turn};
use ouro_search::mcts::{ChanceWidth, Noise, Objective};
use ouro_search::{Estimates, Evaluator, Leaf, Rollout, SearchConfig, Uniform};

use crate::decide;

type State = <Small as Game>::State;

/// A game on 7×7 with these bodies, head first, and this food; later food appears as usual.
fn board(bodies: &[&[(i32, i32)]], food: &[(i32, i32)]) -> (Small, State) {
    let points = |cells: &[(i32, i32)]| -> Vec<Point> {
        cells.iter().map(|&(x, y)| Point { x, y }).collect()
    };
    let snake = |body: &&[(i32, i32)]| Snake { health: 90, body: points(body), death: None };
    let position = Position {
        width: 7,
        height: 7,
        turn: 30,
        snakes: bodies.iter().map(snake).collect(),
        food: points(food),
        hazards: Vec::new(),
        shrunk: [0; 4],
    };
    let start = Some(position);
    let snakes = bodies.len() as u8;
    let config = Config { width: 7, height: 7, snakes, start, ..Config::default() };
    let game = Small::new(config).unwrap();
    let state = game.initial(&mut Rng::new(1, "test"));
    (game, state)
}

/// The same with two snakes.
fn duel(bodies: [&[(i32, i32)]; 2], food: &[(i32, i32)]) -> (Small, State) {
    board(&bodies, food)
}

/// The first snake is trapped in the corner by its own body.
const TRAPPED: [(i32, i32); 5] = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 2)];
/// Three cells in the middle, heading up.
const FREE: [(i32, i32); 3] = [(4, 4), (4, 3), (4, 2)];

#[test]
fn an_ending_is_proven_although_food_is_still_to_be_drawn() {
    let (game, state) = duel([&TRAPPED, &FREE], &[(6, 0)]);
    let chance = ChanceWidth { ignore: false, ..ChanceWidth::default() };
    let config = SearchConfig { simulations: 300, chance, ..SearchConfig::default() };
    let decision = decide(&game, &state, &config, &mut Uniform, 1);
    assert!(decision.proven, "{decision:?}");
    assert_eq!(decision.values, [-1.0, 1.0]);
}

#[test]
fn moves_that_surely_kill_are_not_searched() {
    // The neck is below the first head, a wall to its left. Above it is the second snake.
    let first = [(0, 2), (0, 1), (0, 0)];
    let second = [(2, 3), (1, 3), (0, 3), (0, 4), (0, 5)];
    let (game, state) = duel([&first, &second], &[(6, 6)]);
    let config = SearchConfig {
        simulations: 200,
        noise: Some(Noise::default()),
        forced_playouts: Some(2.0),
        tremble: 0.5,
        ..SearchConfig::default()
    };
    let decision = decide(&game, &state, &config, &mut Uniform, 1);
    let actions: Vec<&[Action]> = decision.seats.iter().map(|seat| &seat.actions[..]).collect();
    // 0 up, 1 down, 2 left, 3 right.
    assert_eq!(actions, [&[Action(3)][..], &[Action(0), Action(1), Action(3)]]);
}

#[test]
fn a_player_whose_moves_all_kill_keeps_them() {
    let (game, state) = duel([&TRAPPED, &FREE], &[(6, 0)]);
    let config = SearchConfig { simulations: 8, solver: false, ..SearchConfig::default() };
    let decision = decide(&game, &state, &config, &mut Uniform, 1);
    assert_eq!(decision.seats[0].actions.len(), 4);
}

#[test]
fn a_lost_snake_takes_the_longest_way() {
    // Left of the head is room for one more turn, to its right for three.
    let first = [
        (1, 0),
        (1, 1),
        (0, 1),
        (0, 2),
        (1, 2),
        (2, 2),
        (2, 1),
        (3, 1),
        (4, 1),
        (5, 1),
        (5, 0),
        (6, 0),
        (6, 1),
        (6, 2),
        (5, 2),
        (4, 2),
        (3, 2),
    ];
    let second = [(3, 5), (4, 5), (5, 5)];
    let (game, state) = duel([&first, &second], &[(6, 6)]);
    // With chance, a proof would need every place where food may appear.
    let config = SearchConfig { simulations: 2_000, ..SearchConfig::default() };
    for seed in 0..4 {
        let decision = decide(&game, &state, &config, &mut Uniform, seed);
        assert!(decision.proven, "{decision:?}");
        assert_eq!(decision.values, [-1.0, 1.0]);
        assert_eq!(decision.seats[0].action, Action(3), "{decision:?}");
    }
}

/// Notes the latest turn of all leaves and evaluates them as 0.
#[derive(Debug, Default)]
struct Latest(u32);

impl Evaluator<Small> for Latest {
    fn evaluate(&mut self, game: &Small, leaves: &mut [Leaf<Small>], out: &mut Estimates) {
        for leaf in leaves {
            self.0 = self.0.max(game.elapsed(&leaf.state));
            out.push_uniform();
        }
    }
}

#[test]
fn a_search_that_ignores_chance_is_deeper() {
    let (game, state) = duel([&[(1, 3), (1, 2), (1, 1)], &[(5, 3), (5, 2), (5, 1)]], &[(1, 4)]);
    let depth = |ignore| {
        let chance = ChanceWidth { ignore, ..ChanceWidth::default() };
        let config = SearchConfig { simulations: 400, chance, ..SearchConfig::default() };
        let mut latest = Latest::default();
        decide(&game, &state, &config, &mut latest, 1);
        latest.0 - 30
    };
    let [with, without] = [false, true].map(depth);
    assert!(without > with, "{with} turns with chance, {without} without");
}

#[test]
fn a_search_that_ignores_chance_draws_no_food() {
    /// Checks that no leaf has more food than the start.
    #[derive(Debug)]
    struct NoFood;
    impl Evaluator<Small> for NoFood {
        fn evaluate(&mut self, _: &Small, leaves: &mut [Leaf<Small>], out: &mut Estimates) {
            for leaf in leaves {
                assert!(leaf.state.food().len() <= 1, "{:?}", leaf.state);
                out.push_uniform();
            }
        }
    }
    let (game, state) = duel([&[(1, 3), (1, 2), (1, 1)], &[(5, 3), (5, 2), (5, 1)]], &[(1, 4)]);
    let config = SearchConfig { simulations: 400, ..SearchConfig::default() };
    decide(&game, &state, &config, &mut NoFood, 1);
}

/// Three cells in the upper left corner, out of reach of the free snake for a turn.
const DISTANT: [(i32, i32); 3] = [(1, 5), (0, 5), (0, 4)];
/// A snake in the upper left corner, with one more move before it is trapped by its own body.
const DOOMED: [(i32, i32); 7] = [(1, 6), (2, 6), (2, 5), (1, 5), (0, 5), (0, 4), (0, 3)];

#[test]
fn a_death_is_worth_the_same_however_long_the_others_play_on() {
    let (game, state) = board(&[&TRAPPED, &FREE, &DISTANT], &[(6, 0)]);
    for simulations in [10, 100, 2_000] {
        let config =
            SearchConfig { simulations, discount: 0.5, solver: false, ..SearchConfig::default() };
        let values = decide(&game, &state, &config, &mut Uniform, 1).values;
        // The trapped snake loses in the first turn of each simulation. The evaluation of the
        // root, 0, is part of the mean.
        let simulations = simulations as f32;
        let expected = -0.5 * simulations / (simulations + 1.0);
        assert!((values[0] - expected).abs() < 1e-6, "{values:?} {expected}");
    }
}

#[test]
fn a_proven_death_is_discounted_to_its_own_turn() {
    // The first snake dies in the first turn, the others in the second, all other moves being fatal.
    let mirrored = DOOMED.map(|(x, y)| (6 - x, y));
    let (game, state) = board(&[&TRAPPED, &DOOMED, &mirrored], &[(3, 3)]);
    // Trembles reach every combination of fatal moves.
    let config = SearchConfig {
        simulations: 20_000,
        discount: 0.5,
        tremble: 0.8,
        ..SearchConfig::default()
    };
    let decision = decide(&game, &state, &config, &mut Uniform, 1);
    assert!(decision.proven, "{decision:?}");
    // Those that die last draw.
    assert_eq!(decision.values, [-0.5, 0.0, 0.0]);
}

#[test]
fn a_rollout_discounts_a_death_to_its_own_turn() {
    let (game, state) = board(&[&TRAPPED, &FREE, &DISTANT], &[(6, 0)]);
    let Turn::Move(movers) = game.turn(&state) else { panic!("players move") };
    let rollout = Rollout::for_objective(Objective::Outcome, 0.5);
    let mut later = 0;
    for mut rollout in [rollout.clone(), rollout.guided()] {
        for seed in 0..20 {
            let (symmetry, rng) = (Symmetry::Identity, Rng::new(seed, "rollout"));
            let mut out = Estimates::new();
            out.reset(&game);
            rollout.evaluate(&game, &mut [Leaf { state, movers, symmetry, rng }], &mut out);
            let values = out.get(0).unwrap().values;
            assert_eq!(values[0], -0.5, "{values:?}");
            later += u32::from(values[1..].iter().any(|value| (-0.25..0.0).contains(value)));
        }
    }
    assert!(later > 10, "another snake lost after the first in {later} of 40 rollouts");
}
