//! Weights files: written files read back, damaged files are refused by name.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod damage;
mod good;

use ouro_net::weights::MAX_GAME_BYTES;
use ouro_net::{ContentHash, Generation, SpecError, Weights, WeightsError, WeightsMeta};
use proptest::prelude::*;
use serde_json::{Value, json};

use good::{document, families, join, spec, weights};

#[test]
fn weights_read_back_and_the_same_weights_give_the_same_bytes() {
    let weights = weights();
    let bytes = weights.to_safetensors();
    assert_eq!(Weights::from_safetensors(&bytes), Ok(weights.clone()));
    for _ in 0..8 {
        assert_eq!(weights.to_safetensors(), bytes);
    }
    let again = Weights::from_safetensors(&bytes).unwrap().to_safetensors();
    assert_eq!(ContentHash::of(&again), ContentHash::of(&bytes));
}

#[test]
fn tensors_of_the_wrong_count_length_or_value_are_refused() {
    let good = weights();
    let build = |tensors| Weights::from_tensors(good.spec().clone(), good.meta().clone(), tensors);
    assert_eq!(build(good.tensors().to_vec()), Ok(good.clone()));
    let mut tensors = good.tensors().to_vec();
    tensors.pop();
    assert_eq!(build(tensors), Err(WeightsError::TensorCount { got: 7, expected: 8 }));
    let mut tensors = good.tensors().to_vec();
    tensors[2].push(0.0);
    assert!(matches!(build(tensors), Err(WeightsError::TensorLength { got: 73, .. })));
    let mut tensors = good.tensors().to_vec();
    tensors[7][0] = f32::NAN;
    assert!(matches!(build(tensors), Err(WeightsError::NotFinite { index: 0, .. })));
    let meta = WeightsMeta { game: "x".repeat(MAX_GAME_BYTES + 1), ..WeightsMeta::default() };
    let refused = Weights::initialize(spec(), meta, 1);
    assert!(matches!(refused, Err(SpecError::GameTooLong { .. })));
}

#[test]
fn the_longest_description_of_a_game_still_fits_a_header() {
    for character in ["\u{1}", "\"", "\\", "é"] {
        let game = character.repeat(MAX_GAME_BYTES / character.len());
        let meta = WeightsMeta { game, ..WeightsMeta::default() };
        let weights = Weights::initialize(spec(), meta, 1).unwrap();
        assert_eq!(Weights::from_safetensors(&weights.to_safetensors()), Ok(weights));
    }
}

#[test]
fn every_family_reads_back_and_misses_each_of_its_tensors_by_name() {
    for spec in families() {
        let weights = Weights::initialize(spec.clone(), WeightsMeta::default(), 1).unwrap();
        let bytes = weights.to_safetensors();
        assert_eq!(Weights::from_safetensors(&bytes), Ok(weights));
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let good: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        for tensor in spec.tensors() {
            let mut header = good.clone();
            let entry = header.as_object_mut().unwrap().remove(&tensor.name).unwrap();
            header["renamed"] = entry;
            let file = join(header.to_string().as_bytes(), &bytes[8 + length..]);
            let name = tensor.name;
            assert_eq!(Weights::from_safetensors(&file), Err(WeightsError::TensorMissing { name }));
        }
    }
}

#[test]
fn a_negative_running_variance_is_refused_and_zero_is_not() {
    let spec = families().swap_remove(1);
    let weights = Weights::initialize(spec.clone(), WeightsMeta::default(), 1).unwrap();
    let at = spec.tensors().iter().position(|t| t.name == "stem.norm.running_var").unwrap();
    let build = |value| {
        let mut tensors = weights.tensors().to_vec();
        tensors[at][1] = value;
        Weights::from_tensors(spec.clone(), WeightsMeta::default(), tensors)
    };
    assert!(build(0.0).is_ok());
    let error = build(-1e-9).unwrap_err();
    assert!(matches!(error, WeightsError::NegativeVariance { index: 1, .. }), "{error}");
}

#[test]
fn batch_norm_that_folds_to_infinity_is_refused() {
    let spec = families().swap_remove(1);
    let weights = Weights::initialize(spec.clone(), WeightsMeta::default(), 1).unwrap();
    let list = spec.tensors();
    let build = |changes: &[(&str, f32)]| {
        let mut tensors = weights.tensors().to_vec();
        for (name, value) in changes {
            let at = list.iter().position(|tensor| tensor.name == *name).unwrap();
            *tensors[at].last_mut().unwrap() = *value;
        }
        Weights::from_tensors(spec.clone(), WeightsMeta::default(), tensors)
    };
    // The deviation is never below the square root of 1e-5, about 1 / 316.
    let (scale, variance, mean) =
        ("stem.norm.weight", "stem.norm.running_var", "value.norm.running_mean");
    assert!(build(&[(scale, 1e30), (variance, 0.0)]).is_ok());
    assert!(build(&[(scale, 1e37)]).is_ok());
    let refused = |changes: &[(&str, f32)], expected: &str| {
        let error = build(changes).unwrap_err();
        assert!(matches!(error, WeightsError::FoldsToInfinity { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    };
    refused(&[(scale, 1e38), (variance, 0.0)], "stem.conv.weight");
    refused(&[(mean, f32::MAX), ("value.norm.weight", -2.0)], "value.norm.bias");
}

#[test]
fn a_version_1_file_without_a_content_hash_is_still_read() {
    let file = document(|d| {
        d["version"] = json!(1);
        d.as_object_mut().unwrap().remove("content");
    });
    assert_eq!(Weights::from_safetensors(&file), Ok(weights()));
}

#[test]
fn the_content_hash_covers_the_tensors_alone() {
    let content = |weights: &Weights| {
        let bytes = weights.to_safetensors();
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        let document: Value =
            serde_json::from_str(header["__metadata__"]["ouro"].as_str().unwrap()).unwrap();
        assert_eq!(document["content"], json!(ContentHash::of(&bytes[8 + length..])));
        document["content"].clone()
    };
    let good = weights();
    let meta = WeightsMeta { generation: Generation(9), ..good.meta().clone() };
    let later = Weights::from_tensors(good.spec().clone(), meta, good.tensors().to_vec()).unwrap();
    assert_eq!(content(&good), content(&later));
    assert_ne!(good.to_safetensors(), later.to_safetensors());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any change gives an error or valid weights.
    #[test]
    fn changed_bytes_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        keep in any::<prop::sample::Index>(),
        truncate in prop::bool::weighted(0.2),
    ) {
        let mut bytes = weights().to_safetensors();
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if truncate {
            bytes.truncate(keep.index(bytes.len()));
        }
        if let Ok(weights) = Weights::from_safetensors(&bytes) {
            prop_assert_eq!(weights.spec().validate(), Ok(()));
            prop_assert!(weights.tensors().iter().flatten().all(|value| value.is_finite()));
        }
    }
}
