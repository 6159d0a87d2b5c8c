//! Games between players without weights, which are learned from.

use std::sync::Arc;
use std::time::Duration;

use ouro_game::{GameConfig, Rng, battlesnake, snakgame};
use ouro_players::{BuildContext, Clock, NetPlayer, Player, Request, Selection, by_name};
use ouro_settings::{DemonstrationConfig, exploring};

use super::*;

fn shown(players: &[&str], share: f64, random_moves: f64) -> WorkerSettings {
    let players = players.iter().map(|&player| player.to_owned()).collect();
    let until_generation = Some(5);
    let demonstrations = DemonstrationConfig {
        players,
        share,
        until_generation,
        random_moves,
        ..DemonstrationConfig::default()
    };
    WorkerSettings { demonstrations, search: Some(exploring(8, 2)), ..settings(GAMES) }
}

/// The games in which every policy target is a single action.
fn demonstrations(games: &[Trajectory]) -> Vec<&Trajectory> {
    let is_one = |one: &Move| one.search.as_ref().is_some_and(|it| it.policy.len() == 1);
    // In its last two plies a search may have no other viable action either.
    let is_shown = |played: &&Trajectory| played.moves().take(4).all(is_one);
    games.iter().filter(is_shown).collect()
}

#[test]
fn demonstrations_teach_the_choices_of_their_players_and_how_games_end() {
    let mut worker = worker(shown(&["minimax{depth=9}"], 1.0, 0.0));
    let games = play(&mut worker, &roster(3, &[1, 2]), 60);
    assert!(games.len() > 20);
    for played in demonstrations(&games) {
        played.to_record().verify().unwrap();
        for (ply, played_ply) in played.plies.iter().enumerate() {
            let [Move { action, behaviour, search: Some(target) }] = &played_ply.moves[..] else {
                panic!("{played_ply:?}");
            };
            assert_eq!((target.policy.as_slice(), *behaviour), (&[(*action, 1.0)][..], 1.0));
            assert_eq!(target.value, played.seats[ply % 2].outcome);
        }
        // Perfect play on both sides.
        assert!(played.seats.iter().all(|seat| seat.learns && seat.outcome == 0.0));
        assert_eq!(generations(played), [3, 3]);
    }
    assert_eq!(demonstrations(&games).len(), games.len());
    assert_eq!(worker.stats().evaluations, 0, "demonstrations need no network");
}

#[test]
fn random_moves_are_made_but_not_taught() {
    let mut worker = worker(shown(&["minimax{depth=9}"], 1.0, 0.4));
    let games = play(&mut worker, &roster(1, &[]), 400);
    let (mut moves, mut random, mut decided) = (0, 0, 0);
    for played in &games {
        decided += usize::from(played.seats[0].outcome != 0.0);
        for (ply, one) in played.moves().enumerate() {
            let target = one.search.as_ref().unwrap();
            let [(taught, share)] = target.policy[..] else { panic!("{target:?}") };
            assert_eq!(share, 1.0);
            assert_eq!(target.value, played.seats[ply % 2].outcome);
            let viable = (9 - ply) as f32;
            let is_taught = one.action == taught;
            let expected = 0.4 / viable + if is_taught { 0.6 } else { 0.0 };
            assert!((one.behaviour - expected).abs() < 1e-6, "{} at ply {ply}", one.behaviour);
            moves += 1;
            random += usize::from(!is_taught);
        }
    }
    let share = random as f64 / moves as f64;
    assert!(moves > 1_000 && (0.2..0.4).contains(&share), "{random} of {moves}");
    assert!(decided > games.len() / 4, "{decided} of {} are decided by mistakes", games.len());
}

#[test]
fn a_share_of_the_games_is_shown_until_a_generation() {
    for (newest, expected) in [(1, 0.5), (4, 0.5), (5, 0.0)] {
        let mut worker = worker(shown(&["minimax{depth=2}", "random"], 0.5, 0.0));
        let games = play(&mut worker, &roster(newest, &[]), 600);
        let share = demonstrations(&games).len() as f64 / games.len() as f64;
        assert!(games.len() > 60 && (share - expected).abs() < 0.2, "{share} of {}", games.len());
    }
    let roster = roster(1, &[]);
    let plain = play(&mut worker(shown(&[], 0.0, 0.0)), &roster, 200);
    let unused = play(&mut worker(shown(&["random"], 0.0, 0.3)), &roster, 200);
    assert_eq!(plain, unused);
}

