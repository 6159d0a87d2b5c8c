//! The values of a network with its spec.
//!
//! Contract: every [`Weights`] has a valid spec and exactly the tensors of that spec, in order.
//! Every value is finite, before and after batch norm is folded into the convolutions, and no
//! running variance is negative. Files are checked in full before weights are built from them
//! ([`Weights::from_safetensors`]).

mod file;
pub(crate) mod fold;
mod header;
mod init;

pub use file::{FORMAT_VERSION, MAX_HEADER_BYTES, METADATA_KEY};

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::generation::Generation;
use crate::spec::{NetSpec, SpecError, TensorRole};

/// Longest description of a game that a file carries, in bytes.
pub const MAX_GAME_BYTES: usize = 16 << 10;

/// Where weights stand in a training run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightsMeta {
    /// The game that the weights were trained for: the JSON of its `GameConfig`.
    pub game: String,
    /// Number of the publication in the run, from 0.
    pub generation: Generation,
    /// Optimiser steps taken.
    pub step: u64,
}

/// A valid spec and its tensors, all finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    spec: NetSpec,
    meta: WeightsMeta,
    tensors: Vec<Vec<f32>>,
}

/// What to do about a file that differs from what a program wrote.
const DAMAGED: &str = "the file is damaged, fetch or export it again";
/// What to do about values that no network can use.
const UNUSABLE: &str = "use other weights";

/// Reason why weights are refused. Text from a file is shortened, and its control characters are
/// escaped, so that a message is one short line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    /// The spec or the description of the game is out of range.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The header is longer than allowed, by its length field.
    #[error("weights: the header has {bytes} bytes; at most {max} are read; {DAMAGED}")]
    HeaderTooLarge {
        /// Length in the file.
        bytes: u64,
        /// Longest header that is read.
        max: usize,
    },
    /// The bytes are not a complete safetensors file.
    #[error("weights: not a whole safetensors file: {0}; {DAMAGED}")]
    Malformed(String),
    /// The header has two entries of one name, which is ambiguous.
    #[error("weights: the header has \"{name}\" twice; {DAMAGED}")]
    NameTwice {
        /// The name.
        name: String,
    },
    /// A safetensors file without Ouro's metadata.
    #[error("weights: the metadata entry {key:?} is missing; only files written by Ouro are read")]
    MetadataMissing {
        /// The missing entry.
        key: &'static str,
    },
    /// More metadata entries than Ouro writes.
    #[error("weights: {count} metadata entries; only {key:?} is expected; {DAMAGED}")]
    MetadataExtra {
        /// Entries in the file.
        count: usize,
        /// The expected entry.
        key: &'static str,
    },
    /// The metadata entry is not a valid document.
    #[error("weights: the metadata is not readable: {0}; {DAMAGED}")]
    MetadataInvalid(String),
    /// The file was written by a newer program.
    #[error("weights: format version {got}; this program reads versions 1 to {newest}")]
    Version {
        /// Version in the file.
        got: u32,
        /// Newest version that this program reads.
        newest: u32,
    },
    /// The number of tensors differs from the spec.
    #[error("weights: {got} tensors were given; the spec has {expected}")]
    TensorCount {
        /// Tensors given.
        got: usize,
        /// Tensors of the spec.
        expected: usize,
    },
    /// The number of values in a tensor differs from the spec.
    #[error("weights: tensor {name} has {got} values; the spec has {expected}")]
    TensorLength {
        /// The tensor.
        name: String,
        /// Values given.
        got: usize,
        /// Values of the spec.
        expected: usize,
    },
    /// A tensor of the spec is not in the file.
    #[error("weights: tensor {name} is missing; {DAMAGED}")]
    TensorMissing {
        /// The tensor.
        name: String,
    },
    /// A tensor in the file is not in the spec.
    #[error("weights: tensor {name} is not part of the spec; {DAMAGED}")]
    TensorExtra {
        /// The tensor.
        name: String,
    },
    /// The dimensions of a tensor differ from the spec.
    #[error("weights: tensor {name} has shape {got}; the spec has {expected:?}; {DAMAGED}")]
    TensorShape {
        /// The tensor.
        name: String,
        /// Dimensions in the file, the first few of many.
        got: String,
        /// Dimensions in the spec.
        expected: Vec<usize>,
    },
    /// A tensor is not stored as f32.
    #[error("weights: tensor {name} is stored as {dtype}; only F32 is read; {DAMAGED}")]
    TensorType {
        /// The tensor.
        name: String,
        /// Name of the type.
        dtype: String,
    },
    /// The hash of the tensors differs from the metadata.
    #[error("weights: the tensors hash to {got}, the metadata says {expected}; {DAMAGED}")]
    ContentMismatch {
        /// Hash of the bytes in the file.
        got: String,
        /// Hash in the metadata.
        expected: String,
    },
    /// A running variance is below zero.
    #[error(
        "weights: tensor {name} holds {value} at index {index}; a variance is 0 or more; {UNUSABLE}"
    )]
    NegativeVariance {
        /// The tensor.
        name: String,
        /// Index into its values.
        index: usize,
        /// The value, as text.
        value: String,
    },
    /// A value is infinite or NaN.
    #[error(
        "weights: tensor {name} holds {value} at index {index}; values must be finite; {UNUSABLE}"
    )]
    NotFinite {
        /// The tensor.
        name: String,
        /// Index into its values.
        index: usize,
        /// The value, as text.
        value: String,
    },
    /// A convolution does not stay finite when batch norm is folded in.
    #[error(
        "weights: tensor {name} is not finite at index {index} once batch norm is folded in; \
         its scale or mean is too large, or its variance too small; {UNUSABLE}"
    )]
    FoldsToInfinity {
        /// The convolution's weight or the norm's bias.
        name: String,
        /// Index into its values.
        index: usize,
    },
}

