use ouro_game::{PlaneShape, Stream};

use super::*;
use crate::{Architecture, GlobalPooling, WeightsMeta};

fn specs() -> Vec<NetSpec> {
    let tower = |channels, pooling| Architecture::Residual {
        channels,
        blocks: 2,
        policy_channels: 3,
        value_channels: 2,
        value_hidden: 20,
        value: ValueRange::Tanh,
        global_pooling: pooling,
    };
    let architectures = [
        Architecture::Conv { channels: 33, layers: 2, hidden: 40 },
        Architecture::Conv { channels: 3, layers: 1, hidden: 150 },
        tower(20, Some(GlobalPooling { channels: 5, every: 2 })),
        tower(70, None),
        Architecture::TwoConv { channels: 10, hidden: 30, narrow: 20 },
        Architecture::Mlp { layers: 2, hidden: 50, value: ValueRange::Unbounded },
    ];
    let planes = PlaneShape { channels: 3, height: 5, width: 6 };
    architectures.map(|architecture| NetSpec { planes, actions: 7, architecture }).to_vec()
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    for spec in specs() {
        let weights = Weights::initialize(spec.clone(), WeightsMeta::default(), 1).unwrap();
        let mut stream = Stream::new(2, "test");
        let batch = 5;
        let planes: Vec<f32> =
            (0..batch * spec.planes.len()).map(|_| stream.unit() as f32).collect();
        let results = Isa::available().into_iter().map(|isa| {
            let (mut logits, mut values) = (vec![f32::NAN; batch * 7], vec![f32::NAN; batch]);
            let engine = Engine::with_isa(&weights, isa);
            engine.evaluate(&mut Scratch::new(), &planes, &mut logits, &mut values);
            logits.extend(values);
            logits
        });
        let results: Vec<Vec<f32>> = results.collect();
        assert!(results[0].iter().all(|value| value.is_finite() && *value != 0.0));
        assert!(results.iter().all(|result| *result == results[0]), "{spec:?}");
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
