//! A look at each root action, for a search that is interrupted before it has a result.
//!
//! Among many players, even a search of one turn may take longer than its time: sixteen snakes have
//! about 3^15 replies to the first action. Without a look, that action would be played unseen.

use ouro_game::{Game, Turn};

use super::chance::{ChanceOutcomes, next_turn};
use super::deepening::PassResult;
use super::frame::Frames;
use super::node_counter::NodeCounter;
use super::query::{Query, Step, decided, undecided};
use crate::heuristic::Heuristic;

/// Most actions that are looked at: each takes an evaluation, and the deadline has passed already.
const MOST_ACTIONS: usize = 8;

/// The root action that leads to the best position if every other mover takes its first candidate;
/// `None` if there is no action. The first `searched` actions are left out.
///
/// The root must be open at level 0.
#[cold]
pub(super) fn first_look<G: Game, E: Heuristic<G>>(
    query: &Query<'_, G>,
    heuristic: &mut E,
    frames: &mut Frames<G>,
    counter: &mut NodeCounter<'_>,
    searched: usize,
) -> Option<PassResult> {
    let root = frames.get_mut(0);
    for index in 1..root.movers() {
        let mover = root.mover(index);
        if let Some(place) = root.range(index).next() {
            let action = root.candidate(place);
            root.joint[mover] = action;
        }
    }
    let mut scores = vec![0.0; query.game.players()];
    let mut best: Option<PassResult> = None;
    for place in frames.get(0).range(0).skip(searched).take(MOST_ACTIONS) {
        let root = frames.get_mut(0);
        let action = root.candidate(place);
        root.joint[query.player] = action;
        frames.resolve(query.game, 0);
        counter.nodes += 1;
        let value = value_after_turn(query, heuristic, frames, counter, &mut scores);
        if best.as_ref().is_none_or(|best| value > best.value) {
            let line = vec![Step { player: query.player, action }];
            best = Some(PassResult { action, value, values: None, line });
        }
    }
    best
}

/// Value of the position at level 1. One outcome of chance stands for all.
fn value_after_turn<G: Game, E: Heuristic<G>>(
    query: &Query<'_, G>,
    heuristic: &mut E,
    frames: &mut Frames<G>,
    counter: &mut NodeCounter<'_>,
    scores: &mut [f32],
) -> f32 {
    let Query { game, player, .. } = *query;
    let mut level = 1;
    let mut turn = next_turn(game, heuristic, frames, level);
    while turn == Turn::Chance {
        let mut outcomes = ChanceOutcomes::new(game, &frames.get(level).state);
        if outcomes.advance(game, frames, level).is_none() {
            break;
        }
        level += 1;
        turn = next_turn(game, heuristic, frames, level);
    }
    let state = &frames.get(level).state;
    match turn {
        Turn::Move(_) if game.alive(state).contains(player) => {
            counter.evaluation(heuristic.cost(1));
            undecided(heuristic.evaluate_player(game, state, player, scores))
        }
        Turn::Move(_) | Turn::Chance | Turn::Over => decided(game.outcome(state, player), 1),
    }
}
