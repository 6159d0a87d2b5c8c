//! Before anything is published: does the CPU engine play what was trained?
//!
//! Actors and the arena never see burn; they run [`ouro_net::Engine`] on exported weights, with
//! batch norm folded in. A [`Probe`] evaluates both on the same fixed positions. If they differ,
//! the first layer whose results do is named, found by comparing burn with
//! [`ouro_net::reference`] layer by layer, and nothing is published.

use burn::tensor::Device;
use ouro_game::{ActionMask, ConfigError, Game, GameConfig, GameVisitor, Rng, Turn};
use ouro_net::{Engine, NetSpec, Scratch, Weights, measure, reference};

use crate::device::TrainDevice;
use crate::model::{Net, planes_tensor, read};
use crate::trainer::TrainError;

/// Positions that are compared.
pub const POSITIONS: usize = 256;

/// Largest difference, as a share of the largest result of the layer, or of 1 if that is more.
/// Rounding in f32 stays below 10⁻⁴ in the deepest preset, Winograd's transforms included; a
/// wrong tensor does not.
pub const TOLERANCE: f32 = 1e-3;

/// Turns of a random game that are not looked at before one is, at most.
const STRIDE: u32 = 8;

/// Seed of the random games.
const SEED: u64 = 256;

/// The two engines compute different things.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the trained network and the exported weights disagree, first in {layer}: position {position} gives {trained} in training and {exported} when played; nothing was published, report this as a bug with the checkpoint"
)]
pub struct Disagreement {
    /// The first layer whose results differ, by the name of its tensors; `engine` if every layer
    /// agrees with the plain reference computation, so that the CPU engine itself is wrong.
    pub layer: String,
    /// The position, from 0.
    pub position: usize,
    /// What burn computes, as text.
    pub trained: String,
    /// What the exported weights compute, as text.
    pub exported: String,
}

/// Fixed positions to compare networks on.
#[derive(Clone, Debug)]
pub struct Probe {
    /// `[POSITIONS, C · H · W]`.
    planes: Vec<f32>,
}

impl Probe {
    /// Positions of a game that both sides play at random, drawn from its whole length; always
    /// the same for one configuration.
    pub fn of_game(game: &GameConfig) -> Result<Self, ConfigError> {
        struct Play;
        impl GameVisitor for Play {
            type Output = Probe;
            fn visit<G: Game>(self, game: G) -> Probe {
                Probe { planes: random_play(&game) }
            }
        }
        game.visit(Play)
    }

    /// Positions that no game made: planes of zeros and ones.
    pub fn random(spec: &NetSpec) -> Self {
        Self { planes: measure::random_planes(spec, POSITIONS, SEED) }
    }

    /// Compares the outputs of `net`, which lives on `device`, with those of the engine on
    /// `weights`. Waits for the device.
    pub fn check(&self, net: &Net, weights: &Weights, device: &Device) -> Result<(), TrainError> {
        let spec = weights.spec();
        let outputs = net.evaluate(planes_tensor(spec, self.planes.clone(), device));
        let (logits, values) = (read(&outputs.logits)?, read(&outputs.values)?);
        let mut played = (vec![f32::NAN; logits.len()], vec![f32::NAN; values.len()]);
        let engine = Engine::new(weights);
        engine.evaluate(&mut Scratch::new(), &self.planes, &mut played.0, &mut played.1);
        let found = first_difference(&logits, &played.0, spec.actions)
            .or_else(|| first_difference(&values, &played.1, 1));
        match found {
            None => Ok(()),
            Some(difference) => Err(self.explain(net, weights, device, difference)?.into()),
        }
    }

    /// Whether `device` computes `weights` as the engine does: for weights that come from a file,
    /// or from nothing, before they are offered to anybody. Waits for the device.
    pub fn check_weights(&self, weights: &Weights, device: &TrainDevice) -> Result<(), TrainError> {
        self.check(&Net::new(weights, device.plain()), weights, device.plain())
    }

    /// Names the layer behind a difference of the outputs.
    fn explain(
        &self,
        net: &Net,
        weights: &Weights,
        device: &Device,
        (position, trained, exported): (usize, f32, f32),
    ) -> Result<Disagreement, TrainError> {
        let spec = weights.spec();
        let planes = &self.planes[position * spec.planes.len()..][..spec.planes.len()];
        let layers = reference::layers(weights, planes);
        let trace = net.fixed(0).trace(planes_tensor(spec, planes.to_vec(), device));
        for ((layer, results), (_, expected)) in trace.iter().zip(&layers) {
            let results = read(results)?;
            let expected: Vec<f32> = expected.iter().map(|&value| value as f32).collect();
            if let Some((_, trained, exported)) =
                first_difference(&results, &expected, results.len())
            {
                return Ok(disagreement(layer, position, trained, exported));
            }
        }
        Ok(disagreement("engine", position, trained, exported))
    }
}

fn disagreement(layer: &str, position: usize, trained: f32, exported: f32) -> Disagreement {
    let (trained, exported) = (trained.to_string(), exported.to_string());
    Disagreement { layer: layer.to_owned(), position, trained, exported }
}

