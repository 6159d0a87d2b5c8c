//! Games against players without weights.

use std::cell::Cell;

use ouro_game::battlesnake::{Config, Small};
use ouro_net::{Architecture, ValueRange};
use ouro_search::SearchConfig;
use ouro_settings::{ScriptedConfig, exploring};
use ouro_testkit::network::spec_of;

use super::*;

fn against(players: &[&str], share: f64, search: Option<SearchConfig>) -> WorkerSettings {
    let players = players.iter().map(|&player| player.to_owned()).collect();
    let scripted = ScriptedConfig { share, players };
    WorkerSettings { scripted, search, shares: HALF, ..settings(GAMES) }
}

#[test]
fn a_share_of_the_games_has_scripted_opponents_which_do_not_learn() {
    let roster = roster(3, &[1, 2]);
    for search in [None, Some(exploring(8, 2))] {
        let is_searched = search.is_some();
        let mut worker = worker(against(&["minimax{depth=3}", "random"], 0.5, search));
        let games = play(&mut worker, &roster, 600);
        let is_scripted =
            |played: &&Trajectory| played.seats.iter().any(|seat| seat.generation.is_none());
        let scripted: Vec<_> = games.iter().filter(is_scripted).collect();
        let share = scripted.len() as f64 / games.len() as f64;
        assert!(games.len() > 60 && (share - 0.5).abs() < 0.2, "{share} of {}", games.len());
        let mut learning = BTreeSet::new();
        for played in scripted {
            let learns: Vec<bool> = played.seats.iter().map(|seat| seat.learns).collect();
            assert_eq!(learns.iter().filter(|&&learns| learns).count(), 1);
            learning.insert(learns.iter().position(|&learns| learns));
            for (seat, taken) in played.seats.iter().enumerate() {
                assert_eq!(
                    taken.generation.map(|generation| generation.0),
                    learns[seat].then_some(3)
                );
            }
            played.to_record().verify().unwrap();
            for (ply, played) in played.plies.iter().enumerate() {
                let target = played.moves[0].search.as_ref();
                assert_eq!(target.is_some(), is_searched);
                let is_target = target.is_some_and(|target| !target.policy.is_empty());
                assert_eq!(is_target, is_searched && learns[ply % 2], "ply {ply}");
            }
        }
        assert_eq!(learning.len(), 2, "the newest weights take every seat");
    }
}

#[test]
fn scripted_players_play_as_they_do_elsewhere_and_leave_other_games_as_they_were() {
    let roster = roster(1, &[]);
    // The start of tic-tac-toe is a draw, and random weights lose to perfect play now and then.
    let mut worker = worker(against(&["minimax{depth=9}"], 1.0, None));
    let games = play(&mut worker, &roster, 60);
    let outcomes = games.iter().flat_map(|played| &played.seats).filter(|seat| seat.learns);
    let (mut lost, mut won) = (0, 0);
    for seat in outcomes {
        lost += usize::from(seat.outcome < 0.0);
        won += usize::from(seat.outcome > 0.0);
    }
    assert!(lost > 0 && won == 0, "{lost} lost, {won} won");

    let plain = play(&mut super::worker(against(&[], 0.0, None)), &roster, 30);
    let unused = play(&mut super::worker(against(&["random"], 0.0, None)), &roster, 30);
    assert_eq!(plain, unused);
}

#[test]
fn players_that_cannot_have_a_seat_are_refused_with_a_remedy() {
    for (name, part) in [
        ("minimax{ms=5}", "minimax{ms=5} has a time limit"),
        ("mcts{sims=8,weights=self,cache=64}", "cache=64} has a cache"),
        ("mcts{sims=268435456}", "give fewer"),
        ("queen", "known are random"),
        ("net{weights=w}", "w"),
        ("greedy", "battlesnake only"),
    ] {
        let settings = against(&[name], 0.5, None);
        let game = TicTacToe::default();
        let error = Worker::new(game, Arc::new(config()), settings).err().unwrap().to_string();
        assert!(error.starts_with("actor.scripted.players: "), "{error}");
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn players_that_search_too_far_for_the_game_are_refused_with_the_key() {
    let config = Config { width: 7, height: 7, snakes: 8, ..Default::default() };
    let game = Small::new(config).unwrap();
    let worker = |name: &str| {
        Worker::new(game.clone(), Arc::new(crate::testing::config()), against(&[name], 0.5, None))
    };
    assert!(worker("minimax{depth=1}").is_ok());
    let error = worker("minimax{depth=6}").err().unwrap().to_string();
    assert!(error.starts_with("actor.scripted.players: "), "{error}");
    assert!(error.ends_with("give a smaller depth"), "{error}");
}

#[test]
fn players_with_weights_are_checked_with_the_network_of_the_run() {
    let game = TicTacToe::default();
    let refused = |name: &str, architecture| {
        let net = Some(spec_of(&game, architecture));
        let settings = WorkerSettings { net, ..against(&[name], 0.5, None) };
        Worker::new(game, Arc::new(config()), settings).err().map(|error| error.to_string())
    };
    let of_range = |value| Architecture::Mlp { layers: 1, hidden: 8, value };
    let drawing = "mcts{sims=8,weights=self,draw=-0.5}";
    assert_eq!(refused(drawing, of_range(ValueRange::Tanh)), None);
    let error = refused(drawing, of_range(ValueRange::Unbounded)).unwrap();
    assert!(error.starts_with("actor.scripted.players: ") && error.contains("draw"), "{error}");
    // A large network evaluates too slowly for as many simulations.
    let many = "mcts{sims=1000000,weights=self}";
    assert_eq!(refused(many, of_range(ValueRange::Tanh)), None);
    let error = refused(many, "medium".parse().unwrap()).unwrap();
    assert!(error.ends_with("give fewer"), "{error}");
}

#[test]
fn a_tick_that_is_over_plays_no_further_move() {
    let roster = roster(1, &[]);
    let mut worker = worker(against(&["minimax{depth=9}"], 1.0, None));
    assert_eq!(worker.tick_unless(&roster, &|| false).unwrap().unwrap().len(), 0);
    assert_eq!(worker.running(), GAMES);
    let looks = Cell::new(0);
    let is_over = || looks.replace(looks.get() + 1) >= GAMES + 2;
    let moves = worker.stats().moves;
    assert!(worker.tick_unless(&roster, &is_over).unwrap().is_none());
    assert_eq!((worker.stats().moves, worker.is_done()), (moves + 2, true));
}