#[test]
fn players_with_the_newest_weights_keep_those_of_their_games_start() {
    let all = |search| {
        let demonstrations = DemonstrationConfig {
            players: vec!["net{weights=self,argmax}".to_owned()],
            share: 1.0,
            ..DemonstrationConfig::default()
        };
        assert!(demonstrations.is_everything());
        WorkerSettings { demonstrations, search, ..settings(GAMES) }
    };
    for search in [None, Some(exploring(8, 2))] {
        let mut worker = worker(all(search));
        // No game of tic-tac-toe ends in two plies.
        assert!(play(&mut worker, &roster(1, &[]), 2).is_empty());
        let games = play(&mut worker, &roster(7, &[1]), 60);
        let (old, new): (Vec<_>, Vec<_>) =
            games.iter().partition(|played| generations(played) == [1, 1]);
        assert_eq!(old.len(), GAMES);
        assert!(new.len() > GAMES && new.iter().all(|played| generations(played) == [7, 7]));
        games.iter().for_each(follows_the_network);
    }
}

/// A clock for players that read none.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// Games in which every seat draws one of two players, one of them with a network.
fn with_and_without_network() -> Vec<Trajectory> {
    let players = ["minimax{depth=2,weights=self}", "minimax{depth=2}"];
    let mut settings = shown(&players, 1.0, 0.0);
    settings.opening_plies = 2;
    settings.demonstrations.discount = 0.5;
    play(&mut worker(settings), &roster(1, &[]), 100)
}

#[test]
fn the_value_of_a_move_is_the_networks_or_else_the_discounted_outcome() {
    let game = TicTacToe::default();
    let (mut by_network, mut by_outcome) = (0, 0);
    for played in with_and_without_network() {
        let engine = entry(number(&played.seats[0])).engine;
        let mut engines = |_: &str| Some(Arc::clone(&engine));
        let clock = Arc::new(Still);
        let mut context = BuildContext { game: &game, engines: &mut engines, clock };
        let mut network = by_name("minimax{depth=2,weights=self}", &mut context).unwrap();
        let mut replay = played.replay(&game).unwrap();
        let plies = played.plies.len() as i32;
        for (ply, one) in played.moves().enumerate() {
            let (state, player) = (replay.state(), ply % 2);
            let (mut rng, mut choices) = (Rng::new(1, "unused"), Vec::new());
            let request = Request { state, player, rng: &mut rng, game: None };
            network.choose(&game, &mut [request], &mut choices);
            let target = one.search.as_ref().unwrap();
            let outcome = 0.5_f32.powi(plies - ply as i32) * played.seats[player].outcome;
            let is_close = |value: f32| (target.value - value).abs() < 1e-6;
            // Openings have the value of a later search.
            if !target.policy.is_empty() {
                let estimate = network.last_value().unwrap();
                assert!(is_close(estimate) || is_close(outcome), "{target:?} {estimate} {outcome}");
                by_network += usize::from(is_close(estimate) && !is_close(outcome));
                by_outcome += usize::from(is_close(outcome) && !is_close(estimate));
            }
            assert!(replay.advance().unwrap());
        }
    }
    assert!(by_network > 20 && by_outcome > 20, "{by_network} {by_outcome}");
}

#[test]
fn the_outcome_of_a_snake_is_discounted_to_its_elimination() {
    let board = battlesnake::Config { width: 7, height: 7, snakes: 3, ..Default::default() };
    let config = Arc::new(GameConfig::Battlesnake(board.clone()));
    let game = battlesnake::Small::new(board).unwrap();
    let shown = shown(&["random"], 1.0, 0.0);
    let mut settings = WorkerSettings { search: None, max_plies: 1_000, ..shown };
    (settings.demonstrations.discount, settings.opening_plies) = (0.5, 4);
    let mut worker = Worker::new(game.clone(), config, settings).unwrap();
    let mut early = 0;
    for played in play(&mut worker, &roster(1, &[]), 200) {
        let mut replay = played.replay(&game).unwrap();
        let mut until = [0; 3];
        while let Turn::Move(movers) = game.turn(replay.state()) {
            assert!(replay.advance().unwrap());
            movers.iter().for_each(|player| until[player] = game.elapsed(replay.state()));
        }
        for (turn, ply) in played.plies.iter().enumerate() {
            let movers = (0..3).filter(|&player| until[player] > turn as u32);
            for (one, player) in ply.moves.iter().zip(movers) {
                let left = (until[player] - turn as u32) as i32;
                let expected = 0.5_f32.powi(left) * played.seats[player].outcome;
                assert_eq!(one.search.as_ref().unwrap().value, expected);
            }
        }
        let end = until.iter().max().unwrap();
        early += until.iter().filter(|&&until| until + 3 <= *end).count();
    }
    assert!(early > 5, "{early} snakes died three turns before the end or earlier");
}

