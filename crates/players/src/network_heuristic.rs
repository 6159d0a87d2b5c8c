//! Networks as the evaluation of a minimax search.
//!
//! The network's value takes the place of another heuristic's score; all else is that heuristic's. A
//! second network may evaluate the positions in which two players are left. Every leaf is evaluated
//! alone, so a network should be small and read the game's [`features`](ouro_game::Game::features).

use std::sync::Arc;

use ouro_game::{ActionMask, Game};
use ouro_net::{Engine, NetSpec, Scratch, expected_outcome};
use ouro_search::Heuristic;

use crate::net_fit::{FitError, duel_rules, estimates_outcomes, fits};

/// Scores lie inside this bound, since 1 is a won game.
const BOUND: f32 = 0.999;

/// Multiply-adds that count as a node of the search, which takes about a microsecond. Vectors of 256
/// bits do this many in less time, a processor without vectors in about 16 µs.
const MULTIPLY_ADDS_PER_NODE: usize = 1 << 14;

/// The value of a network, and the candidates and chances of `base`.
///
/// A player's score is the value of the observation from its own perspective: the expected outcome,
/// discounted as in the network's training. A draw has score 0.
#[derive(Clone, Debug)]
pub struct NetworkHeuristic<G: Game, E> {
    network: Network,
    /// The rules of a duel, and the network for positions with two players left.
    duel: Option<(G, Network)>,
    base: E,
}

impl<G: Game, E> NetworkHeuristic<G, E> {
    /// A heuristic for `game`; `name` identifies the network in errors.
    ///
    /// # Errors
    ///
    /// The network does not fit the game, or its value is unbounded: a return, not an outcome.
    pub fn new(name: &str, engine: Arc<Engine>, game: &G, base: E) -> Result<Self, FitError> {
        fits(name, &engine, game)?;
        estimates_outcomes(name, &engine)?;
        Ok(Self { network: Network::new(engine), duel: None, base })
    }

    /// The same heuristic with another network for positions in which two players are left.
    ///
    /// # Errors
    ///
    /// `game` has no [duel](Game::duel), or the network does not read the features of that duel or has an
    /// unbounded value.
    pub fn with_duel(self, name: &str, engine: Arc<Engine>, game: &G) -> Result<Self, FitError> {
        let rules = duel_rules(name, &engine, game)?;
        estimates_outcomes(name, &engine)?;
        Ok(Self { duel: Some((rules, Network::new(engine))), ..self })
    }

    fn value(&mut self, game: &G, state: &G::State, player: usize) -> f32 {
        match &mut self.duel {
            Some((rules, network)) if game.alive(state).len() == 2 => {
                network.value(rules, state, player)
            }
            _ => self.network.value(game, state, player),
        }
    }
}

impl<G: Game, E: Heuristic<G>> Heuristic<G> for NetworkHeuristic<G, E> {
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

    /// Every player takes an evaluation of its own, of the larger network if there are two.
    fn cost(&self, players: u32) -> u32 {
        let duel = self.duel.as_ref().map_or(0, |(_, network)| network.cost);
        self.network.cost.max(duel).saturating_mul(players)
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

/// A network and its working memory.
#[derive(Clone, Debug)]
struct Network {
    engine: Arc<Engine>,
    scratch: Scratch,
    observation: Vec<f32>,
    logits: Vec<f32>,
    values: Vec<f32>,
    /// The time of an evaluation, in nodes of the search.
    cost: u32,
}

impl Network {
    fn new(engine: Arc<Engine>) -> Self {
        let spec = engine.spec();
        let zeros = |length| vec![0.0; length];
        let [observation, logits, values] =
            [spec.planes.len(), spec.logits(), spec.value_width()].map(zeros);
        let cost = cost(spec);
        Self { engine, scratch: Scratch::new(), observation, logits, values, cost }
    }

    /// The value of the observation that `game` writes for `player`.
    fn value<G: Game>(&mut self, game: &G, state: &G::State, player: usize) -> f32 {
        let Self { engine, scratch, observation, logits, values, .. } = self;
        game.observe(state, player, observation);
        engine.evaluate(scratch, observation, logits, values);
        let value = expected_outcome(values, 0.0);
        // NaN, as from a network that overflows, counts as a draw.
        if value.is_nan() { 0.0 } else { value.clamp(-BOUND, BOUND) }
    }
}

/// The time of an evaluation, in nodes of the search. The node of the position itself is included.
pub(crate) fn cost(spec: &NetSpec) -> u32 {
    let cells = spec.planes.height * spec.planes.width;
    let layers = spec.tensors().into_iter().filter(|tensor| tensor.role.is_layer());
    // A convolution, which has four dimensions, applies its weights at every cell.
    let uses = layers.map(|layer| layer.len() * if layer.shape.len() == 4 { cells } else { 1 });
    let nodes = uses.sum::<usize>() / MULTIPLY_ADDS_PER_NODE;
    u32::try_from(nodes).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use ouro_game::PlaneShape;
    use ouro_net::{Architecture, ValueRange};
    use ouro_search::minimax::NODES_PER_CLOCK_CHECK;

    use super::*;

    fn cost_of(channels: usize, side: usize, architecture: Architecture) -> u32 {
        let planes = PlaneShape { channels, height: side, width: side };
        cost(&NetSpec { planes, actions: 4, architecture })
    }

    #[test]
    fn a_small_network_costs_no_more_than_area_control_and_a_tower_a_clock_check() {
        // The networks of checkpoints/*-minimax.safetensors.
        for features in [80, 113] {
            let mlp = Architecture::Mlp { layers: 2, hidden: 32, value: ValueRange::Tanh };
            assert_eq!(cost_of(features, 1, mlp), 1);
        }
        for name in ["small", "medium"] {
            let tower = name.parse().expect("a preset");
            assert!(cost_of(12, 11, tower) >= NODES_PER_CLOCK_CHECK, "{name}");
        }
    }
}