/// The first pair that is further apart than [`TOLERANCE`], with its row of `width` values. What
/// is not a number differs from everything.
fn first_difference(left: &[f32], right: &[f32], width: usize) -> Option<(usize, f32, f32)> {
    let largest = right.iter().fold(1.0_f32, |largest, value| largest.max(value.abs()));
    let differ = |left: f32, right: f32| {
        let difference = (left - right).abs();
        difference.is_nan() || difference > TOLERANCE * largest
    };
    let mut pairs = left.iter().zip(right).enumerate();
    let (index, (&left, &right)) = pairs.find(|(_, (left, right))| differ(**left, **right))?;
    Some((index / width, left, right))
}

fn random_play<G: Game>(game: &G) -> Vec<f32> {
    let length = game.planes().len();
    let mut planes = vec![0.0; POSITIONS * length];
    let mut mask = ActionMask::default();
    let mut rows = planes.chunks_exact_mut(length);
    for index in 0_u64.. {
        let mut rng = Rng::indexed(SEED, "probe", index);
        let mut state = game.initial(&mut rng);
        game.settle(&mut state, &mut rng);
        let mut wait = rng.below(STRIDE);
        while let Turn::Move(movers) = game.turn(&state) {
            let mut actions = vec![ouro_game::Action(0); game.players()];
            for mover in movers.iter() {
                if wait == 0 {
                    wait = STRIDE;
                    let Some(row) = rows.next() else { return planes };
                    game.observe(&state, mover, row);
                }
                wait -= 1;
                game.legal(&state, mover, &mut mask);
                let pick = rng.below(mask.count().max(1) as u32) as usize;
                actions[mover] = mask.nth(pick).unwrap_or(ouro_game::Action(0));
            }
            if game.advance(&mut state, &actions, &mut rng).is_err() {
                debug_assert!(false, "legal actions are taken");
                break;
            }
        }
        // A game in which nobody ever moves has no positions to fill the probe with.
        if index > 100 * POSITIONS as u64 {
            break;
        }
    }
    planes
}

#[cfg(test)]
mod tests {
    use ouro_game::tic_tac_toe;
    use ouro_net::{Architecture, WeightsMeta};

    use super::*;
    use crate::testing::architectures;

    fn network(architecture: Architecture) -> Weights {
        let planes = ouro_game::PlaneShape { channels: 3, height: 6, width: 5 };
        let spec = NetSpec { planes, actions: 4, architecture };
        measure::random_weights(&spec, 9).expect("a valid spec")
    }

    fn check(net: &Net, weights: &Weights) -> Result<(), TrainError> {
        Probe::random(weights.spec()).check(net, weights, TrainDevice::cpu().plain())
    }

    #[test]
    fn every_architecture_agrees_with_the_engine() {
        for architecture in architectures() {
            let weights = network(architecture);
            let checked =
                Probe::random(weights.spec()).check_weights(&weights, &TrainDevice::cpu());
            checked.unwrap_or_else(|error| panic!("{:?}: {error}", weights.spec()));
        }
    }

    #[test]
    fn a_wrong_tensor_is_found_and_its_layer_named() {
        for architecture in architectures() {
            let weights = network(architecture);
            let net = Net::new(&weights, TrainDevice::cpu().plain());
            for (index, tensor) in weights.spec().tensors().iter().enumerate() {
                let mut tensors = weights.tensors().to_vec();
                tensors[index].iter_mut().for_each(|value| *value = *value * 1.5 + 0.3);
                let spec = weights.spec().clone();
                let wrong = Weights::from_tensors(spec, WeightsMeta::default(), tensors).unwrap();
                let Err(TrainError::Disagreement(found)) = check(&net, &wrong) else {
                    panic!("{} is wrong and nobody noticed", tensor.name)
                };
                let layer = tensor.name.rsplit_once('.').expect("a layer and a part").0;
                assert_eq!(found.layer, layer, "{} is wrong: {found}", tensor.name);
            }
        }
    }

    #[test]
    fn a_fault_of_the_engine_is_not_blamed_on_a_layer() {
        let weights = network("tiny".parse().unwrap());
        let device = TrainDevice::cpu();
        let net = Net::new(&weights, device.plain());
        let probe = Probe::random(weights.spec());
        let found = probe.explain(&net, &weights, device.plain(), (3, 1.0, 2.0)).unwrap();
        assert_eq!((&found.layer[..], found.position), ("engine", 3));
    }

    #[test]
    fn what_is_not_a_number_differs() {
        assert_eq!(first_difference(&[0.0, 1.0], &[0.0, 1.0005], 1), None);
        assert_eq!(first_difference(&[0.0, 1.0], &[0.0, 1.01], 1).map(|found| found.0), Some(1));
        assert!(first_difference(&[f32::NAN], &[f32::NAN], 1).is_some());
    }

    #[test]
    fn a_games_positions_are_those_of_the_game_and_always_the_same() {
        let game = GameConfig::TicTacToe(tic_tac_toe::Config::default());
        let one = Probe::of_game(&game).unwrap();
        assert_eq!(one.planes, Probe::of_game(&game).unwrap().planes);
        let length = one.planes.len() / POSITIONS;
        let filled = one.planes.chunks_exact(length).filter(|row| row.iter().any(|&v| v != 0.0));
        assert!(filled.count() > POSITIONS / 2);
    }
}
