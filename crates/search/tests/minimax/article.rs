//! The model of the opponents decides which action is best: paranoid search expects them to harm
//! the searching player, MaxN expects them to maximise their own values.

use ouro_game::{Action, Game};
use ouro_search::{Limits, MaxN, MinimaxResult, OutcomeOnly, Paranoid, Plain, Query, Searcher};

use crate::tree::Node::{Choice, End};
use crate::tree::Tree;

/// Player 0 picks up or right, then players 1 and 2 pick.
///
/// Going up is good if player 1 maximises its own value; player 1 could also ruin both.
/// Going right gives a little whatever the others do.
fn example() -> Tree {
    Tree::of(
        3,
        vec![
            Choice(0, vec![1, 2]),
            // Up.
            Choice(1, vec![3, 4]),
            // Right.
            Choice(1, vec![5, 6]),
            Choice(2, vec![7, 8]),
            Choice(2, vec![9, 10]),
            Choice(2, vec![11, 12]),
            Choice(2, vec![13, 14]),
            End(vec![0.7, 0.5, 0.2]),
            End(vec![0.4, 0.1, -0.3]),
            End(vec![-0.8, -0.6, 0.1]),
            End(vec![0.6, -0.2, -0.9]),
            End(vec![0.2, 0.3, 0.1]),
            End(vec![0.3, -0.1, 0.0]),
            End(vec![0.25, 0.2, 0.4]),
            End(vec![0.5, 0.1, -0.5]),
        ],
    )
}

fn search(searcher: &mut impl Searcher<Tree>) -> MinimaxResult {
    let game = example();
    let query = Query { game: &game, state: &0, player: 0, limits: Limits::FULL };
    searcher.search(query, &mut OutcomeOnly).unwrap()
}

#[test]
fn paranoid_goes_right_because_the_others_could_harm_it() {
    for found in [search(&mut Paranoid::new()), search(&mut Plain::new())] {
        assert_eq!(example().action_name(found.action), "right");
        // Player 1 picks the first, player 2 the first: 0.2, a little less after three turns.
        assert!((found.value - 0.2).abs() < 1e-4, "{found:?}");
        let actions: Vec<Action> = found.line.iter().map(|step| step.action).collect();
        assert_eq!(actions, [Action(1), Action(0), Action(0)]);
        assert!(found.complete);
    }
}

#[test]
fn max_n_goes_up_because_the_others_have_better_to_do() {
    let found = search(&mut MaxN::new());
    assert_eq!(example().action_name(found.action), "up");
    let values = found.values.unwrap();
    for (value, expected) in values.iter().zip([0.7, 0.5, 0.2]) {
        assert!((value - expected).abs() < 1e-4, "{values:?}");
    }
}

#[test]
fn max_n_assumes_the_worst_of_equal_choices_of_others() {
    // Player 1 gets the same either way.
    let game = Tree::of(
        2,
        vec![
            Choice(0, vec![1, 2]),
            Choice(1, vec![3, 4]),
            End(vec![0.1, 0.0]),
            End(vec![0.9, 0.3]),
            End(vec![-0.9, 0.3]),
        ],
    );
    let query = Query { game: &game, state: &0, player: 0, limits: Limits::FULL };
    let found = MaxN::new().search(query, &mut OutcomeOnly).unwrap();
    assert_eq!(found.action, Action(1));
}

#[test]
fn in_max_n_every_seat_delays_its_own_elimination() {
    // Player 1 dies after two turns in a game of four, or after three in a game of three.
    let game = Tree::of(
        2,
        vec![
            Choice(0, vec![1]),
            Choice(1, vec![2, 3]),
            Choice(0, vec![4]),
            Choice(0, vec![5]),
            Choice(0, vec![6]),
            End(vec![0.5, -1.0]),
            End(vec![0.5, -1.0]),
        ],
    )
    .with_out(&[(2, 1), (4, 1), (6, 1), (5, 1)]);
    for turns in [3, 4] {
        let query = Query { game: &game, state: &0, player: 0, limits: Limits::turns(turns) };
        let found = MaxN::new().search(query, &mut OutcomeOnly).unwrap();
        assert_eq!(found.line[1].action, Action(1), "{found:?}");
        let values = found.values.unwrap();
        assert!((values[1] + 1.0 - 3e-5).abs() < 1e-6, "{values:?}");
    }
}

#[test]
fn a_search_of_no_turns_is_one_of_a_single_turn() {
    fn check(searcher: &mut impl Searcher<Tree>) {
        let [none, one] = [0, 1].map(|turns| {
            let game = example();
            let limits = Limits::turns(turns);
            let query = Query { game: &game, state: &0, player: 0, limits };
            searcher.search(query, &mut OutcomeOnly).unwrap()
        });
        assert_eq!(none, one);
        assert_eq!((none.turns, none.complete, none.nodes), (1, false, 2));
    }
    check(&mut Plain::new());
    check(&mut Paranoid::new());
    check(&mut MaxN::new());
}

#[test]
fn who_is_not_to_move_is_told_so() {
    let game = example();
    for (state, player) in [(0, 1), (7, 0), (0, 9)] {
        let query = Query { game: &game, state: &state, player, limits: Limits::FULL };
        let error = Paranoid::new().search(query, &mut OutcomeOnly).unwrap_err();
        let cause = format!("player {player} is not to move in this position of tree");
        assert_eq!(error.to_string(), format!("{cause}; search for a player to move"));
    }
}
