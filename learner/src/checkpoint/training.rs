//! A trainer's state as a safetensors file: `net.<tensor>`, `optimizer.<slot>.<tensor>` for what
//! is trained, `average.<tensor>` if there is an average; the counts are in the metadata. Written
//! and read whole or not at all.

use std::collections::HashMap;

use ouro_net::{NetSpec, TensorSpec};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::model::Layout;
use crate::optimizer::OptimizerState;
use crate::trainer::{AverageState, TrainerState};

/// Updates that the optimiser made.
const TIME: &str = "optimizer_time";
/// Vectors that it keeps.
const SLOTS: &str = "optimizer_slots";
/// Weights that went into the average.
const AVERAGED: &str = "averaged";

/// Most vectors that an optimiser keeps.
const MAX_SLOTS: usize = 8;

/// Writes the state of a network's trainer.
pub(super) fn to_bytes(state: &TrainerState, spec: &NetSpec) -> Vec<u8> {
    let layout = Layout::new(spec);
    let mut columns: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    let mut column = |name: String, tensor: &TensorSpec, values: &[f32]| {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        columns.push((name, tensor.shape.clone(), bytes));
    };
    let mut metadata = HashMap::from([
        (TIME.to_owned(), state.optimizer.time.to_string()),
        (SLOTS.to_owned(), state.optimizer.slots.len().to_string()),
    ]);
    for (tensor, values) in layout.tensors().iter().zip(&state.tensors) {
        column(format!("net.{}", tensor.name), tensor, values);
    }
    for (slot, values) in state.optimizer.slots.iter().enumerate() {
        for (tensor, place) in layout.trained() {
            column(format!("optimizer.{slot}.{}", tensor.name), tensor, &values[place]);
        }
    }
    if let Some(average) = &state.average {
        metadata.insert(AVERAGED.to_owned(), average.count.to_string());
        for (tensor, values) in layout.tensors().iter().zip(&average.tensors) {
            column(format!("average.{}", tensor.name), tensor, values);
        }
    }
    let views = columns.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
        (name.clone(), view.expect("every vector has the shapes of its tensors"))
    });
    safetensors::serialize(views, Some(metadata)).expect("names and shapes were checked")
}

/// Reads the state of a network's trainer; the error says what is wrong.
pub(super) fn from_bytes(bytes: &[u8], spec: &NetSpec) -> Result<TrainerState, String> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let count = |key: &str| -> Result<Option<u64>, String> {
        let text = metadata.metadata().as_ref().and_then(|entries| entries.get(key));
        let parse = |text: &String| {
            text.parse().map_err(|_| format!("the metadata entry {key} is {text:?}, not a number"))
        };
        text.map(parse).transpose()
    };
    let needed = |key: &str| count(key)?.ok_or(format!("the metadata entry {key} is missing"));
    let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let read = |part: &str, tensor: &TensorSpec| -> Result<Vec<f32>, String> {
        let name = format!("{part}.{}", tensor.name);
        let view = file.tensor(&name).map_err(|error| error.to_string())?;
        if view.dtype() != Dtype::F32 || view.shape() != tensor.shape {
            return Err(format!("tensor {name} has another type or shape than the network"));
        }
        Ok(view.data().as_chunks::<4>().0.iter().copied().map(f32::from_le_bytes).collect())
    };
    let layout = Layout::new(spec);
    let network = |part: &str| -> Result<Vec<Vec<f32>>, String> {
        layout.tensors().iter().map(|tensor| read(part, tensor)).collect()
    };
    let slots = needed(SLOTS)? as usize;
    if slots > MAX_SLOTS {
        return Err(format!("{SLOTS} is {slots}; at most {MAX_SLOTS} are read"));
    }
    let slot = |slot: usize| -> Result<Vec<f32>, String> {
        let part = format!("optimizer.{slot}");
        let tensors = layout.trained().map(|(tensor, _)| read(&part, tensor));
        Ok(tensors.collect::<Result<Vec<_>, _>>()?.concat())
    };
    let slots = (0..slots).map(slot).collect::<Result<_, _>>()?;
    let average = match count(AVERAGED)? {
        Some(count) => Some(AverageState { count, tensors: network("average")? }),
        None => None,
    };
    let optimizer = OptimizerState { time: needed(TIME)?, slots };
    Ok(TrainerState { tensors: network("net")?, optimizer, average })
}
