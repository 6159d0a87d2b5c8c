//! Tic-tac-toe between small networks of random weights.

use std::collections::BTreeSet;

use ouro_game::record::Replay;
use ouro_game::tic_tac_toe::TicTacToe;
use ouro_game::{Action, ActionMask, Turn};
use ouro_net::Scratch;

use super::*;
use crate::testing::{config, entry, roster};

const GAMES: usize = 6;

fn worker(self_play_share: f64, index: u64) -> Worker<TicTacToe> {
    let settings = WorkerSettings { games: GAMES, self_play_share, max_plies: 9, seed: 5, index };
    Worker::new(TicTacToe::default(), config(), settings)
}

fn play(worker: &mut Worker<TicTacToe>, roster: &Roster, ticks: usize) -> Vec<Played> {
    (0..ticks).flat_map(|_| worker.tick(roster).unwrap()).collect()
}

fn generations(played: &Played) -> Vec<u32> {
    played.seats.iter().map(|seat| seat.generation).collect()
}

/// Replays a game to its end and holds each recorded probability against the network that
/// the seats say has moved.
fn verify(played: &Played) {
    let game = TicTacToe::default();
    assert_eq!(played.record.config, config());
    let mut replay = Replay::new(&game, &played.record).unwrap();
    let mut legal = ActionMask::new(game.action_count());
    for (actions, behaviour) in played.record.plies.iter().zip(&played.behaviour) {
        let Turn::Move(movers) = game.turn(replay.state()) else { panic!("the game is over") };
        let mover = movers.iter().next().unwrap();
        let mut planes = vec![0.0; game.planes().len()];
        game.observe(replay.state(), mover, &mut planes);
        game.legal(replay.state(), mover, &mut legal);
        let (mut logits, mut values) = (vec![0.0; game.action_count()], [0.0]);
        let engine = entry(played.seats[mover].generation).engine;
        engine.evaluate(&mut Scratch::new(), &planes, &mut logits, &mut values);
        let weight = |action: Action| logits[action.0 as usize].exp();
        let expected = weight(actions[0]) / legal.iter().map(weight).sum::<f32>();
        assert!((behaviour[0] - expected).abs() < 1e-5, "{behaviour:?}, expected {expected}");
        assert_eq!((actions.len(), behaviour.len()), (1, 1));
        assert!(replay.advance().unwrap());
    }
    assert_eq!(played.record.plies.len(), played.behaviour.len());
    assert_eq!(game.turn(&replay.finish().unwrap()), Turn::Over);
}

#[test]
fn games_replay_and_their_seats_say_who_chose_and_who_learns() {
    let roster = roster(3, &[1, 2]);
    let games = play(&mut worker(0.5, 0), &roster, 100);
    assert!(games.len() > 10 * GAMES);
    let mut pairings = BTreeSet::new();
    for played in &games {
        verify(played);
        assert!(played.seats.iter().all(|seat| seat.learns == (seat.generation == 3)));
        pairings.insert(generations(played));
    }
    // The newest against itself, and against each member of the pool from both seats.
    let expected = [[1, 3], [2, 3], [3, 1], [3, 2], [3, 3]];
    assert!(pairings.iter().eq(&expected), "{pairings:?}");
}

#[test]
fn a_new_roster_leaves_running_games_with_the_weights_they_began_with() {
    let mut worker = worker(1.0, 0);
    // No game of tic-tac-toe ends in two plies.
    assert!(play(&mut worker, &roster(1, &[]), 2).is_empty());
    let games = play(&mut worker, &roster(2, &[1]), 30);
    games.iter().for_each(verify);
    let (old, new): (Vec<_>, Vec<_>) =
        games.iter().partition(|played| generations(played) == [1, 1]);
    assert_eq!(old.len(), GAMES);
    assert!(new.len() > GAMES && new.iter().all(|played| generations(played) == [2, 2]));
    // Both learn: each was the newest when its games began.
    assert!(games.iter().flat_map(|played| &played.seats).all(|seat| seat.learns));
}

#[test]
fn networks_that_nobody_plays_any_more_are_let_go() {
    let mut worker = worker(1.0, 0);
    for newest in 0..40 {
        play(&mut worker, &roster(newest, &[]), 10);
    }
    // Every game in play may hold another network, and no more are kept.
    assert!(worker.players.len() <= GAMES, "{} players", worker.players.len());
    assert_eq!(worker.players.len(), worker.chairs.len());
    assert_eq!(worker.chairs.iter().map(|chair| chair.held).sum::<usize>(), 2 * worker.running);
}

#[test]
fn the_same_seed_gives_the_same_games_and_another_worker_others() {
    let roster = roster(3, &[1, 2]);
    let games = play(&mut worker(0.5, 0), &roster, 40);
    assert_eq!(games, play(&mut worker(0.5, 0), &roster, 40));
    assert_ne!(games, play(&mut worker(0.5, 1), &roster, 40));
}
