//! Values from random play to the end of the game.

use ouro_game::{Action, ActionMask, Game, RolloutBuffer, Turn};

use super::{Estimates, Evaluator, Leaf};
use crate::mcts::Objective;

/// Plays one game to the end from every leaf with [`Game::rollout`], drawing from the leaf's
/// own stream; priors are uniform.
///
/// Brügmann 1993, "Monte Carlo Go"; Kocsis and Szepesvári 2006 for its use in a tree.
#[derive(Clone, Debug)]
pub struct Rollout {
    limit: u32,
    objective: Objective,
    discount: f32,
    buffer: RolloutBuffer,
    legal: ActionMask,
    joint: Vec<Action>,
    before: Vec<f32>,
}

impl Rollout {
    /// Turns after which a rollout is cut short; a cut game counts as its outcome then.
    pub const LIMIT: u32 = 10_000;

    /// Rollouts whose values are undiscounted outcomes.
    pub fn new() -> Self {
        Self::for_objective(Objective::Outcome, 1.0)
    }

    /// Rollouts whose values are what a search with this objective and discount adds up.
    pub fn for_objective(objective: Objective, discount: f32) -> Self {
        Self {
            limit: Self::LIMIT,
            objective,
            discount,
            buffer: RolloutBuffer::new(),
            legal: ActionMask::default(),
            joint: Vec::new(),
            before: Vec::new(),
        }
    }

    /// Cuts rollouts short after `turns` turns.
    #[must_use]
    pub fn with_limit(mut self, turns: u32) -> Self {
        self.limit = turns;
        self
    }

    /// Outcomes, discounted by the time they took.
    fn outcomes<G: Game>(&mut self, game: &G, leaf: &mut Leaf<G>, values: &mut [f32]) {
        let start = game.elapsed(&leaf.state);
        game.rollout(&mut leaf.state, self.limit, &mut self.buffer, &mut leaf.rng);
        for (player, value) in values.iter_mut().enumerate() {
            *value = game.outcome(&leaf.state, player);
        }
        if self.discount < 1.0 {
            let time = game.elapsed(&leaf.state).saturating_sub(start);
            let factor = self.discount.powf(time as f32);
            values.iter_mut().for_each(|value| *value *= factor);
        }
    }

    /// Discounted sums of rewards, which need every step: uniform among the legal actions.
    fn returns<G: Game>(&mut self, game: &G, leaf: &mut Leaf<G>, values: &mut [f32]) {
        let Leaf { state, rng, .. } = leaf;
        let start = game.elapsed(state);
        self.joint.clear();
        self.joint.resize(game.players(), Action::default());
        for _ in 0..self.limit {
            let Turn::Move(movers) = game.turn(state) else { break };
            for player in movers.iter() {
                game.legal(state, player, &mut self.legal);
                let drawn = rng.below(self.legal.count() as u32) as usize;
                self.joint[player] = self.legal.nth(drawn).unwrap_or_default();
            }
            let time = game.elapsed(state).saturating_sub(start);
            let factor = if self.discount < 1.0 { self.discount.powf(time as f32) } else { 1.0 };
            self.before.clear();
            self.before.extend((0..values.len()).map(|player| game.returns(state, player)));
            if game.advance(state, &self.joint, rng).is_err() {
                debug_assert!(false, "legal actions must apply");
                break;
            }
            for (player, value) in values.iter_mut().enumerate() {
                *value += factor * (game.returns(state, player) - self.before[player]);
            }
        }
    }
}

impl Default for Rollout {
    fn default() -> Self {
        Self::new()
    }
}

impl<G: Game> Evaluator<G> for Rollout {
    fn evaluate(&mut self, game: &G, leaves: &mut [Leaf<G>], out: &mut Estimates) {
        for leaf in leaves {
            let values = out.push_uniform();
            match self.objective {
                Objective::Outcome => self.outcomes(game, leaf, values),
                Objective::Returns => self.returns(game, leaf, values),
            }
        }
    }
}
