//! Random play to the end of a game: the cheapest estimate of who stands better.
//!
//! [`Game::rollout`] is what searches call; [`uniform`] is its default, which every game has
//! and an override can be compared with.

use crate::{Action, ActionMask, Game, Stream, Turn};

/// Working memory of rollouts; grows to the game's size once.
#[derive(Clone, Debug, Default)]
pub struct RolloutBuffer {
    legal: ActionMask,
    joint: Vec<Action>,
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
    rng: &mut Stream,
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
