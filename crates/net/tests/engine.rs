//! The engine against the reference, over random shapes, weights and positions.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use ouro_game::{PlaneShape, Stream};
use ouro_net::{Architecture, Engine, NetSpec, Scratch, Weights, WeightsMeta, reference};
use proptest::prelude::*;

/// Weights with every tensor random, biases included.
fn random_weights(spec: NetSpec, seed: u64) -> Weights {
    let mut stream = Stream::new(seed, "test");
    let tensors = spec
        .tensors()
        .iter()
        .map(|tensor| {
            let fan_in: usize = tensor.shape[1..].iter().product();
            let scale = (2.0 / fan_in as f64).sqrt();
            (0..tensor.len()).map(|_| (scale * (2.0 * stream.unit() - 1.0)) as f32).collect()
        })
        .collect();
    Weights::from_tensors(spec, WeightsMeta::default(), tensors).unwrap()
}

fn random_planes(len: usize, seed: u64) -> Vec<f32> {
    let mut stream = Stream::new(seed, "planes");
    (0..len).map(|_| (2.0 * stream.unit() - 1.0) as f32).collect()
}

fn evaluate(engine: &Engine, scratch: &mut Scratch, planes: &[f32], batch: usize) -> Vec<f32> {
    let mut logits = vec![f32::NAN; batch * engine.spec().actions];
    let mut values = vec![f32::NAN; batch];
    engine.evaluate(scratch, planes, &mut logits, &mut values);
    logits.extend(values);
    logits
}

prop_compose! {
    fn specs()(
        (planes, height, width) in (1_usize..6, 1_usize..9, 1_usize..9),
        actions in 1_usize..40,
        (channels, layers, hidden) in (1_usize..36, 1_usize..4, 1_usize..40),
    ) -> NetSpec {
        NetSpec {
            planes: PlaneShape { channels: planes, height, width },
            actions,
            architecture: Architecture::Conv { channels, layers, hidden },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_agrees_with_the_reference(spec in specs(), batch in 0_usize..20, seed: u64) {
        let weights = random_weights(spec.clone(), seed);
        let planes = random_planes(batch * spec.planes.len(), seed);
        let got = evaluate(&Engine::new(&weights), &mut Scratch::new(), &planes, batch);
        let mut logits = vec![f32::NAN; batch * spec.actions];
        let mut values = vec![f32::NAN; batch];
        reference::evaluate(&weights, &planes, &mut logits, &mut values);
        logits.extend(values);
        for (got, expected) in got.iter().zip(&logits) {
            prop_assert!((got - expected).abs() < 1e-4, "{got} {expected}");
        }
    }

    #[test]
    fn a_position_gets_the_same_bits_in_any_batch(spec in specs(), batch in 1_usize..40, seed: u64) {
        let weights = random_weights(spec.clone(), seed);
        let engine = Engine::new(&weights);
        let mut scratch = Scratch::new();
        let (input, actions) = (spec.planes.len(), spec.actions);
        let planes = random_planes(batch * input, seed);
        let together = evaluate(&engine, &mut scratch, &planes, batch);
        for (index, planes) in planes.chunks_exact(input).enumerate() {
            let alone = evaluate(&engine, &mut scratch, planes, 1);
            prop_assert_eq!(&alone[..actions], &together[index * actions..][..actions]);
            prop_assert_eq!(alone[actions], together[batch * actions + index]);
        }
    }

    #[test]
    fn scratch_carries_nothing_from_one_engine_to_another(first in specs(), second in specs(), seed: u64) {
        let mut shared = Scratch::new();
        for spec in [&first, &second, &first] {
            let engine = Engine::new(&random_weights(spec.clone(), seed));
            let planes = random_planes(3 * spec.planes.len(), seed);
            let fresh = evaluate(&engine, &mut Scratch::new(), &planes, 3);
            prop_assert_eq!(evaluate(&engine, &mut shared, &planes, 3), fresh);
        }
    }
}
