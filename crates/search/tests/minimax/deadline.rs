//! A search ends in time, with the best it has found.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ouro_game::battlesnake::{Ruleset, Small};
use ouro_search::minimax::LOOK_EVERY;
use ouro_search::{
    AreaControl, Clock, Deadline, Found, Limits, MaxN, Paranoid, Plain, Query, Searcher,
};

use crate::positions::{SmallState, board, positions};

/// A clock that moves by a millisecond whenever somebody looks at it.
#[derive(Debug, Default)]
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn within(searcher: &mut impl Searcher<Small>, game: &Small, state: &SmallState, ms: u64) -> Found {
    let clock = Ticking::default();
    let deadline = Some(Deadline { clock: &clock, at: Duration::from_millis(ms) });
    let query = Query { game, state, player: 0, limits: Limits { deadline, ..Limits::FULL } };
    searcher.search(query, &mut AreaControl::default()).unwrap()
}

fn check(mut searcher: impl Searcher<Small>) {
    let game = board(11, 4, Ruleset::Wrapped);
    for state in &positions(&game, 5, 4) {
        for ms in [0, 1, 5, 40] {
            let found = within(&mut searcher, &game, state, ms);
            // Looks at 0, 1, … ms: the one at `ms` says stop.
            assert!(found.nodes <= (ms + 1) * u64::from(LOOK_EVERY), "{found:?}");
            assert!(found.stopped || found.complete || found.value.abs() > 0.99, "{found:?}");
            let safe = game.safe_moves(state, 0);
            assert!(safe == 0 || safe >> found.action.0 & 1 == 1, "{found:?}");
        }
    }
}

#[test]
fn paranoid_search_looks_at_the_clock_often_enough() {
    check(Paranoid::new());
}

#[test]
fn plain_search_looks_at_the_clock_often_enough() {
    check(Plain::new());
}

#[test]
fn max_n_looks_at_the_clock_often_enough() {
    check(MaxN::new());
}

#[test]
fn more_time_means_a_deeper_look() {
    let game = board(11, 2, Ruleset::Standard);
    let states = positions(&game, 10, 5);
    // Summed, since some positions are forced or decided and need no time.
    let turns = |ms| -> u32 {
        let search = |state| within(&mut Paranoid::new(), &game, state, ms).turns;
        states.iter().map(search).sum()
    };
    let [short, middle, long] = [5, 50, 1_000].map(turns);
    assert!(10 <= short && short < middle && middle < long, "{short} {middle} {long}");
}

#[test]
fn a_stopped_search_without_a_deeper_answer_gives_that_of_the_pass_before() {
    let game = board(11, 2, Ruleset::Standard);
    for state in &positions(&game, 30, 6) {
        let found = within(&mut MaxN::new(), &game, state, 30);
        if !found.stopped || found.turns == 0 {
            continue;
        }
        let limits = Limits::turns(found.turns);
        let query = Query { game: &game, state, player: 0, limits };
        let whole = MaxN::new().search(query, &mut AreaControl::default()).unwrap();
        assert_eq!((found.action, found.values), (whole.action, whole.values));
    }
}
