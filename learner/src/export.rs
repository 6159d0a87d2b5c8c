//! Export of trained weights, after a check that the CPU engine and training agree.
//!
//! Actors and the arena do not use burn. They run [`ouro_net::Engine`] on exported weights, with
//! batch norm folded in. An [`ExportCheck`] evaluates both on the same fixed positions before
//! weights are published. If outputs differ, the check compares burn with [`ouro_net::reference`]
//! layer by layer, and the error names the first layer that differs.

use burn_tensor::Device;
use ouro_game::{ActionMask, ConfigError, Game, GameConfig, GameVisitor, Rng, Turn};
use ouro_net::{
    Engine, NetSpec, Scratch, Weights, WeightsError, WeightsMeta, reference, synthetic,
};

use crate::device::TrainDevice;
use crate::error::{ExportMismatch, TrainError};
use crate::model::{Net, planes_tensor, read};

/// Number of positions to compare.
pub(crate) const POSITIONS: usize = 256;

/// Largest difference allowed, relative to the largest result of the layer or to 1, whichever is
/// larger. Rounding in f32 stays below 1e-4 in the deepest preset, Winograd's transforms included.
/// A wrong tensor exceeds 1e-3 in every architecture, as a test shows.
pub(crate) const TOLERANCE: f32 = 1e-3;

/// Moves between two positions of a random game. The stride keeps the positions distinct.
const STRIDE: u32 = 8;

/// Seed of the random games.
const SEED: u64 = 256;

/// The fixed positions that both engines evaluate.
#[derive(Clone, Debug)]
pub struct ExportCheck {
    /// `[POSITIONS, C · H · W]`.
    planes: Vec<f32>,
}

impl ExportCheck {
    /// Positions from the whole length of random games, as a network of `spec` reads them. Equal
    /// arguments give equal positions.
    pub fn of_game(game: &GameConfig, spec: &NetSpec) -> Result<Self, ConfigError> {
        struct Play(usize);
        impl GameVisitor for Play {
            type Output = ExportCheck;
            fn visit<G: Game>(self, game: G) -> ExportCheck {
                ExportCheck { planes: random_play(&game, self.0) }
            }
        }
        game.visit(Play(spec.planes.len()))
    }

    /// Random planes of zeros and ones, for a network without a game.
    pub fn random(spec: &NetSpec) -> Self {
        Self { planes: synthetic::random_planes(spec, POSITIONS, SEED) }
    }

    /// Compares the outputs of `net`, which is on `device`, with those of the engine on
    /// `weights`. Waits for the device.
    pub fn check(&self, net: &Net, weights: &Weights, device: &Device) -> Result<(), TrainError> {
        let spec = weights.spec();
        let outputs = net.evaluate(planes_tensor(spec, self.planes.clone(), device));
        let (logits, values) = (read(&outputs.logits)?, read(&outputs.values)?);
        let mut played = (vec![f32::NAN; logits.len()], vec![f32::NAN; values.len()]);
        let engine = Engine::new(weights);
        engine.evaluate(&mut Scratch::new(), &self.planes, &mut played.0, &mut played.1);
        let found = first_difference(&logits, &played.0, spec.logits())
            .or_else(|| first_difference(&values, &played.1, spec.value_width()));
        match found {
            None => Ok(()),
            Some(difference) => Err(self.locate(net, weights, device, difference)?.into()),
        }
    }

    /// Compares `device` with the engine on `weights` from a file, or on initial weights. Waits for
    /// the device.
    pub fn check_weights(&self, weights: &Weights, device: &TrainDevice) -> Result<(), TrainError> {
        self.check(&Net::new(weights, device.plain()), weights, device.plain())
    }

    /// Finds the layer that causes a difference of the outputs.
    fn locate(
        &self,
        net: &Net,
        weights: &Weights,
        device: &Device,
        (position, trained, exported): (usize, f32, f32),
    ) -> Result<ExportMismatch, TrainError> {
        let spec = weights.spec();
        let planes = &self.planes[position * spec.planes.len()..][..spec.planes.len()];
        let layers = reference::layers(weights, planes);
        let trace = net.untracked(0).trace(planes_tensor(spec, planes.to_vec(), device));
        for ((layer, results), (_, expected)) in trace.iter().zip(&layers) {
            let results = read(results)?;
            let expected: Vec<f32> = expected.iter().map(|&value| value as f32).collect();
            if let Some((_, trained, exported)) =
                first_difference(&results, &expected, results.len())
            {
                return Ok(mismatch(layer, position, trained, exported));
            }
        }
        Ok(mismatch("engine", position, trained, exported))
    }
}

