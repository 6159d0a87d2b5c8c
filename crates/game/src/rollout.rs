//! Random play to the end of a game: the cheapest estimate of a position's value.
//!
//! Searches call [`Game::rollout`] and [`Game::guided_rollout`]. [`uniform`] is the default of
//! the former; [`guided`] implements the latter for any game that weighs its actions. Tests
//! compare overrides with these two functions.

use crate::action::{Action, ActionMask};
use crate::game::{Game, Turn};
use crate::rng::Rng;

/// Working memory of rollouts. It grows to the game's size once.
#[derive(Clone, Debug, Default)]
pub struct RolloutBuffer {
    legal: ActionMask,
    joint: Vec<Action>,
    weights: Vec<u32>,
}

impl RolloutBuffer {
    /// Working memory that has not grown yet.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Plays until the game is over or `limit` turns have been played.
///
/// Every player to move draws uniformly from its legal actions, lowest player first. Then chance
/// is settled. The order of draws is part of the contract: overrides must keep it.
pub fn uniform<G: Game>(
    game: &G,
    state: &mut G::State,
    limit: u32,
    buffer: &mut RolloutBuffer,
    rng: &mut Rng,
) {
    buffer.joint.clear();
    buffer.joint.resize(game.players(), Action::default());
    game.settle(state, rng);
    for _ in 0..limit {
        let Turn::Move(movers) = game.turn(state) else { return };
        for player in movers.iter() {
            game.legal(state, player, &mut buffer.legal);
            let drawn = rng.below(buffer.legal.count() as u32) as usize;
            buffer.joint[player] = buffer.legal.nth(drawn).unwrap_or_default();
        }
        if game.advance(state, &buffer.joint, rng).is_err() {
            debug_assert!(false, "legal actions must apply");
            return;
        }
    }
}

/// Plays until the game is over or `limit` turns have been played.
///
/// Every player to move draws an action in proportion to the weights of [`Game::weigh`], lowest
/// player first. Then chance is settled.
pub fn guided<G: Game>(
    game: &G,
    state: &mut G::State,
    limit: u32,
    buffer: &mut RolloutBuffer,
    rng: &mut Rng,
) {
    let RolloutBuffer { legal, joint, weights } = buffer;
    joint.clear();
    joint.resize(game.players(), Action::default());
    weights.clear();
    weights.resize(game.action_count(), 0);
    game.settle(state, rng);
    for _ in 0..limit {
        let Turn::Move(movers) = game.turn(state) else { return };
        for player in movers.iter() {
            game.weigh(state, player, legal, weights);
            joint[player] = draw(weights, rng);
        }
        if game.advance(state, joint, rng).is_err() {
            debug_assert!(false, "legal actions must apply");
            return;
        }
    }
}

/// Draws an action in proportion to its weight; the first action if all weights are 0.
pub fn draw(weights: &[u32], rng: &mut Rng) -> Action {
    let mut drawn = rng.below(weights.iter().sum());
    let chosen = weights.iter().position(|&weight| {
        let found = drawn < weight;
        drawn = drawn.saturating_sub(weight);
        found
    });
    Action(chosen.unwrap_or_default() as u32)
}