impl Weights {
    /// Initial weights for a new run: He-normal (He et al. 2015, "Delving deep into rectifiers",
    /// section 2.2) with zero biases and batch norm as the identity.
    ///
    /// The last layer of the policy is a hundred times smaller, so that the first policy is nearly
    /// uniform. The last layer of the value has no gain for ReLU. The same seed gives the same
    /// weights on every processor and platform.
    pub fn initialize(spec: NetSpec, meta: WeightsMeta, seed: u64) -> Result<Self, SpecError> {
        spec.validate()?;
        check_meta(&meta)?;
        let tensors = init::tensors(&spec, seed);
        Ok(Self { spec, meta, tensors })
    }

    /// Weights from values in the order and layout of [`NetSpec::tensors`].
    pub fn from_tensors(
        spec: NetSpec,
        meta: WeightsMeta,
        tensors: Vec<Vec<f32>>,
    ) -> Result<Self, WeightsError> {
        spec.validate()?;
        check_meta(&meta)?;
        let expected = spec.tensors();
        if tensors.len() != expected.len() {
            return Err(WeightsError::TensorCount { got: tensors.len(), expected: expected.len() });
        }
        for (tensor, values) in expected.iter().zip(&tensors) {
            if values.len() != tensor.len() {
                let (name, got, expected) = (tensor.name.clone(), values.len(), tensor.len());
                return Err(WeightsError::TensorLength { name, got, expected });
            }
            if let Some(index) = values.iter().position(|value| !value.is_finite()) {
                let (name, value) = (tensor.name.clone(), values[index].to_string());
                return Err(WeightsError::NotFinite { name, index, value });
            }
            let is_variance = tensor.role == TensorRole::RunningVariance;
            if is_variance && let Some(index) = values.iter().position(|&value| value < 0.0) {
                let (name, value) = (tensor.name.clone(), values[index].to_string());
                return Err(WeightsError::NegativeVariance { name, index, value });
            }
        }
        fold::check(&expected, &tensors)?;
        Ok(Self { spec, meta, tensors })
    }

    /// Takes each layer of `other` that has the same name and shape. Also returns the names of the layers
    /// that keep their own values.
    ///
    /// A batch norm is taken together with the convolution before it, or not at all.
    #[must_use]
    pub fn with_layers_of(mut self, other: &Self) -> (Self, Vec<String>) {
        let mut given: HashMap<String, (Vec<usize>, &Vec<f32>)> = HashMap::new();
        for (tensor, values) in other.spec.tensors().into_iter().zip(&other.tensors) {
            given.insert(tensor.name, (tensor.shape, values));
        }
        let (specs, mut own) = (self.spec.tensors(), Vec::new());
        let mut from = 0;
        for layer in specs.chunk_by(|_, next| !next.role.is_layer()) {
            let values: Option<Vec<&Vec<f32>>> = layer
                .iter()
                .map(|tensor| given.get(&tensor.name).filter(|(shape, _)| *shape == tensor.shape))
                .map(|found| found.map(|(_, values)| *values))
                .collect();
            match values {
                Some(values) => {
                    let places = self.tensors[from..].iter_mut().zip(values);
                    places.for_each(|(own, values)| own.clone_from(values));
                }
                None => own.push(layer[0].name.trim_end_matches(".weight").to_owned()),
            }
            from += layer.len();
        }
        (self, own)
    }

    /// The shapes.
    pub fn spec(&self) -> &NetSpec {
        &self.spec
    }

    /// Game, generation and step of the weights.
    pub fn meta(&self) -> &WeightsMeta {
        &self.meta
    }

    /// The values, in the order of [`NetSpec::tensors`].
    pub fn tensors(&self) -> &[Vec<f32>] {
        &self.tensors
    }
}

fn check_meta(meta: &WeightsMeta) -> Result<(), SpecError> {
    let bytes = meta.game.len();
    if bytes > MAX_GAME_BYTES {
        return Err(SpecError::GameTooLong { bytes, max: MAX_GAME_BYTES });
    }
    Ok(())
}
