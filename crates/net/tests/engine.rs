//! The engine against the reference, over random shapes, weights and positions.

use ouro_bench::network_cases;
use ouro_game::{PlaneShape, Rng};
use ouro_net::synthetic::random_weights;
use ouro_net::{
    Architecture, ContentHash, Engine, GlobalPooling, NetSpec, Scratch, ValueRange, Weights,
    reference,
};
use proptest::prelude::*;

fn random_planes(len: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed, "planes");
    (0..len).map(|_| (2.0 * rng.unit() - 1.0) as f32).collect()
}

fn evaluate(engine: &Engine, scratch: &mut Scratch, planes: &[f32], batch: usize) -> Vec<f32> {
    let mut logits = vec![f32::NAN; batch * engine.spec().logits()];
    let mut values = vec![f32::NAN; batch * engine.spec().value_width()];
    engine.evaluate(scratch, planes, &mut logits, &mut values);
    logits.extend(values);
    logits
}

fn architectures() -> impl Strategy<Value = Architecture> {
    let value =
        prop_oneof![Just(ValueRange::Unbounded), Just(ValueRange::Tanh), Just(ValueRange::Outcome)];
    let conv = (1_usize..36, 1_usize..4, 1_usize..40)
        .prop_map(|(channels, layers, hidden)| Architecture::Conv { channels, layers, hidden });
    let pooling = prop::option::of((1_usize..36, 1_usize..4));
    let heads = (1_usize..20, 1_usize..20, 1_usize..40);
    let options = (value.clone(), pooling, any::<bool>());
    let residual = (1_usize..36, 1_usize..4, heads, options).prop_map(
        |(channels, blocks, (policy_channels, value_channels, value_hidden), options)| {
            let (value, pooling, opponent_policy) = options;
            let global_pooling = pooling.map(|(pooled, every)| GlobalPooling {
                channels: pooled.min(channels),
                every: every.min(blocks),
            });
            Architecture::Residual {
                channels,
                blocks,
                policy_channels,
                value_channels,
                value_hidden,
                value,
                global_pooling,
                opponent_policy,
            }
        },
    );
    let two_conv = (1_usize..36, 1_usize..80, 1_usize..40)
        .prop_map(|(channels, hidden, narrow)| Architecture::TwoConv { channels, hidden, narrow });
    let mlp = (1_usize..4, 1_usize..150, value)
        .prop_map(|(layers, hidden, value)| Architecture::Mlp { layers, hidden, value });
    prop_oneof![1 => conv, 3 => residual, 1 => two_conv, 1 => mlp]
}

prop_compose! {
    fn specs()(
        (planes, height, width) in (1_usize..20, 1_usize..13, 1_usize..13),
        actions in 1_usize..40,
        architecture in architectures(),
    ) -> NetSpec {
        let least = if matches!(architecture, Architecture::TwoConv { .. }) { 2 } else { 1 };
        NetSpec {
            planes: PlaneShape {
                channels: planes,
                height: height.max(least),
                width: width.max(least),
            },
            actions,
            architecture,
        }
    }
}

/// Logits, then values.
fn reference(weights: &Weights, planes: &[f32], batch: usize) -> Vec<f32> {
    let mut logits = vec![f32::NAN; batch * weights.spec().logits()];
    let mut values = vec![f32::NAN; batch * weights.spec().value_width()];
    reference::evaluate(weights, planes, &mut logits, &mut values);
    logits.extend(values);
    logits
}

#[test]
fn the_networks_of_the_benchmark_agree_with_the_reference() {
    for case in network_cases() {
        let weights = random_weights(&case.spec, 3).unwrap();
        let planes = random_planes(case.spec.planes.len() * 2, 4);
        let got = evaluate(&Engine::new(&weights), &mut Scratch::new(), &planes, 2);
        let expected = reference(&weights, &planes, 2);
        for (got, expected) in got.iter().zip(&expected) {
            assert!((got - expected).abs() < 1e-4, "{}: {got} {expected}", case.name);
        }
    }
}

