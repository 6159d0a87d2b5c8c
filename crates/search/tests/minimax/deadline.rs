//! A search ends at its deadline with its best result.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ouro_game::battlesnake::{Config, Large, Point, Position, Ruleset, Small, Snake};
use ouro_game::{Action, Game, Rng};
use ouro_search::minimax::NODES_PER_CLOCK_CHECK;
use ouro_search::{
    AreaControl, Clock, Deadline, Heuristic, Limits, MaxN, MinimaxResult, OutcomeOnly, Paranoid,
    Plain, Query, Searcher,
};

use crate::positions::{SmallState, board, positions};
use crate::tree::{Node, Tree};

/// A clock that moves by a millisecond with every reading.
#[derive(Debug, Default)]
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn within(
    searcher: &mut impl Searcher<Small>,
    game: &Small,
    state: &SmallState,
    ms: u64,
) -> MinimaxResult {
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
            // Readings at 0, 1, … ms: the one at `ms` passes the deadline. A look at four moves
            // follows if no pass is complete.
            let looked = if found.turns == 0 { 4 } else { 0 };
            let most = (ms + 1) * u64::from(NODES_PER_CLOCK_CHECK) + looked;
            assert!(found.nodes <= most, "{found:?}");
            let safe = game.safe_moves(state, 0);
            let settled = found.complete || found.value.abs() > 0.99 || safe.count_ones() <= 1;
            if !found.stopped && !settled {
                // All other actions lose, so a deeper search finds the same one.
                let limits = Limits::turns(found.turns + 1);
                let query = Query { game: &game, state, player: 0, limits };
                let deeper = searcher.search(query, &mut AreaControl::default()).unwrap();
                assert_eq!(found.action, deeper.action, "{found:?}");
            }
            assert!(safe == 0 || safe >> found.action.0 & 1 == 1, "{found:?}");
        }
    }
}

#[test]
fn paranoid_search_checks_the_clock_often_enough() {
    check(Paranoid::new());
}

#[test]
fn plain_search_checks_the_clock_often_enough() {
    check(Plain::new());
}

