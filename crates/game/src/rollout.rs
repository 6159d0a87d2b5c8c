//! Random play to the end of a game: the cheapest estimate of who stands better.
//!
//! [`Game::rollout`] and [`Game::guided_rollout`] are what searches call. [`uniform`] is the
//! default of the one; [`guided`] plays the other for any game that weighs its actions. An
//! override can be compared with them.

use crate::{Action, ActionMask, Game, Rng, Turn};

/// Working memory of rollouts; grows to the game's size once.
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

/// Plays on until the game is over or `limit` turns were played; every player to move picks
/// uniformly among its legal actions, lowest player first, then chance is settled.
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

/// Plays on until the game is over or `limit` turns were played; every player to move draws an
/// action in proportion to what [`Game::weigh`] says, lowest player first, then chance is
/// settled.
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

/// An action in proportion to its weight; the first if none has any.
pub fn draw(weights: &[u32], rng: &mut Rng) -> Action {
    let mut drawn = rng.below(weights.iter().sum());
    let chosen = weights.iter().position(|&weight| {
        let found = drawn < weight;
        drawn = drawn.saturating_sub(weight);
        found
    });
    Action(chosen.unwrap_or_default() as u32)
}
