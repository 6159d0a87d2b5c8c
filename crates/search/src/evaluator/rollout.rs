//! Estimates values by random play to the end of the game.

use ouro_game::{Action, ActionMask, Game, RolloutBuffer, Turn, outcome_value, rollout};

use super::{Estimates, Evaluator, Leaf};
use crate::mcts::config::Objective;

/// Squared weight of a legal action of weight 0 in guided priors. Unlikely legal actions keep a
/// small prior, so they are still explored.
const UNLIKELY: f32 = 0.1;

/// Evaluates a leaf by one random game to its end.
///
/// Plain rollouts use [`Game::rollout`] with the leaf's generator and uniform priors (Brügmann
/// 1993, "Monte Carlo Go"; Kocsis and Szepesvári 2006 for the use in a tree).
///
/// [`guided`](Self::guided) rollouts use [`Game::guided_rollout`], with priors in proportion to
/// the squared weights of [`Game::weigh`]. These are heavy playouts (Drake and Uurtamo 2007, "Move
/// ordering vs heavy playouts") whose policy also gives the tree's priors (Gelly and Silver 2007,
/// "Combining online and offline knowledge in UCT").
#[derive(Clone, Debug)]
pub struct Rollout {
    limit: u32,
    objective: Objective,
    discount: f32,
    draw: f32,
    guided: bool,
    buffer: RolloutBuffer,
    legal: ActionMask,
    joint: Vec<Action>,
    before: Vec<f32>,
    weights: Vec<u32>,
    /// When the outcome of each player was decided, `[players]`.
    ends: Vec<u32>,
}

impl Rollout {
    /// Turns after which a rollout is truncated. A truncated game has the outcome of its state.
    pub const LIMIT: u32 = 10_000;

    /// Rollouts whose values are undiscounted outcomes.
    pub fn new() -> Self {
        Self::for_objective(Objective::Outcome, 1.0)
    }

    /// Rollouts whose values match a search with this objective and discount.
    pub fn for_objective(objective: Objective, discount: f32) -> Self {
        Self {
            limit: Self::LIMIT,
            objective,
            discount,
            draw: 0.0,
            guided: false,
            buffer: RolloutBuffer::new(),
            legal: ActionMask::default(),
            joint: Vec::new(),
            before: Vec::new(),
            weights: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Truncates rollouts after `turns` turns.
    #[must_use]
    pub fn with_limit(mut self, turns: u32) -> Self {
        self.limit = turns;
        self
    }

    /// Counts a drawn game as `draw`, −1 to 1 ([`SearchConfig::draw`](crate::SearchConfig::draw)).
    #[must_use]
    pub fn with_draw(mut self, draw: f32) -> Self {
        self.draw = draw;
        self
    }

    /// Uses the game's rollout policy for rollouts and priors. In a game with the default weights,
    /// outcomes do not change.
    #[must_use]
    pub fn guided(mut self) -> Self {
        self.guided = true;
        self
    }

    /// Writes priors from the squared weights of each mover, `[movers, actions]`. Squaring makes
    /// them sharper than the rollout policy: rollouts need variety, a tree a good first guess.
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

    /// Writes outcomes, discounted by the time until the end of the game. Among more than two players,
    /// the outcome of an eliminated one is discounted by the time until its elimination.
    fn outcomes<G: Game>(&mut self, game: &G, leaf: &mut Leaf<G>, values: &mut [f32]) {
        let start = game.elapsed(&leaf.state);
        let own_ends = self.discount < 1.0 && game.players() > 2;
        if own_ends {
            self.play_turns(game, leaf);
        } else {
            self.play(game, leaf, self.limit);
        }
        for (player, value) in values.iter_mut().enumerate() {
            *value = outcome_value(game.outcome(&leaf.state, player), self.draw);
        }
        if own_ends {
            for (value, end) in values.iter_mut().zip(&self.ends) {
                *value *= libm::powf(self.discount, end.saturating_sub(start) as f32);
            }
        } else if self.discount < 1.0 {
            let time = game.elapsed(&leaf.state).saturating_sub(start);
            let factor = libm::powf(self.discount, time as f32);
            values.iter_mut().for_each(|value| *value *= factor);
        }
    }

    /// Plays at random until the game is over or `turns` turns have been played.
    fn play<G: Game>(&mut self, game: &G, leaf: &mut Leaf<G>, turns: u32) {
        let Leaf { state, rng, .. } = leaf;
        if self.guided {
            game.guided_rollout(state, turns, &mut self.buffer, rng);
        } else {
            game.rollout(state, turns, &mut self.buffer, rng);
        }
    }

    /// Plays the same rollout turn by turn, and notes when each player was eliminated.
    fn play_turns<G: Game>(&mut self, game: &G, leaf: &mut Leaf<G>) {
        self.ends.clear();
        self.ends.resize(game.players(), game.elapsed(&leaf.state));
        for _ in 0..self.limit {
            if !matches!(game.turn(&leaf.state), Turn::Move(_)) {
                break;
            }
            // Those eliminated in this turn were alive before it.
            let alive = game.alive(&leaf.state);
            self.play(game, leaf, 1);
            let elapsed = game.elapsed(&leaf.state);
            alive.iter().for_each(|player| self.ends[player] = elapsed);
        }
    }

    /// Writes discounted sums of rewards. Actions are drawn here, uniformly or by weights, since
    /// the game's own rollouts skip the rewards of single steps.
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
            self.before.clear();
            self.before.extend((0..values.len()).map(|player| game.returns(state, player)));
            if game.advance(state, &self.joint, rng).is_err() {
                debug_assert!(false, "legal actions must apply");
                break;
            }
            // Most turns have no reward and need no power.
            let mut factor = None;
            for (player, value) in values.iter_mut().enumerate() {
                let gain = game.returns(state, player) - self.before[player];
                if gain != 0.0 {
                    let factor = *factor.get_or_insert_with(|| {
                        if self.discount < 1.0 {
                            libm::powf(self.discount, time as f32)
                        } else {
                            1.0
                        }
                    });
                    *value += factor * gain;
                }
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
