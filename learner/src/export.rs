//! From the network in training to the weights that are published.

use burn::tensor::Device;
use ouro_net::{Weights, WeightsMeta};

use crate::agreement::Probe;
use crate::model::Net;
use crate::trainer::TrainError;

/// The network as weights. Waits for the device; fails if any value is not finite, be it once
/// batch norm is folded in, so broken weights are never published.
pub fn weights(net: &Net, meta: WeightsMeta) -> Result<Weights, TrainError> {
    Ok(Weights::from_tensors(net.layout().spec().clone(), meta, net.tensors()?)?)
}

/// [`weights`], once the CPU engine has been seen to play them as they were trained.
pub fn checked(
    net: &Net,
    meta: WeightsMeta,
    probe: &Probe,
    device: &Device,
) -> Result<Weights, TrainError> {
    let weights = weights(net, meta)?;
    probe.check(net, &weights, device)?;
    Ok(weights)
}