#[test]
fn max_n_checks_the_clock_often_enough() {
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
fn a_stopped_search_without_a_deeper_result_returns_that_of_the_previous_pass() {
    let game = board(11, 2, Ruleset::Standard);
    let mut compared = 0;
    for state in &positions(&game, 30, 6) {
        let found = within(&mut MaxN::new(), &game, state, 30);
        if !found.stopped || found.turns == 0 {
            continue;
        }
        let limits = Limits::turns(found.turns);
        let query = Query { game: &game, state, player: 0, limits };
        let whole = MaxN::new().search(query, &mut AreaControl::default()).unwrap();
        assert_eq!((found.action, found.values), (whole.action, whole.values));
        compared += 1;
    }
    assert!(compared > 10, "{compared} positions compared");
}

/// Adds a line of single choices of player 0 that ends after `turns` more turns; its first node.
fn line(nodes: &mut Vec<Node>, turns: usize, end: f32) -> usize {
    let first = nodes.len();
    nodes.extend((0..turns).map(|step| Node::Choice(0, vec![first + step + 1])));
    nodes.push(Node::End(vec![end, -end]));
    first
}

/// The result of a search that the last clock check before the end of the pass of depth `turns`
/// stops.
fn stopped_late(game: &Tree, turns: u32) -> Option<MinimaxResult> {
    let query = Query { game, state: &0, player: 0, limits: Limits::turns(turns) };
    let whole = Paranoid::new().search(query, &mut OutcomeOnly).unwrap();
    // The first check, which reads 0, is at node `NODES_PER_CLOCK_CHECK`.
    let at =
        Duration::from_millis((whole.nodes / u64::from(NODES_PER_CLOCK_CHECK)).checked_sub(1)?);
    let clock = Ticking::default();
    let limits = Limits { turns, deadline: Some(Deadline { clock: &clock, at }) };
    let found = Paranoid::new().search(Query { limits, ..query }, &mut OutcomeOnly).unwrap();
    assert!(found.stopped);
    Some(found)
}

#[test]
fn a_late_loss_is_preferred_to_a_known_sooner_loss() {
    let mut late = 0;
    for (turns, sooner) in (30..=120).flat_map(|turns| [14, 17, 20, 23, 26].map(|it| (turns, it))) {
        // The first two actions lose after `turns` turns, the others sooner.
        let mut nodes = vec![Node::Choice(0, Vec::new())];
        let length = usize::try_from(turns).unwrap();
        let lines = [length, length, sooner, sooner, sooner];
        let actions = lines.map(|length| line(&mut nodes, length - 1, -1.0));
        nodes[0] = Node::Choice(0, actions.to_vec());
        let Some(found) = stopped_late(&Tree::of(2, nodes), turns) else { continue };
        assert!(found.action <= Action(1), "{found:?}");
        late += u32::from(found.value < -0.99);
    }
    assert!(late > 3, "{late} searches were stopped after the loss had been seen");
}

#[test]
fn a_timed_search_ends_when_all_other_actions_are_seen_to_lose() {
    let mut nodes = vec![Node::Choice(0, Vec::new())];
    let lines = [4, 90, 6].map(|length| line(&mut nodes, length, -1.0));
    nodes[0] = Node::Choice(0, lines.to_vec());
    let game = Tree::of(3, nodes);
    let clock = Ticking::default();
    let deadline = Some(Deadline { clock: &clock, at: Duration::from_secs(60) });
    let search = |mut searcher: Paranoid<Tree>, deadline| {
        let limits = Limits { turns: 50, deadline };
        let query = Query { game: &game, state: &0, player: 0, limits };
        let found = searcher.search(query, &mut OutcomeOnly).unwrap();
        assert_eq!((found.action, found.stopped), (Action(1), false), "{found:?}");
        found.turns
    };
    // A line of six more turns loses in the seventh.
    assert_eq!(search(Paranoid::new(), deadline), 7);
    assert_eq!(search(Paranoid::new().with_reductions(), deadline), 7);
    // The depth is exact without a deadline, and losses are no proof if few opponents reply.
    assert_eq!(search(Paranoid::new(), None), 50);
    assert_eq!(search(Paranoid::best_reply(), deadline), 50);
}

#[test]
fn an_action_not_known_to_lose_is_preferred_to_a_loss() {
    for turns in 70..=100 {
        let mut nodes = vec![Node::Choice(0, Vec::new())];
        let length = usize::try_from(turns).unwrap();
        let mut actions = vec![line(&mut nodes, length - 1, -1.0)];
        actions.push(line(&mut nodes, length + 1, -1.0));
        nodes[0] = Node::Choice(0, actions);
        // The last pass takes more nodes for the second action than lie between two clock checks.
        let found = stopped_late(&Tree::of(2, nodes), turns).unwrap();
        assert_eq!((found.action, found.turns), (Action(1), turns - 1), "{found:?}");
    }
}

/// A clock that only evaluations move.
#[derive(Debug, Default)]
struct Moved(AtomicU64);

impl Clock for Moved {
    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// Area control with scores that take a millisecond for each player.
#[derive(Debug)]
struct Slow<'a>(&'a Moved, AreaControl);

impl Heuristic<Small> for Slow<'_> {
    fn evaluate(&mut self, game: &Small, state: &SmallState, scores: &mut [f32]) {
        self.0.0.fetch_add(game.alive(state).len() as u64, Ordering::Relaxed);
        self.1.evaluate(game, state, scores);
    }

    fn evaluate_player(
        &mut self,
        game: &Small,
        state: &SmallState,
        player: usize,
        scores: &mut [f32],
    ) -> f32 {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        self.1.evaluate_player(game, state, player, scores)
    }

    fn cost(&self, players: u32) -> u32 {
        // A microsecond a node.
        1_000 * players
    }
}

fn check_slow(mut searcher: impl Searcher<Small>) {
    let game = board(11, 2, Ruleset::Standard);
    let mut stopped = 0;
    for state in &positions(&game, 20, 8) {
        let clock = Moved::default();
        let deadline = Some(Deadline { clock: &clock, at: Duration::from_millis(20) });
        let limits = Limits { deadline, ..Limits::FULL };
        let query = Query { game: &game, state, player: 0, limits };
        let found = searcher.search(query, &mut Slow(&clock, AreaControl::default())).unwrap();
        // The last position takes 2 ms in MaxN, and a look at four moves a millisecond each.
        let looked = if found.turns == 0 { 4 } else { 0 };
        let late = clock.0.load(Ordering::Relaxed).saturating_sub(20);
        assert!(late <= 2 + looked, "{late} ms late: {found:?}");
        stopped += u32::from(found.stopped);
    }
    assert!(stopped > 5, "{stopped} searches were stopped");
}

