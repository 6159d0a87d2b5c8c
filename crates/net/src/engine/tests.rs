use std::panic::{AssertUnwindSafe, catch_unwind};

use ouro_game::{PlaneShape, Rng};

use super::buffer::LINE;
use super::grid::Grid;
use super::layer::{Activation, Epilogue, Layer};
use super::winograd::Winograd;
use super::*;
use crate::spec::{Architecture, GlobalPooling, ValueRange};
use crate::synthetic::random_weights;
use crate::weights::WeightsMeta;

fn tower(
    channels: usize,
    global_pooling: Option<GlobalPooling>,
    opponent_policy: bool,
) -> Architecture {
    Architecture::Residual {
        channels,
        blocks: 2,
        policy_channels: 3,
        value_channels: 2,
        value_hidden: 20,
        value: ValueRange::Tanh,
        global_pooling,
        opponent_policy,
    }
}

/// Every family on boards of every kind; on the largest, narrow ones that use every step.
fn specs() -> Vec<NetSpec> {
    let pooling = Some(GlobalPooling { channels: 5, every: 2 });
    let two_conv = Architecture::TwoConv { channels: 10, hidden: 30, narrow: 20 };
    let flat = [
        Architecture::Conv { channels: 33, layers: 2, hidden: 40 },
        Architecture::Conv { channels: 3, layers: 1, hidden: 150 },
        tower(20, pooling, false),
        tower(70, None, true),
        Architecture::Mlp { layers: 2, hidden: 50, value: ValueRange::Unbounded },
        Architecture::Mlp { layers: 1, hidden: 30, value: ValueRange::Outcome },
    ];
    let mut specs = Vec::new();
    for (height, width) in [(5, 6), (1, 1), (1, 9), (11, 11), (64, 64)] {
        let architectures = match height {
            1 => flat.to_vec(),
            64 => vec![
                tower(16, pooling, false),
                Architecture::TwoConv { channels: 3, hidden: 5, narrow: 4 },
            ],
            _ => flat.iter().cloned().chain([two_conv.clone()]).collect(),
        };
        let planes = PlaneShape { channels: 3, height, width };
        specs.extend(architectures.into_iter().map(|architecture| NetSpec {
            planes,
            actions: 7,
            architecture,
        }));
    }
    specs
}

#[test]
fn every_instruction_set_gives_the_same_bits_in_every_batch() {
    for spec in specs() {
        let weights = random_weights(&spec, 1).unwrap();
        let mut rng = Rng::new(2, "test");
        let planes: Vec<f32> =
            (0..13 * spec.planes.len()).map(|_| (2.0 * rng.unit() - 1.0) as f32).collect();
        // Per position its logits and its value, as bits.
        let evaluate = |engine: &Engine, scratch: &mut Scratch, batch: usize| {
            let width = spec.value_width();
            let mut logits = vec![f32::NAN; batch * spec.logits()];
            let mut values = vec![f32::NAN; batch * width];
            let planes = &planes[..batch * spec.planes.len()];
            engine.evaluate(scratch, planes, &mut logits, &mut values);
            assert!(logits.iter().chain(&values).all(|x| x.is_finite() && *x != 0.0), "{spec:?}");
            let positions = logits.chunks_exact(spec.logits()).zip(values.chunks_exact(width));
            let bits = positions
                .map(|(logits, value)| logits.iter().chain(value).map(|x| x.to_bits()).collect());
            bits.collect::<Vec<Vec<u32>>>()
        };
        let engine = Engine::new(&weights);
        let expected = evaluate(&engine, &mut Scratch::new(), 13);
        for isa in Isa::available() {
            let (engine, mut scratch) = (Engine::with_isa(&weights, isa), Scratch::new());
            for batch in [1, 2, 13] {
                let got = evaluate(&engine, &mut scratch, batch);
                assert!(got == expected[..batch], "{} {batch} {spec:?}", isa.name());
            }
        }
    }
}

#[test]
fn both_ways_to_convolve_are_in_use_and_agree_on_which() {
    let convolutions = |architecture: Architecture| {
        let planes = PlaneShape { channels: 3, height: 5, width: 6 };
        let spec = NetSpec { planes, actions: 7, architecture };
        let weights = Weights::initialize(spec, WeightsMeta::default(), 1).unwrap();
        let ways = Isa::available().into_iter().map(|isa| {
            let program = Engine::with_isa(&weights, isa).program;
            let is_winograd =
                |step: &program::Step| matches!(step.operation, program::Operation::Winograd(_));
            program.trunk.iter().filter(|step| is_winograd(step)).count()
        });
        let ways: Vec<usize> = ways.collect();
        assert!(ways.iter().all(|count| *count == ways[0]));
        ways[0]
    };
    assert_eq!(convolutions(Architecture::Conv { channels: 64, layers: 3, hidden: 1 }), 2);
    assert_eq!(convolutions(Architecture::Conv { channels: 2, layers: 3, hidden: 1 }), 0);
}

fn panics(run: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(run)).is_err()
}

#[test]
fn a_packed_layer_refuses_vectors_of_another_width() {
    let grid = Grid::framed(4, 4, LINE);
    let (weight, bias) = (vec![1.0; 9 * LINE * LINE], vec![0.0; LINE]);
    let epilogue = Epilogue::with(Activation::Identity);
    let (input, mut output) = (vec![1.0; grid.board], vec![0.0; grid.board]);
    for packed in Isa::available() {
        let direct = Layer::convolution(packed, [&weight, &bias], &grid, &grid, epilogue);
        let tiled = Winograd::new(packed, [&weight, &bias], &grid, &grid, epilogue);
        for isa in Isa::available() {
            let mut between = Frequencies::default();
            let first = panics(|| direct.run(isa, 1, &input, &mut output));
            let second = panics(|| tiled.run(isa, 1, &input, &mut output, &mut between));
            let expected = packed.lanes() != isa.lanes();
            let pair = [packed.name(), isa.name()];
            assert_eq!([first, second], [expected; 2], "{pair:?}");
        }
    }
}
