//! A network as the evaluator of a tree search.

use std::sync::Arc;
use std::time::Duration;

use ouro_game::{Action, ActionMask, Game, PlayerSet, Symmetry};
use ouro_net::{Engine, Scratch, expected_outcome};
use ouro_search::evaluator::PureEvaluator;
use ouro_search::{Clock, Estimates, Evaluator, Leaf};

use crate::net_fit::{FitError, fits};

/// Policies and values from an [`Engine`], all observations of a batch in one call.
///
/// Every player to move is evaluated from its own perspective, under the symmetry of the leaf. A
/// player that is in the game but not to move has the negated value of the other player in games
/// of two players, as in zero-sum games, but a draw is worth the same to both. In larger games it has
/// the value of an observation from its own perspective.
///
/// If the network has [both policies](ouro_net::Architecture::has_opponent_policy) and both players
/// are to move, one observation suffices. The observing player alternates with the time steps, so
/// that a search does not depend on one perspective. The other has the negated value as above.
#[derive(Clone, Debug)]
pub struct NetEvaluator {
    engine: Arc<Engine>,
    scratch: Scratch,
    planes: Vec<f32>,
    logits: Vec<f32>,
    values: Vec<f32>,
    /// What a draw is worth, for networks with outcome classes.
    draw: f32,
    /// Whether the network has logits of both players.
    has_both_policies: bool,
    viable: ActionMask,
    clock: Option<Arc<dyn Clock>>,
    engine_time: Duration,
}

impl NetEvaluator {
    /// An evaluator of positions of `game`; `name` identifies the network in errors.
    pub fn new<G: Game>(name: &str, engine: Arc<Engine>, game: &G) -> Result<Self, FitError> {
        fits(name, &engine, game)?;
        let has_both_policies = engine.spec().architecture.has_opponent_policy();
        Ok(Self {
            engine,
            scratch: Scratch::new(),
            planes: Vec::new(),
            logits: Vec::new(),
            values: Vec::new(),
            draw: 0.0,
            has_both_policies,
            viable: ActionMask::default(),
            clock: None,
            engine_time: Duration::ZERO,
        })
    }

    /// The same evaluator with this worth of a draw, −1 to 1, 0 by default. It matters for networks
    /// whose values are [outcome classes](ouro_net::ValueRange::Outcome).
    #[must_use]
    pub fn with_draw(self, draw: f32) -> Self {
        Self { draw, ..self }
    }

    /// Starts to measure the time of the engine.
    pub fn take_time(&mut self, clock: Arc<dyn Clock>) {
        (self.clock, self.engine_time) = (Some(clock), Duration::ZERO);
    }

    /// Time spent in the engine, without observations and policies, since
    /// [`take_time`](Self::take_time).
    pub fn engine_time(&self) -> Duration {
        self.engine_time
    }

    /// Evaluates the observations.
    fn run_engine(&mut self) {
        let start = self.clock.as_ref().map(|clock| clock.monotonic());
        self.engine.evaluate(&mut self.scratch, &self.planes, &mut self.logits, &mut self.values);
        if let (Some(start), Some(clock)) = (start, &self.clock) {
            self.engine_time += clock.monotonic().saturating_sub(start);
        }
    }

    /// Writes the observations that the leaves need, leaf by leaf.
    fn observe<G: Game>(&mut self, game: &G, leaves: &[Leaf<G>]) {
        let input = self.engine.spec().planes.len();
        let rows: usize = leaves.iter().map(|leaf| self.observed_players(game, leaf).len()).sum();
        let mut planes = std::mem::take(&mut self.planes);
        planes.resize(rows * input, 0.0);
        let mut rows = planes.chunks_exact_mut(input);
        for leaf in leaves {
            let image;
            let state = if leaf.symmetry == Symmetry::Identity {
                &leaf.state
            } else {
                image = game.transform(&leaf.state, leaf.symmetry);
                &image
            };
            for (player, row) in self.observed_players(game, leaf).iter().zip(&mut rows) {
                game.observe(state, player, row);
            }
        }
        self.planes = planes;
    }

