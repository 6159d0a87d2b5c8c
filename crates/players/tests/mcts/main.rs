//! The player that searches a tree: reproducible, on time, and better than chance.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod both_policies;
#[path = "../../../search/tests/mcts/matrix.rs"]
#[expect(dead_code, reason = "the tests of the search use all of it, these the game alone")]
mod matrix;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ouro_game::battlesnake::{self, Small};
use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::snake;
use ouro_game::tic_tac_toe::TicTacToe;
use ouro_game::{Action, ActionMask, Game, Rng, Symmetry, Turn};
use ouro_net::{
    Architecture, Engine, NetSpec, Scratch, ValueRange, Weights, WeightsMeta, synthetic,
};
use ouro_players::{
    BuildContext, Choice, Clock, FinishedGame, GameBatch, NetEvaluator, Player, Request, by_name,
    by_name_for, pairs,
};
use ouro_search::{Estimates, Evaluator, Leaf};

use crate::matrix::Matrix;

/// A clock that moves a millisecond with every look.
#[derive(Debug, Default)]
struct Looks(AtomicU64);

impl Clock for Looks {
    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn engine<G: Game>(game: &G) -> Arc<Engine> {
    let architecture = Architecture::Conv { channels: 8, layers: 2, hidden: 16 };
    let spec = NetSpec { planes: game.planes(), actions: game.action_count(), architecture };
    Arc::new(Engine::new(&Weights::initialize(spec, WeightsMeta::default(), 1).unwrap()))
}

fn build<G: Game>(name: &str, game: &G) -> Box<dyn Player<G>> {
    let best = engine(game);
    let engines = &mut |name: &str| (name == "best").then(|| Arc::clone(&best));
    let clock = Arc::new(Looks::default());
    by_name(name, &mut BuildContext { game, engines, clock }).unwrap()
}

/// Positions some random turns into games.
fn positions<G: Game>(game: &G, count: u64) -> Vec<G::State> {
    let mut states = Vec::new();
    for index in 0.. {
        let mut rng = Rng::indexed(4, "game", index);
        let mut state = game.initial(&mut rng);
        game.settle(&mut state, &mut rng);
        game.rollout(&mut state, rng.below(6), &mut Default::default(), &mut rng);
        if game.turn(&state) != Turn::Over {
            states.push(state);
        }
        if states.len() as u64 == count {
            break;
        }
    }
    states
}

/// The choices of every player to move in every position, requested `at_once` at a time.
fn choices<G: Game>(name: &str, game: &G, states: &[G::State], at_once: usize) -> Vec<Choice> {
    let mut player = build(name, game);
    let mut seats = Vec::new();
    for (index, state) in states.iter().enumerate() {
        let Turn::Move(movers) = game.turn(state) else { continue };
        seats.extend(movers.iter().map(|seat| (index, seat)));
    }
    let mut rngs: Vec<Rng> =
        (0..seats.len()).map(|index| Rng::indexed(9, "seat", index as u64)).collect();
    let mut choices = Vec::new();
    let seats = seats.chunks(at_once).zip(rngs.chunks_mut(at_once));
    for (seats, rngs) in seats {
        let mut requests: Vec<Request<'_, G>> = seats
            .iter()
            .zip(rngs)
            .map(|(&(index, player), rng)| Request {
                state: &states[index],
                player,
                rng,
                game: None,
            })
            .collect();
        player.choose(game, &mut requests, &mut choices);
    }
    choices
}

fn check_reproducible<G: Game>(game: &G, names: &[&str]) {
    let states = positions(game, 12);
    for name in names {
        let together = choices(name, game, &states, usize::MAX);
        assert!(together.len() >= 12);
        for at_once in [1, 5] {
            assert_eq!(choices(name, game, &states, at_once), together, "{name}");
        }
        for choice in &together {
            assert!(choice.probability > 0.0 && choice.probability <= 1.0, "{choice:?}");
        }
    }
}

#[test]
fn choices_do_not_depend_on_other_requests_in_the_call() {
    let names = [
        "mcts{sims=60}",
        "mcts{sims=60,weights=uniform,temperature=1}",
        "mcts{sims=40,weights=best,temperature=1}",
        "mcts{sims=40,weights=best,gumbel,leaves=4}",
        "mcts{sims=40,weights=best,regret,cache=64}",
    ];
    check_reproducible(&ConnectFour::new(connect_four::Config::default()).unwrap(), &names);
    let board =
        battlesnake::Config { width: 7, height: 7, snakes: 3, ..battlesnake::Config::default() };
    check_reproducible(&Small::new(board).unwrap(), &names);
    let config = snake::Config { size: 4, ..snake::Config::default() };
    check_reproducible(&snake::Small::new(config).unwrap(), &names);
}

#[test]
fn a_player_on_the_clock_stops_when_its_time_is_up() {
    let game = ConnectFour::new(connect_four::Config::default()).unwrap();
    let state = game.initial(&mut Rng::new(0, "game"));
    let clock = Arc::new(Looks::default());
    let context = &mut BuildContext { game: &game, engines: &mut |_| None, clock: clock.clone() };
    let mut player = by_name("mcts{ms=50}", context).unwrap();
    let mut rng = Rng::new(1, "seat");
    let mut choices = Vec::new();
    let mut requests = [Request { state: &state, player: 0, rng: &mut rng, game: None }];
    player.choose(&game, &mut requests, &mut choices);
    // One poll at the start, then one per millisecond of this clock.
    assert_eq!(clock.0.load(Ordering::Relaxed), 51);
    assert_eq!(choices.len(), 1);
}

#[test]
fn a_player_on_the_clock_stops_when_the_position_is_proven() {
    let game = ConnectFour::new(connect_four::Config::default()).unwrap();
    // The first player wins with column 4.
    let state = game.position("112233").unwrap();
    for weights in ["rollout", "uniform"] {
        let clock = Arc::new(Looks::default());
        let context =
            &mut BuildContext { game: &game, engines: &mut |_| None, clock: clock.clone() };
        let mut player = by_name(&format!("mcts{{ms=1000,weights={weights}}}"), context).unwrap();
        let mut rng = Rng::new(1, "seat");
        let mut choices = Vec::new();
        let mut requests = [Request { state: &state, player: 0, rng: &mut rng, game: None }];
        player.choose(&game, &mut requests, &mut choices);
        assert_eq!(choices[0].action, Action(3));
        // The whole time has 1,001 polls. A proof needs one visit of the winning move.
        let looks = clock.0.load(Ordering::Relaxed);
        assert!(looks < 100, "{weights}: {looks} polls of the clock");
    }
}

#[test]
fn a_timed_search_ends_even_if_all_leaves_are_known_and_the_root_is_not_proven() {
    let [(_, pennies), ..] = matrix::matrices();
    let game = Matrix::new(pennies).unwrap();
    let state = game.initial(&mut Rng::new(0, "game"));
    let clock = Arc::new(Looks::default());
    let context = &mut BuildContext { game: &game, engines: &mut |_| None, clock: clock.clone() };
    for leaves in ["", ",leaves=3"] {
        let looks = clock.0.load(Ordering::Relaxed);
        let name = format!("mcts{{ms=20,weights=uniform,temperature=1{leaves}}}");
        let mut player = by_name_for(&name, context).unwrap();
        let mut rng = Rng::new(1, "seat");
        let mut choices = Vec::new();
        let mut requests = [Request { state: &state, player: 0, rng: &mut rng, game: None }];
        player.choose(&game, &mut requests, &mut choices);
        assert_eq!(clock.0.load(Ordering::Relaxed), looks + 21);
        // Neither side of the coin is better.
        assert!((choices[0].probability - 0.5).abs() < 0.1, "{choices:?}");
    }
}

#[test]
fn a_search_beats_random_moves() {
    let game = ConnectFour::new(connect_four::Config::default()).unwrap();
    let mut players = vec![build("mcts{sims=50}", &game), build("random", &game)];
    let mut batch = GameBatch::new(game, 100);
    for paired in pairs(5, 20, 2) {
        batch.start_game(paired.seed, &paired.seats).unwrap();
    }
    let finished = batch.finish(&mut players).unwrap();
    let won = finished
        .iter()
        .filter(|game| {
            let seat = game.players.iter().position(|&player| player == 0).unwrap();
            game.outcomes[seat] > 0.0
        })
        .count();
    assert!(won >= 38, "{won} of {}", finished.len());
}

/// Records of games of `name` against a player that starts every move with a new tree.
fn records(name: &str, board: &battlesnake::Config, at_once: usize) -> Vec<Vec<Vec<Action>>> {
    let game = Small::new(board.clone()).unwrap();
    let mut players = vec![build(name, &game), build("mcts{sims=20,weights=uniform,fresh}", &game)];
    let mut records = Vec::new();
    for games in pairs(5, 3, 2).chunks(at_once) {
        let mut batch = GameBatch::new(game.clone(), 60);
        for paired in games {
            batch.start_game(paired.seed, &paired.seats).unwrap();
        }
        let finished = batch.finish(&mut players).unwrap();
        let records_of = finished.into_iter().map(|game| {
            let FinishedGame { record, players, .. } = game;
            (record.seed, players, record.plies)
        });
        records.extend(records_of);
    }
    records.sort();
    records.into_iter().map(|(_, _, plies)| plies).collect()
}

#[test]
fn games_with_kept_trees_do_not_depend_on_other_games() {
    let board = battlesnake::Config { width: 7, height: 7, snakes: 2, ..Default::default() };
    let name = "mcts{sims=20,weights=uniform,temperature=1}";
    let together = records(name, &board, 6);
    assert_eq!(records(name, &board, 2), together);
    let fresh = records("mcts{sims=20,weights=uniform,temperature=1,fresh}", &board, 6);
    assert_ne!(fresh, together, "a kept tree has more visits");
}

#[test]
fn trees_of_ended_games_do_not_play_later_games_of_the_same_numbers() {
    let game = TicTacToe::default();
    let mut players = [build("mcts{sims=20,weights=uniform,temperature=1}", &game)];
    let mut play = || {
        // Every batch counts its games from 1. The games end with the first move of either seat.
        let mut batch = GameBatch::new(game, 2);
        for seed in 0..8 {
            batch.start_game(seed, &[0, 0]).unwrap();
        }
        batch.finish(&mut players).unwrap()
    };
    let fresh = play();
    assert_eq!(play(), fresh);
}

#[test]
fn threads_change_no_game() {
    let board = battlesnake::Config { width: 7, height: 7, snakes: 2, ..Default::default() };
    let name = "mcts{sims=20,weights=best,temperature=1,leaves=3}";
    let alone = records(name, &board, 2);
    for threads in ["threads=2", "threads=5"] {
        let name = name.replace("leaves=3", &format!("leaves=3,{threads}"));
        assert_eq!(records(&name, &board, 2), alone, "{name}");
    }
    // Without `leaves` there are as many as threads.
    let name = "mcts{sims=20,weights=best,temperature=1,threads=3}";
    assert_eq!(records(name, &board, 2), alone);
}

#[test]
fn a_network_evaluates_the_image_and_its_policy_is_mapped_back() {
    let board =
        battlesnake::Config { width: 7, height: 7, snakes: 3, ..battlesnake::Config::default() };
    let game = Small::new(board).unwrap();
    let engine = engine(&game);
    let mut net = NetEvaluator::new("best", engine, &game).unwrap();
    for state in positions(&game, 10) {
        let Turn::Move(movers) = game.turn(&state) else { continue };
        for &symmetry in Symmetry::SQUARE {
            let leaf = |state, symmetry| Leaf { state, movers, symmetry, rng: Rng::new(0, "x") };
            // The image seen as it is must say the same as the original seen through the symmetry.
            let mut leaves =
                [leaf(state, symmetry), leaf(game.transform(&state, symmetry), Symmetry::Identity)];
            let mut out = Estimates::new();
            out.reset(&game);
            net.evaluate(&game, &mut leaves, &mut out);
            let (through, image) = (out.get(0).unwrap(), out.get(1).unwrap());
            assert_eq!(through.values, image.values);
            let rows = |estimate: ouro_search::Estimate<'_>| -> Vec<Vec<f32>> {
                estimate.priors.unwrap().chunks(4).map(<[f32]>::to_vec).collect()
            };
            for (through, image) in rows(through).iter().zip(rows(image)) {
                for action in (0..4).map(ouro_game::Action) {
                    let seen = game.transform_action(action, symmetry);
                    let difference = through[action.index()] - image[seen.index()];
                    assert!(difference.abs() < 1e-6, "{symmetry:?} {through:?} {image:?}");
                }
                assert!((through.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn a_network_gives_illegal_actions_no_prior_and_the_opponent_the_negated_value() {
    let game = ConnectFour::new(connect_four::Config::default()).unwrap();
    let engine = engine(&game);
    let mut net = NetEvaluator::new("best", engine, &game).unwrap();
    let state = game.position("11111122222").unwrap();
    let Turn::Move(movers) = game.turn(&state) else { panic!("players move") };
    for &symmetry in Symmetry::MIRROR {
        let mut out = Estimates::new();
        out.reset(&game);
        let rng = Rng::new(0, "x");
        net.evaluate(&game, &mut [Leaf { state, movers, symmetry, rng }], &mut out);
        let estimate = out.get(0).unwrap();
        assert_eq!(estimate.values[0], -estimate.values[1]);
        let mut legal = ActionMask::default();
        game.legal(&state, state.mover(), &mut legal);
        for (action, &prior) in estimate.priors.unwrap().iter().enumerate() {
            assert_eq!(prior > 0.0, legal.contains(ouro_game::Action(action as u32)));
        }
    }
}

#[test]
fn outcome_classes_become_a_value_by_what_a_draw_is_worth() {
    let game = ConnectFour::new(connect_four::Config::default()).unwrap();
    let (planes, actions) = (game.planes(), game.action_count());
    let architecture = Architecture::Mlp { layers: 1, hidden: 8, value: ValueRange::Outcome };
    let spec = NetSpec { planes, actions, architecture };
    let engine = Arc::new(Engine::new(&synthetic::random_weights(&spec, 3).unwrap()));
    let state = game.position("112233").unwrap();
    let Turn::Move(movers) = game.turn(&state) else { panic!("players move") };
    let mut seen = vec![0.0; planes.len()];
    game.observe(&state, state.mover(), &mut seen);
    let (mut logits, mut classes) = (vec![0.0; actions], [0.0; 3]);
    engine.evaluate(&mut Scratch::new(), &seen, &mut logits, &mut classes);
    let [win, drawn, loss] = classes;
    assert!((win + drawn + loss - 1.0).abs() < 1e-6 && drawn > 0.01, "{classes:?}");
    for draw in [-1.0, -0.25, 0.0, 0.5] {
        let mut net = NetEvaluator::new("it", Arc::clone(&engine), &game).unwrap().with_draw(draw);
        let mut out = Estimates::new();
        out.reset(&game);
        let (rng, symmetry) = (Rng::new(0, "x"), Symmetry::Identity);
        net.evaluate(&game, &mut [Leaf { state, movers, symmetry, rng }], &mut out);
        let values = out.get(0).unwrap().values;
        assert!((values[0] - (win - loss + draw * drawn)).abs() < 1e-6, "{draw}: {values:?}");
        assert!((values[1] - (loss - win + draw * drawn)).abs() < 1e-6, "{draw}: {values:?}");
    }
}