#[test]
fn a_search_with_a_slow_heuristic_is_late_by_one_position() {
    check_slow(Paranoid::new());
    check_slow(Plain::new());
    check_slow(MaxN::new());
}

/// Sixteen snakes. Up of the first is a dead end of one cell in its own body; down and left are open.
fn crowd() -> Large {
    let snake = |cells: &[(i32, i32)]| {
        let body = cells.iter().map(|&cell| Point::from(cell)).collect();
        Snake { health: 90, body, death: None }
    };
    let mut snakes = vec![snake(&[
        (5, 5),
        (6, 5),
        (6, 6),
        (6, 7),
        (5, 7),
        (4, 7),
        (4, 6),
        (3, 6),
        (3, 7),
        (3, 8),
        (3, 9),
        (3, 10),
    ])];
    for row in 0..5 {
        for column in 0..3 {
            let (x, y) = (10 + 6 * column, 11 + 3 * row);
            snakes.push(snake(&[(x, y), (x - 1, y), (x - 2, y)]));
        }
    }
    let count = snakes.len() as u8;
    let position = Position {
        width: 25,
        height: 25,
        turn: 30,
        snakes,
        food: vec![Point { x: 24, y: 0 }],
        hazards: Vec::new(),
        shrunk: [0; 4],
    };
    let start = Some(position);
    let config = Config { width: 25, height: 25, snakes: count, start, ..Config::default() };
    Large::new(config).unwrap()
}

#[test]
fn a_search_without_time_for_one_action_looks_at_each() {
    fn check(mut searcher: impl Searcher<Large>) {
        let game = crowd();
        let state = game.initial(&mut Rng::new(1, "game"));
        assert_eq!(game.safe_moves(&state, 0), 0b0111, "up, down and left");
        let clock = Ticking::default();
        let deadline = Some(Deadline { clock: &clock, at: Duration::from_millis(20) });
        let limits = Limits { deadline, ..Limits::FULL };
        let query = Query { game: &game, state: &state, player: 0, limits };
        let found = searcher.search(query, &mut AreaControl::default()).unwrap();
        assert!(found.stopped && found.turns == 0, "{found:?}");
        assert_ne!(found.action, Action(0), "the dead end: {found:?}");
        assert_eq!(found.line.first().map(|step| step.action), Some(found.action));
        assert!(found.value > 0.0 && found.value < 0.99, "{found:?}");
        let searched = 21 * u64::from(NODES_PER_CLOCK_CHECK);
        assert_eq!(found.nodes, searched + 3, "three positions were looked at");
    }
    check(Paranoid::new());
    check(Plain::new());
    check(MaxN::new());
}

#[test]
fn an_action_that_was_only_looked_at_is_preferred_to_a_loss() {
    // The first action loses at once. The second leads to more outcomes of chance than lie between
    // two clock checks.
    let outcomes = 2 * NODES_PER_CLOCK_CHECK as usize;
    let end = 3 + outcomes;
    let mut nodes = vec![Node::Choice(0, vec![1, 2]), Node::End(vec![-1.0, 1.0])];
    nodes.push(Node::Chance((3..end).map(|child| (1.0, child)).collect()));
    nodes.extend((0..outcomes).map(|_| Node::Choice(0, vec![end])));
    nodes.push(Node::End(vec![0.0, 0.0]));
    let game = Tree::of(2, nodes);
    let clock = Ticking::default();
    let deadline = Some(Deadline { clock: &clock, at: Duration::ZERO });
    let limits = Limits { deadline, ..Limits::FULL };
    let query = Query { game: &game, state: &0, player: 0, limits };
    let found = Paranoid::new().search(query, &mut OutcomeOnly).unwrap();
    assert!(found.stopped && found.turns == 0, "{found:?}");
    assert_eq!((found.action, found.value), (Action(1), 0.0), "{found:?}");
}