    /// The players whose observations a leaf needs.
    fn observed_players<G: Game>(&self, game: &G, leaf: &Leaf<G>) -> PlayerSet {
        if game.players() != 2 {
            return PlayerSet(leaf.movers.0 | game.alive(&leaf.state).0);
        }
        if self.has_both_policies && leaf.movers.len() == 2 {
            return PlayerSet::one(game.elapsed(&leaf.state) as usize % 2);
        }
        leaf.movers
    }
}

impl<G: Game> Evaluator<G> for NetEvaluator {
    fn evaluate(&mut self, game: &G, leaves: &mut [Leaf<G>], out: &mut Estimates) {
        let (actions, outputs) = (game.action_count(), self.engine.spec().logits());
        self.observe(game, leaves);
        let rows = self.planes.len() / self.engine.spec().planes.len().max(1);
        self.logits.resize(rows * outputs, 0.0);
        let width = self.engine.spec().value_width();
        self.values.resize(rows * width, 0.0);
        self.run_engine();
        let mut rows = self.logits.chunks_exact(outputs).zip(self.values.chunks_exact(width));
        for leaf in leaves {
            let (values, priors) = out.push(leaf.movers);
            let mut priors = priors.chunks_exact_mut(actions);
            let observed = self.observed_players(game, leaf);
            for (player, (logits, value)) in observed.iter().zip(&mut rows) {
                values[player] = expected_outcome(value, self.draw);
                if game.players() == 2 && observed.len() == 1 {
                    values[1 - player] = -expected_outcome(value, -self.draw);
                }
                let own = PlayerSet(leaf.movers.0 & PlayerSet::one(player).0);
                let read = if observed.len() < leaf.movers.len() { leaf.movers } else { own };
                for (mover, row) in read.iter().zip(&mut priors) {
                    let logits = &logits[if mover == player { 0 } else { actions }..][..actions];
                    game.viable(&leaf.state, mover, &mut self.viable);
                    masked_softmax(game, leaf.symmetry, logits, &self.viable, row);
                }
            }
        }
    }
}

impl<G: Game> PureEvaluator<G> for NetEvaluator {}

/// Softmax over the legal actions, from the logits of the position's image under `symmetry`.
///
/// If a legal logit is not finite, as when a network overflows, the policy is uniform. The standard
/// library's exponential differs between platforms in the last digit, which would change moves.
pub(crate) fn masked_softmax<G: Game>(
    game: &G,
    symmetry: Symmetry,
    logits: &[f32],
    legal: &ActionMask,
    row: &mut [f32],
) {
    let logit = |action: Action| logits[game.transform_action(action, symmetry).index()];
    let top = legal.iter().map(logit).fold(f32::NEG_INFINITY, f32::max);
    let finite = legal.iter().all(|action| logit(action).is_finite());
    let mut total = 0.0;
    for action in legal.iter() {
        let weight = if finite { libm::expf(logit(action) - top) } else { 1.0 };
        row[action.index()] = weight;
        total += weight;
    }
    legal.iter().for_each(|action| row[action.index()] /= total);
}

#[cfg(test)]
mod tests {
    use ouro_game::Rng;
    use ouro_game::tic_tac_toe::TicTacToe;
    use ouro_net::ContentHash;

    use super::*;

    /// The constant is the same on every processor and platform.
    #[test]
    fn logits_give_these_policies_everywhere() {
        let game = TicTacToe::default();
        let mut legal = ActionMask::new(game.action_count());
        for action in 0..9 {
            legal.insert(Action(action));
        }
        let (mut rng, mut row, mut bytes) = (Rng::new(1, "logits"), [0.0; 9], Vec::new());
        for _ in 0..1_000 {
            let logits: Vec<f32> = (0..9).map(|_| (40.0 * rng.unit() - 20.0) as f32).collect();
            masked_softmax(&game, Symmetry::Identity, &logits, &legal, &mut row);
            bytes.extend(row.into_iter().flat_map(f32::to_le_bytes));
        }
        assert_eq!(
            ContentHash::of(&bytes).to_string(),
            "be80d89ae4ce1a9e52595a45802bc0d71098233d3037c9c17096ec6536866f99"
        );
    }
}
