//! A network as the evaluation of a minimax search.
//!
//! The network's value takes the place of another heuristic's score; all else is that heuristic's.
//! Every leaf is evaluated alone, so the network should be small and read the game's
//! [`features`](ouro_game::Game::features).

use std::sync::Arc;

use ouro_game::{ActionMask, Game};
use ouro_net::{Engine, Scratch, expected_outcome};
use ouro_search::Heuristic;

use crate::net_fit::{FitError, fits};

/// Scores lie inside this bound, since 1 is a won game.
const BOUND: f32 = 0.999;

/// The value of a network, and the candidates and chances of `base`.
///
/// A player's score is the value of the observation from its own perspective: the expected outcome,
/// discounted as in the network's training. A draw has score 0.
#[derive(Clone, Debug)]
pub struct NetworkHeuristic<E> {
    engine: Arc<Engine>,
    base: E,
    scratch: Scratch,
    observation: Vec<f32>,
    logits: Vec<f32>,
    values: Vec<f32>,
}

impl<E> NetworkHeuristic<E> {
    /// A heuristic for `game`; `name` identifies the network in errors.
    pub fn new<G: Game>(
        name: &str,
        engine: Arc<Engine>,
        game: &G,
        base: E,
    ) -> Result<Self, FitError> {
        fits(name, &engine, game)?;
        let spec = engine.spec();
        let zeros = |length| vec![0.0; length];
        let [observation, logits, values] =
            [spec.planes.len(), spec.logits(), spec.value_width()].map(zeros);
        Ok(Self { engine, base, scratch: Scratch::new(), observation, logits, values })
    }

    fn value<G: Game>(&mut self, game: &G, state: &G::State, player: usize) -> f32 {
        game.observe(state, player, &mut self.observation);
        let Self { engine, scratch, observation, logits, values, .. } = self;
        engine.evaluate(scratch, observation, logits, values);
        let value = expected_outcome(values, 0.0);
        // NaN, as from a network that overflows, counts as a draw.
        if value.is_nan() { 0.0 } else { value.clamp(-BOUND, BOUND) }
    }
}

impl<G: Game, E: Heuristic<G>> Heuristic<G> for NetworkHeuristic<E> {
    fn evaluate(&mut self, game: &G, state: &G::State, scores: &mut [f32]) {
        for player in game.alive(state).iter() {
            scores[player] = self.value(game, state, player);
        }
    }

    fn evaluate_player(
        &mut self,
        game: &G,
        state: &G::State,
        player: usize,
        _scores: &mut [f32],
    ) -> f32 {
        self.value(game, state, player)
    }

    fn estimates_outcome(&self) -> bool {
        true
    }

    fn candidates(&mut self, game: &G, state: &G::State, player: usize, mask: &mut ActionMask) {
        self.base.candidates(game, state, player, mask);
    }

    fn resolve_chance(&mut self, game: &G, state: &mut G::State) {
        self.base.resolve_chance(game, state);
    }
}
