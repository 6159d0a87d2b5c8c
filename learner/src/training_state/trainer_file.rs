//! A [`TrainerState`] as a safetensors file.
//!
//! Tensors are `net.<tensor>`, `optimizer.<slot>.<tensor>` for trained tensors, and
//! `average.<tensor>` if weights are averaged. All counts are one JSON entry of the metadata. The
//! library does not fix the order of several entries, and equal states must give equal bytes.

use std::collections::HashMap;

use ouro_net::{NetSpec, TensorSpec};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use crate::model::ParameterLayout;
use crate::optimizer::OptimizerState;
use crate::trainer::{TrainerState, WeightAverageState};

/// Key of the metadata entry that holds the [`Counts`].
const COUNTS: &str = "counts";

/// Limit for the slots of an optimiser in a file; AdamW needs 2. Bounds the cost of a damaged
/// count.
const MAX_SLOTS: usize = 8;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    /// Updates that the optimiser made.
    optimizer_time: u64,
    /// Vectors that the optimiser keeps.
    optimizer_slots: usize,
    /// Number of weights in the average, if weights are averaged.
    averaged: Option<u64>,
}

/// Encodes the state of a trainer whose network is `spec`.
pub(super) fn to_bytes(state: &TrainerState, spec: &NetSpec) -> Vec<u8> {
    let layout = ParameterLayout::new(spec);
    let mut columns: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    let mut column = |name: String, tensor: &TensorSpec, values: &[f32]| {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        columns.push((name, tensor.shape.clone(), bytes));
    };
    let counts = Counts {
        optimizer_time: state.optimizer.time,
        optimizer_slots: state.optimizer.slots.len(),
        averaged: state.average.as_ref().map(|average| average.count),
    };
    for (tensor, values) in layout.tensors().iter().zip(&state.tensors) {
        column(format!("net.{}", tensor.name), tensor, values);
    }
    for (slot, values) in state.optimizer.slots.iter().enumerate() {
        for (tensor, place) in layout.trained() {
            column(format!("optimizer.{slot}.{}", tensor.name), tensor, &values[place]);
        }
    }
    if let Some(average) = &state.average {
        for (tensor, values) in layout.tensors().iter().zip(&average.tensors) {
            column(format!("average.{}", tensor.name), tensor, values);
        }
    }
    let views = columns.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
        (name.clone(), view.expect("every vector has the shapes of its tensors"))
    });
    let counts = serde_json::to_string(&counts).expect("numbers serialise");
    let metadata = HashMap::from([(COUNTS.to_owned(), counts)]);
    safetensors::serialize(views, Some(metadata)).expect("names and shapes were checked")
}

/// Decodes the state of a trainer whose network is `spec`. The error is a phrase about the file.
pub(super) fn from_bytes(bytes: &[u8], spec: &NetSpec) -> Result<TrainerState, String> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let counts = metadata.metadata().as_ref().and_then(|entries| entries.get(COUNTS));
    let counts = counts.ok_or(format!("the metadata entry {COUNTS} is missing"))?;
    let Counts { optimizer_time, optimizer_slots, averaged } = serde_json::from_str(counts)
        .map_err(|error| format!("the metadata entry {COUNTS} is not readable: {error}"))?;
    let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let read = |part: &str, tensor: &TensorSpec| -> Result<Vec<f32>, String> {
        let name = format!("{part}.{}", tensor.name);
        let view = file.tensor(&name).map_err(|error| error.to_string())?;
        if view.dtype() != Dtype::F32 || view.shape() != tensor.shape {
            return Err(format!("tensor {name} has another type or shape than the network"));
        }
        Ok(view.data().as_chunks::<4>().0.iter().copied().map(f32::from_le_bytes).collect())
    };
    let layout = ParameterLayout::new(spec);
    let network = |part: &str| -> Result<Vec<Vec<f32>>, String> {
        layout.tensors().iter().map(|tensor| read(part, tensor)).collect()
    };
    if optimizer_slots > MAX_SLOTS {
        return Err(format!("optimizer_slots is {optimizer_slots}; at most {MAX_SLOTS} are read"));
    }
    let slot = |slot: usize| -> Result<Vec<f32>, String> {
        let part = format!("optimizer.{slot}");
        let tensors = layout.trained().map(|(tensor, _)| read(&part, tensor));
        Ok(tensors.collect::<Result<Vec<_>, _>>()?.concat())
    };
    let slots = (0..optimizer_slots).map(slot).collect::<Result<_, _>>()?;
    let average = match averaged {
        Some(count) => Some(WeightAverageState { count, tensors: network("average")? }),
        None => None,
    };
    let optimizer = OptimizerState { time: optimizer_time, slots };
    Ok(TrainerState { tensors: network("net")?, optimizer, average })
}
