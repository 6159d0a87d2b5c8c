//! Values from random play to the end of the game.

use ouro_game::{Action, ActionMask, Game, RolloutBuffer, Turn, rollout};

use super::{Estimates, Evaluator, Leaf};
use crate::mcts::Objective;

/// What a legal action of weight 0 has in place of the square of its weight, where rollouts are
/// guided: what a player with some sense would not do is tried late, but tried.
const UNLIKELY: f32 = 0.1;

/// Plays one game to the end from every leaf with [`Game::rollout`], drawing from the leaf's
/// own generator; priors are uniform.
///
/// Brügmann 1993, "Monte Carlo Go"; Kocsis and Szepesvári 2006 for its use in a tree.
///
/// Or, [`guided`](Self::guided), with [`Game::guided_rollout`], and priors by the squares of what
/// [`Game::weigh`] says: heavy playouts (Drake and Uurtamo 2007, "Move ordering vs heavy playouts")
/// whose policy is the tree's prior knowledge, too (Gelly and Silver 2007, "Combining online and
/// offline knowledge in UCT").
#[derive(Clone, Debug)]
pub struct Rollout {
    limit: u32,
    objective: Objective,
    discount: f32,
    guided: bool,
    buffer: RolloutBuffer,
    legal: ActionMask,
    joint: Vec<Action>,
    before: Vec<f32>,
    weights: Vec<u32>,
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
            guided: false,
            buffer: RolloutBuffer::new(),
            legal: ActionMask::default(),
            joint: Vec::new(),
            before: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Cuts rollouts short after `turns` turns.
    #[must_use]
    pub fn with_limit(mut self, turns: u32) -> Self {
        self.limit = turns;
        self
    }

    /// Lets the game guide rollouts and priors. In a game that weighs its actions by default,
    /// outcomes stay as they are.
    #[must_use]
    pub fn guided(mut self) -> Self {
        self.guided = true;
        self
    }

    /// The squared weights of each mover as priors, `[movers, actions]`: rollouts have to differ,
    /// but a tree does well to begin with what is likely.
    fn write_priors<G: Game>(&mut self, game: &G, leaf: &Leaf<G>, priors: &mut [f32]) {
        let actions = game.action_count();
        self.weights.clear();
        self.weights.resize(actions, 0);
        for (player, row) in leaf.movers.iter().zip(priors.chunks_exact_mut(actions)) {
            game.weigh(&leaf.state, player, &mut self.legal, &mut self.weights);
            game.legal(&leaf.state, player, &mut self.legal);
            for action in self.legal.iter() {
                let weight = self.weights[action.index()] as f32;
                row[action.index()] = (weight * weight).max(UNLIKELY);
            }
            let total: f32 = row.iter().sum();
            row.iter_mut().for_each(|prior| *prior /= total);
        }
    }

    /// Outcomes, discounted by the time they took.
    fn outcomes<G: Game>(&mut self, game: &G, leaf: &mut Leaf<G>, values: &mut [f32]) {
        let start = game.elapsed(&leaf.state);
        let Leaf { state, rng, .. } = leaf;
        if self.guided {
            game.guided_rollout(state, self.limit, &mut self.buffer, rng);
        } else {
            game.rollout(state, self.limit, &mut self.buffer, rng);
        }
        for (player, value) in values.iter_mut().enumerate() {
            *value = game.outcome(&leaf.state, player);
        }
        if self.discount < 1.0 {
            let time = game.elapsed(&leaf.state).saturating_sub(start);
            let factor = self.discount.powf(time as f32);
            values.iter_mut().for_each(|value| *value *= factor);
        }
    }

    /// Discounted sums of rewards, which need every step: uniform among the legal actions, or by
    /// their weights.
    fn returns<G: Game>(&mut self, game: &G, leaf: &mut Leaf<G>, values: &mut [f32]) {
        let Leaf { state, rng, .. } = leaf;
        let start = game.elapsed(state);
        self.joint.clear();
        self.joint.resize(game.players(), Action::default());
        self.weights.resize(game.action_count(), 0);
        for _ in 0..self.limit {
            let Turn::Move(movers) = game.turn(state) else { break };
            for player in movers.iter() {
                self.joint[player] = if self.guided {
                    game.weigh(state, player, &mut self.legal, &mut self.weights);
                    rollout::draw(&self.weights, rng)
                } else {
                    game.legal(state, player, &mut self.legal);
                    let drawn = rng.below(self.legal.count() as u32) as usize;
                    self.legal.nth(drawn).unwrap_or_default()
                };
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
            let values = if self.guided {
                let (values, priors) = out.push(leaf.movers);
                self.write_priors(game, leaf, priors);
                values
            } else {
                out.push_uniform()
            };
            match self.objective {
                Objective::Outcome => self.outcomes(game, leaf, values),
                Objective::Returns => self.returns(game, leaf, values),
            }
        }
    }
}