#[test]
fn outcome_classes_are_finite_for_numbers_whose_exponential_is_not() {
    let planes = PlaneShape { channels: 1, height: 2, width: 2 };
    let architecture = Architecture::Mlp { layers: 1, hidden: 4, value: ValueRange::Outcome };
    let spec = NetSpec { planes, actions: 2, architecture };
    let weights = random_weights(&spec, 3).unwrap();
    let mut tensors = weights.tensors().to_vec();
    let bias = spec.tensors().iter().position(|tensor| tensor.name == "value.bias").unwrap();
    tensors[bias] = vec![1_000.0, 999.0, -1_000.0];
    let weights = Weights::from_tensors(spec, weights.meta().clone(), tensors).unwrap();
    let planes = random_planes(4, 4);
    let got = evaluate(&Engine::new(&weights), &mut Scratch::new(), &planes, 1);
    let expected = reference(&weights, &planes, 1);
    for (got, expected) in got.iter().zip(&expected) {
        assert!((got - expected).abs() < 1e-3, "{got} {expected}");
    }
}

/// The constant is the same on x86-64 and on 64-bit ARM. It changes with the order of any sum.
#[test]
fn the_benchmark_networks_give_these_bits_on_every_processor() {
    let mut bytes = Vec::new();
    for case in network_cases() {
        let weights = random_weights(&case.spec, 3).unwrap();
        let planes = random_planes(case.spec.planes.len() * 3, 4);
        let outputs = evaluate(&Engine::new(&weights), &mut Scratch::new(), &planes, 3);
        bytes.extend(outputs.into_iter().flat_map(f32::to_le_bytes));
    }
    assert_eq!(
        ContentHash::of(&bytes).to_string(),
        "f295df2be400f06b78f634c9a6bb236e080a7f8bb5ba3bd49f301cd84ae7f95b"
    );
}

/// Compares bits, since `==` ignores the sign of a zero.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_agrees_with_the_reference(spec in specs(), batch in 0_usize..20, seed: u64) {
        let weights = random_weights(&spec, seed).unwrap();
        let planes = random_planes(batch * spec.planes.len(), seed);
        let got = evaluate(&Engine::new(&weights), &mut Scratch::new(), &planes, batch);
        let expected = reference(&weights, &planes, batch);
        for (got, expected) in got.iter().zip(&expected) {
            prop_assert!((got - expected).abs() < 1e-4, "{got} {expected}");
        }
    }

    #[test]
    fn a_position_gets_the_same_bits_in_any_batch(spec in specs(), batch in 1_usize..40, seed: u64) {
        let weights = random_weights(&spec, seed).unwrap();
        let engine = Engine::new(&weights);
        let mut scratch = Scratch::new();
        let (input, actions) = (spec.planes.len(), spec.logits());
        let planes = random_planes(batch * input, seed);
        let together = bits(&evaluate(&engine, &mut scratch, &planes, batch));
        for (index, planes) in planes.chunks_exact(input).enumerate() {
            let alone = bits(&evaluate(&engine, &mut scratch, planes, 1));
            prop_assert_eq!(&alone[..actions], &together[index * actions..][..actions]);
            let width = spec.value_width();
            let values = &together[batch * actions + index * width..][..width];
            prop_assert_eq!(&alone[actions..], values);
        }
    }

    #[test]
    fn scratch_carries_no_values_from_one_engine_to_another(first in specs(), second in specs(), seed: u64) {
        let mut shared = Scratch::new();
        for spec in [&first, &second, &first] {
            let engine = Engine::new(&random_weights(spec, seed).unwrap());
            let planes = random_planes(3 * spec.planes.len(), seed);
            let fresh = evaluate(&engine, &mut Scratch::new(), &planes, 3);
            let got = evaluate(&engine, &mut shared, &planes, 3);
            prop_assert_eq!(bits(&got), bits(&fresh));
        }
    }
}
