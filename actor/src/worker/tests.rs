//! Games of tic-tac-toe between small random networks, without search; [`search`] tests trees.

use std::collections::BTreeSet;

use ouro_game::maze_dash::{self, MazeDash};
use ouro_game::tic_tac_toe::TicTacToe;
use ouro_game::{Action, ActionMask, Turn};
use ouro_net::Scratch;
use ouro_players::OpponentShares;
use ouro_replay::{Move, Seat, Trajectory};
use ouro_settings::Swap;

use super::*;
use crate::testing::{config, entry, roster, roster_for, settings};

mod demonstrations;
mod scripted;
mod search;

const GAMES: usize = 6;
const HALF: OpponentShares = OpponentShares { self_play: 0.5, prioritised: 0.0, uniform: 0.5 };

fn worker(settings: WorkerSettings) -> Worker<TicTacToe> {
    Worker::new(TicTacToe::default(), Arc::new(config()), settings).unwrap()
}

fn play<G: Game>(worker: &mut Worker<G>, roster: &Roster, ticks: usize) -> Vec<Trajectory> {
    let finished = (0..ticks).flat_map(|_| worker.tick(roster).unwrap());
    finished.map(|game| game.trajectory).collect()
}

/// Generation of the weights in a seat.
fn number(seat: &Seat) -> u32 {
    seat.generation.expect("weights play every seat").0
}

fn generations(played: &Trajectory) -> Vec<u32> {
    played.seats.iter().map(number).collect()
}

/// Replays a game to its end and checks each recorded probability against the seat's network.
///
/// Opponents play the policy. Learning seats play its mixture with `epsilon`.
fn verify(played: &Trajectory, epsilon: f32) {
    let game = TicTacToe::default();
    assert_eq!(*played.record.config, config());
    let mut replay = played.replay(&game).unwrap();
    let mut legal = ActionMask::new(game.action_count());
    for ply in &played.plies {
        let [Move { action, behaviour, search: None }] = ply.moves[..] else { panic!("{ply:?}") };
        let Turn::Move(movers) = game.turn(replay.state()) else { panic!("the game is over") };
        let mover = movers.iter().next().unwrap();
        let mut planes = vec![0.0; game.planes().len()];
        game.observe(replay.state(), mover, &mut planes);
        game.viable(replay.state(), mover, &mut legal);
        let (mut logits, mut values) = (vec![0.0; game.action_count()], [0.0]);
        let seat = played.seats[mover];
        let engine = entry(number(&seat)).engine;
        engine.evaluate(&mut Scratch::new(), &planes, &mut logits, &mut values);
        let weight = |action: Action| logits[action.0 as usize].exp();
        let policy = weight(action) / legal.iter().map(weight).sum::<f32>();
        let epsilon = if seat.learns { epsilon } else { 0.0 };
        let expected = (1.0 - epsilon) * policy + epsilon / legal.count() as f32;
        assert!((behaviour - expected).abs() < 1e-5, "{behaviour}, expected {expected}");
        assert!(replay.advance().unwrap());
    }
    let last = replay.finish().unwrap();
    assert_eq!(game.turn(&last), Turn::Over);
    for (player, seat) in played.seats.iter().enumerate() {
        assert_eq!(seat.outcome, game.outcome(&last, player));
    }
}

#[test]
fn games_replay_and_their_seats_say_who_chose_and_who_learns() {
    let roster = roster(3, &[1, 2]);
    let settings = WorkerSettings { shares: HALF, epsilon: 0.2, ..settings(GAMES) };
    let mut worker = worker(settings);
    let games = play(&mut worker, &roster, 100);
    assert!(games.len() > 10 * GAMES);
    let mut pairings = BTreeSet::new();
    for played in &games {
        verify(played, 0.2);
        assert!(played.seats.iter().all(|seat| seat.learns == (number(seat) == 3)));
        pairings.insert(generations(played));
    }
    // The newest weights play against themselves, and against each pool member from both seats.
    let expected = [[1, 3], [2, 3], [3, 1], [3, 2], [3, 3]];
    assert!(pairings.iter().eq(&expected), "{pairings:?}");
    let stats = worker.stats();
    assert_eq!((stats.games, stats.moves), (games.len() as u64, 100 * GAMES as u64));
    assert_eq!((stats.evaluations, stats.fill()), (stats.moves, 1.0));
}

