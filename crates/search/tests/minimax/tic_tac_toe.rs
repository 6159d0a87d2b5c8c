//! Tic-tac-toe over its whole tree.

use ouro_game::tic_tac_toe::{Config, State, TicTacToe};
use ouro_game::{Action, ActionMask, Game, Rng, Turn};
use ouro_search::minimax::{Replies, largest_tree};
use ouro_search::{Limits, MaxN, MinimaxResult, OutcomeOnly, Paranoid, Plain, Query, Searcher};

fn game() -> TicTacToe {
    TicTacToe::new(Config {}).unwrap()
}

fn search(searcher: &mut impl Searcher<TicTacToe>, state: &State, player: usize) -> MinimaxResult {
    let query = Query { game: &game(), state, player, limits: Limits::FULL };
    searcher.search(query, &mut OutcomeOnly).unwrap()
}

fn empty() -> State {
    game().initial(&mut Rng::new(1, "game"))
}

#[test]
fn the_game_is_a_draw_over_its_whole_tree() {
    let plain = search(&mut Plain::new(), &empty(), 0);
    assert_eq!((plain.value, plain.complete), (0.0, true));
    // Every line of play, as counted in the literature, without the empty board.
    assert_eq!(plain.nodes, 549_945);
    let paranoid = search(&mut Paranoid::new(), &empty(), 0);
    assert_eq!((paranoid.value, paranoid.action), (0.0, plain.action));
    assert!(paranoid.complete && paranoid.nodes < plain.nodes / 10, "{}", paranoid.nodes);
    // In a game of two with opposite interests, maximising the own value harms the other player.
    let max_n = search(&mut MaxN::new(), &empty(), 0);
    assert_eq!((max_n.values, max_n.complete), (Some(vec![0.0, 0.0]), true));
}

#[test]
fn a_draw_is_explained_by_a_line_of_nine_moves() {
    let line = search(&mut Plain::new(), &empty(), 0).line;
    let mut state = empty();
    for (ply, step) in line.iter().enumerate() {
        assert_eq!(step.player, ply % 2);
        game().step(&mut state, &[step.action; 2]).unwrap();
    }
    assert_eq!((line.len(), game().turn(&state)), (9, Turn::Over));
    assert_eq!(game().outcome(&state, 0), 0.0);
}

/// Plays `player` by search against every reply and counts how the games end.
fn against_all(
    searcher: &mut Paranoid<TicTacToe>,
    state: &State,
    player: usize,
    ends: &mut [u32; 3],
) {
    let game = game();
    let Turn::Move(movers) = game.turn(state) else {
        ends[(game.outcome(state, player) + 1.0) as usize] += 1;
        return;
    };
    let mut actions: Vec<Action> = Vec::new();
    if movers.contains(player) {
        actions.push(search(searcher, state, player).action);
    } else {
        let mut legal = ActionMask::default();
        game.legal(state, 1 - player, &mut legal);
        actions.extend(legal.iter());
    }
    for action in actions {
        let mut next = *state;
        game.step(&mut next, &[action; 2]).unwrap();
        against_all(searcher, &next, player, ends);
    }
}

#[test]
fn searching_play_never_loses_whatever_the_other_does() {
    for player in 0..2 {
        let mut ends = [0; 3];
        against_all(&mut Paranoid::new(), &empty(), player, &mut ends);
        let [losses, draws, wins] = ends;
        assert_eq!(losses, 0, "player {player}");
        assert!(wins > 10 && draws > 0, "player {player}: {wins} wins, {draws} draws");
    }
}

#[test]
fn a_win_at_once_is_better_than_a_win_later() {
    // X has two in the bottom row and in the left column; O has two in the top row.
    let state = State::try_from([0b000_001_011, 0b110_000_000]).unwrap();
    let found = search(&mut Paranoid::new(), &state, 1);
    assert_eq!(game().action_name(found.action), "a3", "{found:?}");
    assert!(found.value > 0.999 && found.value < 1.0);
    assert_eq!(found.turns, 1, "a proven win needs no deeper look");
}

#[test]
fn the_largest_tree_has_a_position_for_each_order_of_stones() {
    // A turn has one mover, so both kinds of replies give the same tree.
    for replies in [Replies::All, Replies::Best] {
        let of_depth = |turns| largest_tree(&game(), &mut OutcomeOnly, turns, replies);
        let near = |one: f64, two: f64| (one - two).abs() < 0.5;
        assert!(near(of_depth(1), 9.0));
        assert!(near(of_depth(4), 9.0 * 8.0 * 7.0 * 6.0));
    }
}