#[test]
fn strategies_of_snakgame_play_every_seat_of_many_games_at_once() {
    for new_snakes in [snakgame::NewSnakes::AnyTime, snakgame::NewSnakes::WhenStuck] {
        let rules = snakgame::Config { new_snakes, ..snakgame::Config::default() };
        let config = Arc::new(GameConfig::Snakgame(rules.clone()));
        let game = snakgame::Small::new(rules).unwrap();
        let players = ["snakgame{strategy=editorial}", "snakgame{strategy=plan-repair}"];
        let games = |games| {
            let shown = shown(&players, 1.0, 0.1);
            let settings =
                WorkerSettings { games, search: None, max_plies: 200, opening_plies: 6, ..shown };
            let mut worker = Worker::new(game.clone(), Arc::clone(&config), settings).unwrap();
            play(&mut worker, &roster_for(&game, 1, &[]), 120)
        };
        let together = games(GAMES);
        assert!(together.len() >= GAMES);
        together.iter().for_each(|played| played.to_record().verify().unwrap());
        // A game does not depend on the games beside it.
        let alone = games(1).remove(0);
        assert!(together.contains(&alone));
    }
}

/// No game of tic-tac-toe ends in four plies.
const CUT_OFF: usize = 4;

#[test]
fn nothing_is_learned_from_a_seat_with_an_unknown_outcome() {
    let players = ["minimax{depth=2,weights=self}", "minimax{depth=2}"];
    let settings = WorkerSettings { max_plies: CUT_OFF, ..shown(&players, 1.0, 0.0) };
    let games = play(&mut worker(settings), &roster(1, &[]), 100);
    let (mut estimated, mut left_out) = (0, 0);
    for played in &games {
        for seat in 0..2 {
            let targets: Vec<_> = played.moves().skip(seat).step_by(2).collect();
            let targets = targets.iter().map(|one| one.search.as_ref().unwrap());
            let values: Vec<f32> = targets.clone().map(|target| target.value).collect();
            if targets.clone().all(|target| target.policy.is_empty()) {
                assert_eq!(values, [0.0, 0.0]);
                left_out += 1;
            } else {
                assert!(targets.clone().all(|target| target.policy.len() == 1));
                assert!(values.iter().all(|value| *value != 0.0), "{values:?}");
                estimated += 1;
            }
        }
    }
    assert!(estimated > 20 && left_out > 20, "{estimated} {left_out}");
}

#[test]
fn a_demonstration_without_anything_to_learn_is_dropped() {
    let settings = WorkerSettings { max_plies: CUT_OFF, ..shown(&["minimax{depth=9}"], 1.0, 0.0) };
    let mut worker = worker(settings);
    assert!(play(&mut worker, &roster(1, &[]), 60).is_empty());
    assert!(worker.stats().games > 20);
}

/// Checks that every move is the network's choice.
fn follows_the_network(played: &Trajectory) {
    let game = TicTacToe::default();
    let engine = entry(number(&played.seats[0])).engine;
    let mut network = NetPlayer::new("net", engine, Selection::Argmax, &game).unwrap();
    let mut replay = played.replay(&game).unwrap();
    for (ply, one) in played.moves().enumerate() {
        let (state, player) = (replay.state(), ply % 2);
        let (mut rng, mut choices) = (Rng::new(1, "unused"), Vec::new());
        let request = Request { state, player, rng: &mut rng, game: None };
        network.choose(&game, &mut [request], &mut choices);
        assert_eq!(one.action, choices[0].action, "ply {ply}");
        assert!(replay.advance().unwrap());
    }
}

#[test]
fn demonstrators_without_a_seat_are_refused_with_a_remedy() {
    for (name, part) in [
        ("minimax{ms=5}", "has a time limit"),
        ("queen", "known are random"),
        ("net{weights=other}", "other"),
    ] {
        let settings = shown(&[name], 0.5, 0.0);
        let game = TicTacToe::default();
        let error = Worker::new(game, Arc::new(config()), settings).err().unwrap().to_string();
        assert!(error.starts_with("actor.demonstrations.players: "), "{error}");
        assert!(error.contains(part), "{error}");
    }
}