#[test]
fn a_new_roster_leaves_running_games_with_the_weights_they_began_with() {
    let mut worker = worker(settings(GAMES));
    // No game of tic-tac-toe ends in two plies.
    assert!(play(&mut worker, &roster(1, &[]), 2).is_empty());
    let games = play(&mut worker, &roster(2, &[1]), 30);
    games.iter().for_each(|played| verify(played, 0.0));
    let (old, new): (Vec<_>, Vec<_>) =
        games.iter().partition(|played| generations(played) == [1, 1]);
    assert_eq!(old.len(), GAMES);
    assert!(new.len() > GAMES && new.iter().all(|played| generations(played) == [2, 2]));
    // Both generations learn: each was the newest at the start of its games.
    assert!(games.iter().flat_map(|played| &played.seats).all(|seat| seat.learns));
}

#[test]
fn games_that_are_over_at_their_start_are_counted_and_not_sent() {
    let rules = maze_dash::Config { board: Some("S#".to_owned()), ..maze_dash::Config::default() };
    let game = MazeDash::new(rules.clone()).unwrap();
    let roster = roster_for(&game, 1, &[]);
    let config = Arc::new(GameConfig::MazeDash(rules));
    let mut worker = Worker::new(game, config, settings(GAMES)).unwrap();
    assert!(play(&mut worker, &roster, 3).is_empty());
    let stats = worker.stats();
    assert!(stats.games >= 3 && stats.dropped == stats.games, "{stats:?}");
}

#[test]
fn weights_swapped_between_moves_leave_the_generation_of_the_oldest() {
    let mut worker = worker(WorkerSettings { swap: Swap::Moves, ..settings(GAMES) });
    assert!(play(&mut worker, &roster(1, &[]), 2).is_empty());
    // The seats of the next move are fixed already. The new weights move after it.
    let games = play(&mut worker, &roster(2, &[1]), 30);
    let swapped: Vec<_> = games.iter().filter(|played| generations(played) == [1, 1]).collect();
    assert_eq!(swapped.len(), GAMES);
    for played in swapped {
        assert!(played.seats.iter().all(|seat| seat.learns));
        // No single set of weights gives the recorded probabilities of such a game.
        let explained = std::panic::catch_unwind(|| verify(played, 0.0));
        assert!(explained.is_err());
        played.to_record().verify().unwrap();
    }
    let policies = worker.shared.policies.census().0;
    assert_eq!(policies, 1, "the old weights were let go");
}

#[test]
fn networks_that_nobody_plays_any_more_are_let_go() {
    let mut worker = worker(settings(GAMES));
    for newest in 0..40 {
        play(&mut worker, &roster(newest, &[]), 10);
        // Each running game may hold a different network, and no further networks are kept.
        assert!(worker.shared.policies.census().0 <= GAMES);
    }
    worker.close();
    play(&mut worker, &roster(1, &[]), 10);
    assert_eq!((worker.running(), worker.shared.policies.census().0), (0, 0));
}

#[test]
fn the_same_seed_gives_the_same_games_and_another_worker_others() {
    let roster = roster(3, &[1, 2]);
    let settings = |index| WorkerSettings { shares: HALF, index, ..settings(GAMES) };
    let games = play(&mut worker(settings(0)), &roster, 40);
    assert_eq!(games, play(&mut worker(settings(0)), &roster, 40));
    assert_ne!(games, play(&mut worker(settings(1)), &roster, 40));
}

#[test]
fn games_of_given_numbers_are_the_same_however_they_are_cut_into_waves() {
    let roster = roster(3, &[1, 2]);
    let waves = |waves: &[std::ops::Range<u64>]| {
        let mut worker = worker(WorkerSettings { shares: HALF, ..settings(GAMES) });
        let mut all = Vec::new();
        for numbers in waves {
            worker.play_only(numbers.clone(), 0);
            while !worker.is_done() {
                all.extend(worker.tick(&roster).unwrap());
            }
        }
        all.sort_by_key(|game| game.number);
        all
    };
    let whole = waves(&[0..20, 20..20]);
    assert!(whole.iter().map(|game| game.number).eq(0..20));
    assert_eq!(waves(&[0..6, 6..12, 12..20]), whole);
    assert_eq!(waves(&[7..7, 7..20]), whole[7..]);
}

#[test]
fn a_closed_worker_ends_the_games_in_play_and_begins_none() {
    let mut worker = worker(settings(GAMES));
    let roster = roster(1, &[]);
    play(&mut worker, &roster, 3);
    worker.close();
    assert_eq!(play(&mut worker, &roster, 9).len(), GAMES);
    assert_eq!(worker.running(), 0);
    assert!(play(&mut worker, &roster, 3).is_empty());
}
