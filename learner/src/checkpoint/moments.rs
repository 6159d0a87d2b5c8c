//! The optimiser's state as a safetensors file: `first.<tensor>` and `second.<tensor>`, with
//! the number of updates in the metadata. Written and read whole or not at all.

use std::collections::HashMap;

use ouro_net::NetSpec;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::optimizer::Moments;

const TIME: &str = "time";

/// Writes the moments of a network.
pub(super) fn to_bytes(moments: &Moments, spec: &NetSpec) -> Vec<u8> {
    let tensors = spec.tensors();
    let mut columns: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    for (part, values) in [("first", &moments.first), ("second", &moments.second)] {
        for (tensor, values) in tensors.iter().zip(values) {
            let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            columns.push((format!("{part}.{}", tensor.name), tensor.shape.clone(), bytes));
        }
    }
    let views = columns.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
        (name.clone(), view.expect("moments have the shapes of their tensors"))
    });
    let metadata = HashMap::from([(TIME.to_owned(), moments.time.to_string())]);
    safetensors::serialize(views, Some(metadata)).expect("names and shapes were checked")
}

/// Reads the moments of a network; the error says what is wrong.
pub(super) fn from_bytes(bytes: &[u8], spec: &NetSpec) -> Result<Moments, String> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let time = metadata.metadata().as_ref().and_then(|entries| entries.get(TIME));
    let time: u64 =
        time.and_then(|text| text.parse().ok()).ok_or("the number of updates is missing")?;
    if time == 0 {
        return Ok(Moments::default());
    }
    let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let column = |part: &str| {
        let read = |tensor: ouro_net::TensorSpec| {
            let name = format!("{part}.{}", tensor.name);
            let view = file.tensor(&name).map_err(|error| error.to_string())?;
            if view.dtype() != Dtype::F32 || view.shape() != tensor.shape {
                return Err(format!("tensor {name} has another type or shape than the network"));
            }
            let values = view.data().as_chunks::<4>().0.iter().copied().map(f32::from_le_bytes);
            Ok(values.collect())
        };
        spec.tensors().into_iter().map(read).collect::<Result<Vec<Vec<f32>>, String>>()
    };
    Ok(Moments { time, first: column("first")?, second: column("second")? })
}
