//! Alpha-beta finds the same action and value as plain minimax, with far fewer nodes.

use ouro_game::battlesnake::Ruleset;
use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::{Action, ActionMask, Game, Rng, Turn};
use ouro_search::{
    AreaControl, Heuristic, Limits, MinimaxResult, OutcomeOnly, Paranoid, Plain, Query, Searcher,
};

use crate::positions::{board, positions};

/// Searches with both algorithms, compares the results and returns the nodes of each.
fn compare<G: Game, E: Heuristic<G>>(
    (plain, paranoid): (&mut Plain<G>, &mut Paranoid<G>),
    query: Query<'_, G>,
    heuristic: &mut E,
) -> [u64; 2] {
    let slow: MinimaxResult = plain.search(query, heuristic).unwrap();
    let fast: MinimaxResult = paranoid.search(query, heuristic).unwrap();
    let render = || query.game.render(query.state);
    assert_eq!((slow.action, slow.value), (fast.action, fast.value), "\n{}", render());
    assert_eq!(fast.line.first().map(|step| step.action), Some(fast.action));
    [slow.nodes, fast.nodes]
}

#[test]
fn paranoid_and_plain_search_agree_on_a_thousand_duel_positions() {
    let (mut plain, mut paranoid) = (Plain::new(), Paranoid::new());
    let mut decided = 0;
    for (ruleset, side, count, turns) in [
        (Ruleset::Standard, 11, 400, 2),
        (Ruleset::Wrapped, 11, 200, 2),
        (Ruleset::Standard, 7, 200, 3),
        (Ruleset::Royale, 7, 100, 3),
        (Ruleset::Constrictor, 7, 100, 3),
    ] {
        let game = board(side, 2, ruleset);
        for (index, state) in positions(&game, count, 1).iter().enumerate() {
            let limits = Limits::turns(turns);
            let query = Query { game: &game, state, player: index % 2, limits };
            compare((&mut plain, &mut paranoid), query, &mut AreaControl::default());
            let value = paranoid.search(query, &mut AreaControl::default()).unwrap().value;
            decided += u32::from(value.abs() > 0.99);
        }
    }
    assert!((20..500).contains(&decided), "{decided} of 1000 were decided");
}

#[test]
fn paranoid_and_plain_search_agree_with_more_than_two_snakes() {
    let (mut plain, mut paranoid) = (Plain::new(), Paranoid::new());
    for (snakes, ruleset, turns) in
        [(3, Ruleset::Standard, 2), (4, Ruleset::Wrapped, 1), (4, Ruleset::Standard, 2)]
    {
        let game = board(11, snakes, ruleset);
        for (index, state) in positions(&game, 20, 2).iter().enumerate() {
            let limits = Limits::turns(turns);
            let query = Query { game: &game, state, player: index % 3, limits };
            compare((&mut plain, &mut paranoid), query, &mut AreaControl::default());
        }
    }
}

#[test]
fn at_four_duel_turns_alpha_beta_visits_less_than_a_third_of_the_nodes() {
    let (mut plain, mut paranoid) = (Plain::new(), Paranoid::new());
    let game = board(11, 2, Ruleset::Standard);
    let mut total = [0, 0];
    for state in &positions(&game, 200, 3) {
        let query = Query { game: &game, state, player: 0, limits: Limits::turns(4) };
        let nodes = compare((&mut plain, &mut paranoid), query, &mut AreaControl::default());
        total = [total[0] + nodes[0], total[1] + nodes[1]];
    }
    let [slow, fast] = total;
    println!("plain {slow} nodes, alpha-beta {fast}: {:.1} times fewer", slow as f64 / fast as f64);
    assert!(3 * fast < slow, "{slow} and {fast} nodes");
}

#[test]
fn transpositions_do_not_change_the_answer() {
    let (mut plain, mut paranoid) = (Plain::new(), Paranoid::with_table_bits(10));
    let game = ConnectFour::new(connect_four::Config { width: 4, height: 4 }).unwrap();
    let mut mask = ActionMask::default();
    for seed in 0..40 {
        let mut rng = Rng::new(seed, "position");
        let mut state = game.initial(&mut rng);
        for _ in 0..rng.below(9) {
            let Turn::Move(movers) = game.turn(&state) else { break };
            let mover = movers.iter().next().unwrap();
            game.legal(&state, mover, &mut mask);
            let action = mask.nth(rng.below(mask.count() as u32) as usize).unwrap();
            let mut next = state;
            game.step(&mut next, &[action; 2]).unwrap();
            if game.turn(&next) == Turn::Over {
                break;
            }
            state = next;
        }
        let player = state.mover();
        for turns in [1, 4, 7] {
            let limits = Limits::turns(turns);
            let query = Query { game: &game, state: &state, player, limits };
            compare((&mut plain, &mut paranoid), query, &mut OutcomeOnly);
        }
    }
}

#[test]
fn of_equally_good_actions_the_lowest_is_played() {
    // Within two turns all columns of an empty board have equal values.
    let game = ConnectFour::new(connect_four::Config::default()).unwrap();
    let state = game.initial(&mut Rng::new(1, "game"));
    let query = Query { game: &game, state: &state, player: 0, limits: Limits::turns(2) };
    let found = Paranoid::new().search(query, &mut OutcomeOnly).unwrap();
    assert_eq!((found.action, found.value), (Action(0), 0.0));
}