fn mismatch(layer: &str, position: usize, trained: f32, exported: f32) -> ExportMismatch {
    let (trained, exported) = (trained.to_string(), exported.to_string());
    ExportMismatch { layer: layer.to_owned(), position, trained, exported }
}

/// The first pair that differs by more than [`TOLERANCE`], with the index of its row. A row has
/// `width` values. NaN and infinity differ from every value, themselves included.
fn first_difference(left: &[f32], right: &[f32], width: usize) -> Option<(usize, f32, f32)> {
    let largest = right.iter().fold(1.0_f32, |largest, value| largest.max(value.abs()));
    let differ = |left: f32, right: f32| {
        let is_finite = left.is_finite() && right.is_finite();
        !is_finite || (left - right).abs() > TOLERANCE * largest
    };
    let mut pairs = left.iter().zip(right).enumerate();
    let (index, (&left, &right)) = pairs.find(|(_, (left, right))| differ(**left, **right))?;
    Some((index / width, left, right))
}

/// Observations of `length` values each.
fn random_play<G: Game>(game: &G, length: usize) -> Vec<f32> {
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
        // Bounds the loop, because a game without moves would never fill the rows.
        if index > 100 * POSITIONS as u64 {
            break;
        }
    }
    planes
}

/// Reads the network as weights. Waits for the device. Fails if a value is not finite before or
/// after batch norm is folded in.
pub(crate) fn weights(net: &Net, meta: WeightsMeta) -> Result<Weights, TrainError> {
    let weights = Weights::from_tensors(net.layout().spec().clone(), meta, net.tensors()?);
    weights.map_err(|error| match error {
        WeightsError::NotFinite { .. } | WeightsError::FoldsToInfinity { .. } => {
            TrainError::Diverged(error)
        }
        error => error.into(),
    })
}

/// Reads the network as [`weights`] and checks them against the CPU engine.
pub(crate) fn checked(
    net: &Net,
    meta: WeightsMeta,
    export_check: &ExportCheck,
    device: &Device,
) -> Result<Weights, TrainError> {
    let weights = weights(net, meta)?;
    export_check.check(net, &weights, device)?;
    Ok(weights)
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
        synthetic::random_weights(&spec, 9).expect("a valid spec")
    }

    fn check(net: &Net, weights: &Weights) -> Result<(), TrainError> {
        ExportCheck::random(weights.spec()).check(net, weights, TrainDevice::cpu().plain())
    }

    #[test]
    fn every_architecture_agrees_with_the_engine() {
        for architecture in architectures() {
            let weights = network(architecture);
            let checked =
                ExportCheck::random(weights.spec()).check_weights(&weights, &TrainDevice::cpu());
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
                let Err(TrainError::ExportMismatch(found)) = check(&net, &wrong) else {
                    panic!("{} is wrong, but the check passed", tensor.name)
                };
                let layer = tensor.name.rsplit_once('.').expect("a layer and a part").0;
                assert_eq!(found.layer, layer, "{} is wrong: {found}", tensor.name);
            }
        }
    }

    #[test]
    fn an_engine_fault_names_the_engine_and_not_a_layer() {
        let weights = network("tiny".parse().unwrap());
        let device = TrainDevice::cpu();
        let net = Net::new(&weights, device.plain());
        let export_check = ExportCheck::random(weights.spec());
        let found = export_check.locate(&net, &weights, device.plain(), (3, 1.0, 2.0)).unwrap();
        assert_eq!((&found.layer[..], found.position), ("engine", 3));
    }

    #[test]
    fn nan_and_infinity_differ_from_everything() {
        assert_eq!(first_difference(&[0.0, 1.0], &[0.0, 1.0005], 1), None);
        assert_eq!(first_difference(&[0.0, 1.0], &[0.0, 1.01], 1).map(|found| found.0), Some(1));
        for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(first_difference(&[wrong], &[wrong], 1).is_some());
            assert!(first_difference(&[2e38], &[wrong], 1).is_some());
            assert!(first_difference(&[0.0, 5.0], &[0.0, wrong], 1).is_some());
        }
    }

    #[test]
    fn positions_of_a_game_are_not_empty_and_always_the_same() {
        let game = GameConfig::TicTacToe(tic_tac_toe::Config::default());
        let architecture = Architecture::Conv { channels: 1, layers: 1, hidden: 1 };
        let spec = ouro_testkit::network::net_spec(&game, architecture);
        let one = ExportCheck::of_game(&game, &spec).unwrap();
        assert_eq!(one.planes, ExportCheck::of_game(&game, &spec).unwrap().planes);
        let length = one.planes.len() / POSITIONS;
        let filled = one.planes.chunks_exact(length).filter(|row| row.iter().any(|&v| v != 0.0));
        assert!(filled.count() > POSITIONS / 2);
    }
}
